package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"strings"

	"golang.org/x/mod/semver"
)

// npmVersionDoc is what matters of one version in a package's page. Pages have
// up to ten megabytes, so they are searched rather than parsed.
type npmVersionDoc struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	Dist    npmDist `json:"dist"`
}

type npmDist struct {
	Tarball   string `json:"tarball"`
	Integrity string `json:"integrity"`
	Shasum    string `json:"shasum"`
}

// npmShape refuses what is no page of a package at all.
func npmShape(_ pageHead, body []byte) ([]byte, error) {
	trimmed := bytes.TrimSpace(body)
	if !bytes.HasPrefix(trimmed, []byte("{")) || !bytes.HasSuffix(trimmed, []byte("}")) || !bytes.Contains(trimmed, []byte(`"versions"`)) {
		return nil, errors.New("it is no description of a package")
	}
	return trimmed, nil
}

// npmRewrite puts prefix in front of the file name of every tarball address.
// In JSON, the bytes "tarball" in quotes can only be a key (or a value, which
// no colon follows): quotes inside strings are escaped.
func npmRewrite(body []byte, prefix string) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(body)+len(body)/16))
	for {
		i := bytes.Index(body, []byte(`"tarball"`))
		if i < 0 {
			out.Write(body)
			return out.Bytes()
		}
		i += len(`"tarball"`)
		out.Write(body[:i])
		body = body[i:]
		if start, end := npmString(body); end > 0 {
			out.Write(body[:start])
			out.Write(npmAddress(body[start:end], prefix))
			body = body[end:]
		}
	}
}

// npmString finds the string that follows a key: body[start:end] with quotes.
func npmString(body []byte) (start, end int) {
	for start < len(body) && strings.IndexByte(" \t\r\n:", body[start]) >= 0 {
		start++
	}
	if start == len(body) || body[start] != '"' {
		return 0, 0
	}
	for end = start + 1; end < len(body); end++ {
		switch body[end] {
		case '\\':
			end++
		case '"':
			return start, end + 1
		}
	}
	return 0, 0
}

func npmAddress(quoted []byte, prefix string) []byte {
	var addr string
	_ = json.Unmarshal(quoted, &addr)
	out, _ := json.Marshal(prefix + url.PathEscape(npmFileOf(addr)))
	return out
}

// npmFileOf is the file name in a tarball's address.
func npmFileOf(addr string) string {
	u, err := url.Parse(addr)
	if err != nil {
		return "unreadable"
	}
	return path.Base(u.Path)
}

// npmTries is how many objects with a version for their key are read; honest
// pages have one.
const npmTries = 16

// npmFind looks for the version whose file has that name. The version that the
// name suggests comes first.
func npmFind(body []byte, name, version, file string) (npmVersionDoc, bool) {
	for rest, tries := body, 0; version != "" && tries < npmTries; {
		i := bytes.Index(rest, []byte(`"`+version+`"`))
		if i < 0 {
			break
		}
		rest = rest[i+len(version)+2:]
		object := npmObject(rest)
		if object == nil {
			continue
		}
		tries++
		var v npmVersionDoc
		err := json.NewDecoder(bytes.NewReader(object)).Decode(&v)
		if err == nil && v.Version == version && v.Name == name && npmFileOf(v.Dist.Tarball) == file {
			return v, true
		}
	}
	var all struct {
		Versions map[string]npmVersionDoc `json:"versions"`
	}
	_ = json.Unmarshal(body, &all)
	for _, v := range all.Versions {
		if v.Name == name && npmFileOf(v.Dist.Tarball) == file {
			return v, true
		}
	}
	return npmVersionDoc{}, false
}

// npmObject gives what begins with the object that follows a key, or nil when
// something else follows.
func npmObject(rest []byte) []byte {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if !bytes.HasPrefix(rest, []byte(":")) {
		return nil
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	if !bytes.HasPrefix(rest, []byte("{")) {
		return nil
	}
	return rest
}

// npmOnly keeps the versions that keep wants, and the tags that point to them.
func npmOnly(body []byte, keep func(npmVersionDoc) bool) ([]byte, error) {
	var top, versions map[string]json.RawMessage
	var tags map[string]string
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, err
	}
	if len(top["dist-tags"]) > 0 {
		if err := json.Unmarshal(top["dist-tags"], &tags); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(top["versions"], &versions); err != nil {
		return nil, err
	}
	latest := tags["latest"]
	for key, raw := range versions {
		var v npmVersionDoc
		if json.Unmarshal(raw, &v) != nil || !keep(v) {
			delete(versions, key)
		}
	}
	for tag, v := range tags {
		if _, ok := versions[v]; !ok {
			delete(tags, tag)
		}
	}
	if best := npmNewest(versions, latest); best != "" && tags["latest"] == "" && latest != "" {
		tags["latest"] = best
	}
	top["versions"], _ = json.Marshal(versions)
	top["dist-tags"], _ = json.Marshal(tags)
	return json.Marshal(top)
}

// npmNewest picks the version that "latest" means when its own is left out:
// the highest final one below it, else the highest there is.
func npmNewest(versions map[string]json.RawMessage, below string) string {
	best, rank := "", 0
	for v := range versions {
		r := 1
		if s := "v" + v; semver.Prerelease(s) == "" {
			if r = 2; semver.Compare(s, "v"+below) < 0 {
				r = 3
			}
		}
		if r > rank || r == rank && semver.Compare("v"+v, "v"+best) > 0 {
			best, rank = v, r
		}
	}
	return best
}

// npmTimes are the ages that a page tells: of each version in its long form,
// of the last change to any in its short one.
type npmTimes struct {
	Modified string            `json:"modified"`
	Time     map[string]string `json:"time"`
}

// sum is the strongest hash of a version's file.
func (d npmDist) sum() (sum, error) {
	hashes := map[string]string{}
	for _, word := range strings.Fields(d.Integrity) {
		algo, b64, _ := strings.Cut(word, "-")
		b64, _, _ = strings.Cut(b64, "?")
		if raw, err := base64.StdEncoding.DecodeString(b64); err == nil {
			hashes[algo] = hex.EncodeToString(raw)
		}
	}
	if s := strongest(hashes); !s.none() {
		return s, nil
	}
	if shasum := strings.ToLower(d.Shasum); d.Integrity == "" && isHex(shasum, hashLength["sha1"]) {
		return sum{"sha1", shasum}, nil
	}
	return sum{}, errors.New("the index gives no usable hash")
}
