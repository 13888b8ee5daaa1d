package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// apt serves Debian-like archives below apt/ID/, ID being made from the
// archive's address. Signatures and hashes are apt's own business: it gets
// every file as the archive has it.
type apt struct {
	g   *Gateway
	ups []Upstream
}

var (
	aptElement = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9+.~:_-]{0,199}$`)
	aptPackage = lazyregexp.New(`^([a-z0-9][a-z0-9+.-]{0,99})_([A-Za-z0-9.+~:-]{1,100})_[a-z0-9-]{1,20}\.u?d?deb$`)
	aptIndex   = lazyregexp.New(`^(?:InRelease|Release|Release\.gpg|(?:Packages|Sources|Translation-[a-zA-Z_]{1,12}|Components-[a-z0-9-]{1,20}\.yml|Contents-[a-z0-9-]{1,20}|Commands-[a-z0-9-]{1,20}|icons-[0-9x@]{1,12}\.tar|Index)(?:\.(?:gz|bz2|xz|zst|lzma|lz4))?)$`)
)

// aptHashes are the folders below by-hash, and what their names mean here.
var aptHashes = map[string]string{"SHA256": "sha256", "SHA512": "sha512", "SHA1": "sha1"}

// aptID names an archive in paths.
func aptID(u Upstream) string {
	h := sha256.Sum256([]byte(u.URL))
	return hex.EncodeToString(h[:4])
}

func (a *apt) serve(ctx context.Context, r *request) (answer, error) {
	if len(r.path) < 2 {
		return notOurs(r)
	}
	for i := range a.ups {
		if aptID(a.ups[i]) == r.path[0] {
			return a.from(ctx, r, &a.ups[i], r.path[1:])
		}
	}
	return answer{}, refuse(statusAbsent, "no configured archive has this number")
}

func (a *apt) from(ctx context.Context, r *request, up *Upstream, path []string) (answer, error) {
	for _, p := range path {
		if !aptElement.MatchString(p) {
			return answer{}, refuse(statusGrammar, "a path that no archive has")
		}
	}
	if path[0] == "dists" && !a.suite(r.path[0], strings.Join(path[1:], "/")) {
		return answer{}, refuse(statusPolicy, "the configured sources have no such suite")
	}
	base, addr := path[len(path)-1], up.join(path...)
	if m := aptPackage.FindStringSubmatch(base); m != nil {
		if err := r.tell(m[1], m[2], base); err != nil {
			return answer{}, err
		}
		return a.deb(ctx, r, artefact{
			eco: "apt", name: m[1], version: m[2], file: base, url: addr, up: up, check: isDeb,
			kind: "application/vnd.debian.binary-package",
		})
	}
	return a.index(ctx, r, up, path, addr)
}

// suite says whether a path below dists belongs to a suite that is configured
// for the archive of that number.
func (a *apt) suite(id, path string) bool {
	for _, u := range a.ups {
		for _, f := range u.Source {
			if aptID(u) != id || !strings.EqualFold(f.Name, "Suites") {
				continue
			}
			for _, s := range strings.Fields(f.Value) {
				if strings.Contains(s, "$(") || strings.HasPrefix(path, strings.Trim(s, "/")+"/") {
					return true
				}
			}
		}
	}
	return false
}

// deb serves a package. When apt asks for the same one again it did not like
// what it got, so the archive is asked again as well.
func (a *apt) deb(ctx context.Context, r *request, d artefact) (answer, error) {
	if r.whole && r.sess.again(d.url) && !a.g.opts.Offline {
		a.g.store.forget(d.blob())
	}
	return a.g.artefact(ctx, d, r.entry)
}

// isDeb looks at the first bytes: networks that want a log-in answer plain
// http with a page of theirs.
func isDeb(context.Context) func(string) (string, error) { return looksLikeDeb }

func looksLikeDeb(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var magic [8]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || string(magic[:]) != "!<arch>\n" {
		return "", notFromArchive()
	}
	return "", nil
}

func notFromArchive() error {
	return refuse(statusFailed, "the answer is not from the archive; does this network want you to log in?")
}

// aptShape refuses web pages in the place of indexes.
func aptShape(_ pageHead, body []byte) ([]byte, error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return nil, notFromArchive()
	}
	return body, nil
}

func (a *apt) index(ctx context.Context, r *request, up *Upstream, path []string, addr string) (answer, error) {
	base := path[len(path)-1]
	r.entry.Name = clip(strings.Join(path, "/"), 100)
	if n := len(path); n > 3 && path[n-3] == "by-hash" {
		algo := aptHashes[path[n-2]]
		if !isHex(base, hashLength[algo]) {
			return answer{}, refuse(statusAbsent, "no such hash")
		}
		return a.g.artefact(ctx, artefact{
			eco: "apt", name: "index", file: clip(base, 16), url: addr, up: up, sum: sum{algo, base},
		}, r.entry)
	}
	if !aptIndex.MatchString(base) {
		return answer{}, refuse(statusGrammar, "%.100q is no file of an archive", base)
	}
	// Only the release files may be used without asking: the others must fit them.
	pg, err := a.g.page(ctx, wanted{
		eco: "apt", name: strings.Join(path, "/"), url: addr, up: up, renew: !strings.Contains(base, "Release"), shape: aptShape,
	})
	if err != nil {
		if unreachable(err) {
			err = a.g.absent("apt", strings.Join(path, "/"), err)
		}
		return answer{}, err
	}
	return pageAnswer(pg, r.entry), nil
}

// setup rewrites the system's sources: the same suites and the same keys, by
// way of the gateway.
func (a *apt) setup(base, dir string) Setup {
	var b strings.Builder
	for _, u := range a.ups {
		b.WriteString("Types: deb\nURIs: " + base + "/apt/" + aptID(u) + "\n")
		for _, f := range u.Source {
			b.WriteString(f.Name + ": " + f.Value + "\n")
		}
		b.WriteString("\n")
	}
	list := dir + "/gateway.sources"
	args := []string{}
	for _, o := range []string{
		"Dir::Etc::sourcelist=" + list, "Dir::Etc::sourceparts=/dev/null", "Acquire::http::Proxy=DIRECT",
		"Acquire::http::Proxy::127.0.0.1=DIRECT", "Acquire::http::AllowRedirect=false", "Acquire::Languages=none", "Acquire::Retries=0",
		"Acquire::http::Timeout=" + a.g.patience(),
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "Acquire::IndexTargets::deb::CNF::DefaultEnabled=false",
	} {
		args = append(args, "-o", o)
	}
	return Setup{Args: args, Files: []File{{Path: list, Data: []byte(b.String())}}}
}
