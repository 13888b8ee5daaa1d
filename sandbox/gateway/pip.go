package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
	"time"

	"kintsugi/sandbox/lazyregexp"
)

// pip serves the simple index of Python packages, in both its forms, to pip
// and uv:
//
//	simple/PROJECT/           the files of a project
//	files/PROJECT/FILE        a file, by the hash of the index
//	files/PROJECT/FILE.metadata  its metadata, likewise
type pip struct {
	g  *Gateway
	up Upstream
}

// pipFile is one file of an index page, in the page's own words.
type pipFile struct {
	Name     string `json:"filename"`
	URL      string `json:"url"`
	Sum      sum    `json:"sum"`
	Python   string `json:"requires-python,omitempty"`
	Yanked   any    `json:"yanked,omitempty"` // true or a reason
	Metadata string `json:"metadata,omitempty"`
	Size     int64  `json:"size,omitempty"`
	Uploaded string `json:"upload-time,omitempty"`
}

const (
	pipJSON = "application/vnd.pypi.simple.v1+json"
	pipHTML = "application/vnd.pypi.simple.v1+html"
)

var (
	pipName = lazyregexp.New(`^[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?$`)
	pipSeps = lazyregexp.New(`[-_.]+`)
	pipRaw  = lazyregexp.New(`^[A-Za-z0-9._-]{1,100}$`)
	pipFull = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._+!-]{0,250}\.(?:whl|tar\.gz|tar\.bz2|zip)$`)
)

func (p *pip) serve(ctx context.Context, r *request) (answer, error) {
	switch {
	case len(r.path) == 3 && r.path[0] == "simple" && r.path[2] == "" || len(r.path) == 2 && r.path[0] == "simple" && r.path[1] != "":
		return p.index(ctx, r, r.path[1])
	case len(r.path) == 3 && r.path[0] == "files":
		return p.file(ctx, r, r.path[1], r.path[2])
	}
	return notOurs(r)
}

// project normalises a project's name and checks its grammar.
func (p *pip) project(r *request, raw, version, file string) (string, error) {
	name := pipSeps.ReplaceAllString(strings.ToLower(raw), "-")
	if !pipRaw.MatchString(raw) || !pipName.MatchString(name) {
		return "", refuse(statusGrammar, "%.100q is no name of a Python package", raw)
	}
	return name, r.tell(name, version, file)
}

func (p *pip) index(ctx context.Context, r *request, raw string) (answer, error) {
	name, err := p.project(r, raw, "", "")
	if err != nil {
		return answer{}, err
	}
	files, pg, err := p.files(ctx, wanted{name: name})
	if err != nil {
		return answer{}, err
	}
	r.entry.Hit, r.entry.Stale = pg.hit, pg.stale
	if files, err = sifted(r, name, files); err != nil {
		return answer{}, err
	}
	if p.g.opts.Offline || pg.stale {
		files = p.here(files)
	}
	if strings.Contains(r.accept, pipJSON) {
		return renderPipJSON(name, r.base, files)
	}
	return renderPipHTML(name, r.base, files), nil
}

// sifted keeps the files that the session may see.
func sifted(r *request, name string, files []pipFile) ([]pipFile, error) {
	v := r.sess.sieve("pip", name)
	if v.idle() || len(files) == 0 {
		return files, nil
	}
	var out []pipFile
	for _, f := range files {
		ok, err := v.keep(f.release())
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, f)
		}
	}
	return out, v.verdict(r.entry)
}

func (f pipFile) release() release {
	at, _ := time.Parse(time.RFC3339, f.Uploaded)
	return release{pipVersion(f.Name), f.Name, f.Sum, at}
}

// here keeps the files that need no network, so that a client without one
// chooses among what there is.
func (p *pip) here(files []pipFile) []pipFile {
	var out []pipFile
	for _, f := range files {
		if p.g.store.has(p.artefact("", f).blob()) {
			out = append(out, f)
		}
	}
	return out
}

// files are those of a project, from the cache or the index.
func (p *pip) files(ctx context.Context, w wanted) ([]pipFile, *page, error) {
	name := w.name
	w.eco, w.url, w.up = "pip", p.up.join(name, ""), &p.up
	w.accept = pipJSON + ", " + pipHTML + ";q=0.2, text/html;q=0.1"
	w.shape = func(h pageHead, body []byte) ([]byte, error) { return shapePip(name, h, body) }
	pg, err := p.g.page(ctx, w)
	if err != nil {
		if unreachable(err) {
			err = p.g.absent("pip", name, err)
		}
		return nil, nil, err
	}
	v, err := p.g.parsed.of(w.key(), pg, func(body []byte) (any, error) {
		var files []pipFile
		return &files, json.Unmarshal(body, &files)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("the cached page of %s is damaged: %w", name, err)
	}
	return *v.(*[]pipFile), pg, nil
}

func (p *pip) file(ctx context.Context, r *request, raw, file string) (answer, error) {
	whole, metadata := strings.CutSuffix(file, ".metadata")
	if !pipFull.MatchString(whole) {
		return answer{}, refuse(statusGrammar, "%.100q is no file of a Python package", file)
	}
	name, err := p.project(r, raw, pipVersion(whole), file)
	if err != nil {
		return answer{}, err
	}
	f, err := p.find(ctx, name, whole)
	if err != nil {
		return answer{}, err
	}
	if _, err := sifted(r, name, []pipFile{f}); err != nil {
		return answer{}, err
	}
	a := p.artefact(name, f)
	if metadata {
		if f.Metadata == "" {
			return answer{}, refuse(statusAbsent, "the index gives no metadata for %s", whole)
		}
		a.file, a.url, a.sum, a.kind = file, metadataURL(f.URL), sum{"sha256", f.Metadata}, "text/plain"
	}
	if a.sum.none() && p.up.Default {
		return answer{}, refuse(statusPolicy, "the index gives no usable hash for %s", whole)
	}
	return p.g.artefact(ctx, a, r.entry)
}

func metadataURL(file string) string {
	path, query, ok := strings.Cut(file, "?")
	if ok {
		return path + ".metadata?" + query
	}
	return path + ".metadata"
}

func (p *pip) artefact(name string, f pipFile) artefact {
	return artefact{eco: "pip", name: name, version: pipVersion(f.Name), file: f.Name, url: f.URL, up: &p.up, sum: f.Sum}
}

// find looks a file up in its project's page, asking the index again when the
// page does not know it.
func (p *pip) find(ctx context.Context, name, file string) (pipFile, error) {
	for _, renew := range []bool{false, true} {
		files, pg, err := p.files(ctx, wanted{name: name, renew: renew, anyAge: !renew})
		if err != nil {
			return pipFile{}, err
		}
		for _, f := range files {
			if f.Name == file {
				return f, nil
			}
		}
		if !pg.hit {
			break
		}
	}
	return pipFile{}, refuse(statusAbsent, "the index has no %s", file)
}

// pipVersion reads the version off a file's name.
func pipVersion(file string) string {
	for _, ext := range []string{".tar.gz", ".tar.bz2", ".zip"} {
		if stem, ok := strings.CutSuffix(file, ext); ok {
			return stem[strings.LastIndexByte(stem, '-')+1:]
		}
	}
	if parts := strings.Split(file, "-"); len(parts) > 2 {
		return parts[1]
	}
	return ""
}

// belongs says whether a file's name begins with its project's.
func belongs(file, project string) bool {
	norm := pipSeps.ReplaceAllString(strings.ToLower(file), "-")
	return pipFull.MatchString(file) && strings.HasPrefix(norm, project+"-")
}

// shapePip reads either form of an index page and keeps what is well formed.
func shapePip(project string, h pageHead, body []byte) ([]byte, error) {
	home, err := url.Parse(h.URL)
	if err != nil {
		return nil, err
	}
	parse := parsePipHTML
	if strings.Contains(h.Type, "json") {
		parse = parsePipJSON
	}
	files, err := parse(home, body)
	if err != nil {
		return nil, err
	}
	kept, seen := []pipFile{}, map[string]bool{}
	for _, f := range files {
		if belongs(f.Name, project) && !seen[f.Name] {
			seen[f.Name] = true
			kept = append(kept, f)
		}
	}
	return json.Marshal(kept)
}

func parsePipJSON(home *url.URL, body []byte) ([]pipFile, error) {
	var doc struct {
		Files []struct {
			pipFile
			Hashes   map[string]string `json:"hashes"`
			Core     json.RawMessage   `json:"core-metadata"`
			DistInfo json.RawMessage   `json:"dist-info-metadata"`
		} `json:"files"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, err
	}
	if doc.Files == nil {
		return nil, errors.New("no list of files in it")
	}
	out := make([]pipFile, 0, len(doc.Files))
	for _, f := range doc.Files {
		at, err := home.Parse(f.URL)
		if err != nil {
			continue
		}
		at.Fragment = ""
		f.pipFile.URL, f.Sum = at.String(), strongest(f.Hashes)
		f.pipFile.Metadata = coreMetadata(f.Core, f.DistInfo)
		if f.Yanked == false {
			f.pipFile.Yanked = nil
		}
		out = append(out, f.pipFile)
	}
	return out, nil
}

// coreMetadata gives the sha256 of a file's metadata, if the index does.
func coreMetadata(forms ...json.RawMessage) string {
	for _, raw := range forms {
		var hashes map[string]string
		if json.Unmarshal(raw, &hashes) == nil && isHex(hashes["sha256"], 64) {
			return hashes["sha256"]
		}
	}
	return ""
}

func renderPipJSON(name, base string, files []pipFile) (answer, error) {
	type file struct {
		Name     string            `json:"filename"`
		URL      string            `json:"url"`
		Hashes   map[string]string `json:"hashes"`
		Python   string            `json:"requires-python,omitempty"`
		Yanked   any               `json:"yanked,omitempty"`
		Core     map[string]string `json:"core-metadata,omitempty"`
		DistInfo map[string]string `json:"dist-info-metadata,omitempty"`
		Size     int64             `json:"size,omitempty"`
		Uploaded string            `json:"upload-time,omitempty"`
	}
	list := make([]file, len(files))
	for i, f := range files {
		list[i] = file{f.Name, pipURL(base, name, f), map[string]string{}, f.Python, f.Yanked, nil, nil, f.Size, f.Uploaded}
		if !f.Sum.none() {
			list[i].Hashes[f.Sum.Algo] = f.Sum.Hex
		}
		if f.Metadata != "" {
			list[i].Core = map[string]string{"sha256": f.Metadata}
			list[i].DistInfo = list[i].Core
		}
	}
	body, err := json.Marshal(map[string]any{"meta": map[string]string{"api-version": "1.0"}, "name": name, "files": list})
	return bytesAnswer(pipJSON, body), err
}

func pipURL(base, project string, f pipFile) string {
	return base + "/files/" + project + "/" + url.PathEscape(f.Name)
}

func renderPipHTML(name, base string, files []pipFile) answer {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><meta name=\"pypi:repository-version\" content=\"1.0\"></head><body>\n")
	for _, f := range files {
		attr := func(key, value string) {
			if value != "" {
				fmt.Fprintf(&b, ` %s="%s"`, key, html.EscapeString(value))
			}
		}
		link := pipURL(base, name, f)
		if !f.Sum.none() {
			link += "#" + f.Sum.Algo + "=" + f.Sum.Hex
		}
		b.WriteString("<a")
		attr("href", link)
		attr("data-requires-python", f.Python)
		if f.Metadata != "" {
			attr("data-core-metadata", "sha256="+f.Metadata)
			attr("data-dist-info-metadata", "sha256="+f.Metadata)
		}
		if f.Yanked != nil {
			fmt.Fprintf(&b, ` data-yanked="%s"`, html.EscapeString(fmt.Sprint(f.Yanked)))
		}
		b.WriteString(">" + html.EscapeString(f.Name) + "</a>\n")
	}
	b.WriteString("</body></html>\n")
	return bytesAnswer("text/html; charset=utf-8", []byte(b.String()))
}
