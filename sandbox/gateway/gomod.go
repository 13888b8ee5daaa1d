package gateway

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"kintsugi/sandbox/lazyregexp"
)

// gomod serves the module proxy protocol and, on the same address, the
// checksum database:
//
//	MODULE/@v/list, MODULE/@v/VERSION.(info|mod|zip), MODULE/@latest
//	sumdb/NAME/(supported|latest|lookup/…|tile/…)
type gomod struct {
	g   *Gateway
	ups []Upstream
}

var sumTile = lazyregexp.New(`^tile/[0-9]{1,2}/(?:data|[0-9]{1,2})/(?:x[0-9]{3}/){0,5}[0-9]{3}(?:\.p/[0-9]{1,3})?$`)

// modulePath is the longest module path; the longest in use have about 120
// bytes.
const modulePath = 200

// errNoSum is the answer of a checksum database that does not know a module.
var errNoSum = errors.New("not in the checksum database")

func (m *gomod) serve(ctx context.Context, r *request) (answer, error) {
	if len(r.path) > 2 && r.path[0] == "sumdb" {
		return m.sumdb(ctx, r, r.path[1], strings.Join(r.path[2:], "/"))
	}
	whole := strings.Join(r.path, "/")
	if escaped, ok := strings.CutSuffix(whole, "/@latest"); ok {
		return m.query(ctx, r, escaped, "@latest")
	}
	escaped, file, ok := strings.Cut(whole, "/@v/")
	if !ok || strings.Contains(file, "/") {
		return notOurs(r)
	}
	if file == "list" {
		return m.query(ctx, r, escaped, "@v/list")
	}
	return m.version(ctx, r, escaped, file)
}

// name checks a module's path and its escaping.
func (m *gomod) name(r *request, escaped, version, file string) (string, error) {
	path, err := module.UnescapePath(escaped)
	if err != nil || len(path) > modulePath {
		return "", refuse(statusGrammar, "%.100q is no path of a Go module", escaped)
	}
	return path, r.tell(path, version, file)
}

// query serves what changes when a module gets a new version.
func (m *gomod) query(ctx context.Context, r *request, escaped, what string) (answer, error) {
	path, err := m.name(r, escaped, "", "")
	if err != nil {
		return answer{}, err
	}
	return m.page(ctx, r, path, escaped+"/"+what)
}

// page asks one proxy after the other.
func (m *gomod) page(ctx context.Context, r *request, name, rest string) (answer, error) {
	var pg *page
	err := m.each(func(up *Upstream) (err error) {
		pg, err = m.g.page(ctx, wanted{eco: "go", name: name, url: up.join(rest), up: up})
		return err
	})
	if err != nil {
		return answer{}, m.gone(name, err)
	}
	a := pageAnswer(pg, r.entry)
	a.kind = "text/plain; charset=utf-8"
	return a, nil
}

// gone is the answer for a module that no proxy gives. The go command asks for
// every parent of an import path as well, and some proxies forbid what they do
// not have: without credentials that says no more than that it is not there.
func (m *gomod) gone(name string, err error) error {
	if unreachable(err) {
		return m.g.absent("go", name, err)
	}
	if err != nil && asRefusal(err).denied && !slices.ContainsFunc(m.ups, func(u Upstream) bool { return u.Auth != "" }) {
		return refuse(statusAbsent, "the index has no %s, or does not let us have it", name)
	}
	return err
}

// each tries the proxies in their order: the next one when a proxy has no such
// module or, if the configuration says so, whatever went wrong.
func (m *gomod) each(try func(*Upstream) error) error {
	var err error
	for i := range m.ups {
		if err = try(&m.ups[i]); err == nil {
			return nil
		}
		if asRefusal(err).status != statusAbsent && !m.ups[i].Any {
			return err
		}
	}
	return err
}

func (m *gomod) version(ctx context.Context, r *request, escaped, file string) (answer, error) {
	dot := strings.LastIndexByte(file, '.')
	if dot < 0 || !slices.Contains([]string{".info", ".mod", ".zip"}, file[dot:]) {
		return notOurs(r)
	}
	version, err := module.UnescapeVersion(file[:dot])
	if err != nil || len(version) > 200 {
		return answer{}, refuse(statusGrammar, "%.100q is no version of a Go module", file)
	}
	path, err := m.name(r, escaped, version, file)
	if err != nil {
		return answer{}, err
	}
	if !semver.IsValid(version) || module.CanonicalVersion(version) != version { // a branch: may move
		return m.page(ctx, r, path, escaped+"/@v/"+file)
	}
	var a answer
	err = m.each(func(up *Upstream) (err error) {
		want := m.artefact(up, path, version, escaped, file)
		if a, err = m.g.artefact(ctx, want, r.entry); err == nil {
			r.sess.early.asked(want.url, r.entry)
			m.ahead(r, up, want, escaped)
		}
		return err
	})
	return a, m.gone(path, err)
}

// ahead begins to fetch the zip of a version about which the go command asked:
// it does so when it has chosen one, reads go.mod and the checksum database
// next, and unpacks the zip then.
func (m *gomod) ahead(r *request, up *Upstream, got artefact, escaped string) {
	if version, ok := strings.CutSuffix(got.file, ".info"); ok && r.whole {
		r.sess.aheadFile(m.artefact(up, got.name, got.version, escaped, version+".zip"))
	}
}

func (m *gomod) artefact(up *Upstream, path, version, escaped, file string) artefact {
	a := artefact{
		eco: "go", name: path, version: version, file: file, url: up.join(escaped, "@v", file), up: up, kind: "text/plain; charset=utf-8",
	}
	switch {
	case strings.HasSuffix(file, ".zip"):
		a.kind = "application/zip"
		a.check = m.checked(path, version, "", zipHash)
	case strings.HasSuffix(file, ".mod"):
		a.check = m.checked(path, version, "/go.mod", modHash)
	}
	return a
}

// checked compares a file's hash with the checksum database's, which is asked
// while the file is fetched. The go command checks the database's signatures
// itself.
func (m *gomod) checked(path, version, suffix string, hash func(context.Context, string) (string, error)) check {
	return func(ctx context.Context) func(string) (string, error) {
		var want string
		var err error
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			want, err = m.lookup(ctx, path, version, suffix)
		}()
		return func(file string) (string, error) {
			<-asked
			if errors.Is(err, errNoSum) {
				return "", nil
			}
			if err != nil {
				return "", err
			}
			got, err := hash(ctx, file)
			if err != nil {
				return "", refuse(statusPolicy, "%s %s cannot be checked: %v", path, version, err)
			}
			if got != want {
				return "", refuse(statusPolicy, "%s %s is not what the checksum database says: %s, not %s", path, version, got, want)
			}
			return "sumdb", nil
		}
	}
}

// lookup asks the checksum database for a hash.
func (m *gomod) lookup(ctx context.Context, path, version, suffix string) (string, error) {
	escaped, err1 := module.EscapePath(path)
	v, err2 := module.EscapeVersion(version)
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	if m.ups[0].Sum == "" {
		return "", errNoSum
	}
	pg, err := m.sumPage(ctx, "lookup/"+escaped+"@"+v, path)
	if err != nil {
		if asRefusal(err).status == statusAbsent && !unreachable(err) {
			err = errNoSum
		}
		return "", err
	}
	for _, line := range bytes.Split(pg.body, []byte("\n")) {
		f := strings.Fields(string(line))
		if len(f) == 3 && f[0] == path && f[1] == version+suffix && strings.HasPrefix(f[2], "h1:") {
			return f[2], nil
		}
	}
	return "", refuse(statusFailed, "the checksum database's page for %s %s has no hash", path, version)
}

// sumName is the checksum database's name without its key.
func (m *gomod) sumName() string {
	name, _, _ := strings.Cut(m.ups[0].Sum, " ")
	name, _, _ = strings.Cut(name, "+")
	return name
}

func (m *gomod) sumdb(ctx context.Context, r *request, name, rest string) (answer, error) {
	if name == "" || name != m.sumName() {
		return answer{}, refuse(statusAbsent, "this checksum database is not the configured one")
	}
	mod, _, _ := strings.Cut(strings.TrimPrefix(rest, "lookup/"), "@")
	switch {
	case rest == "supported":
		return bytesAnswer("text/plain", nil), nil
	case strings.HasPrefix(rest, "lookup/"):
		if _, err := m.name(r, mod, "", ""); err != nil {
			return answer{}, err
		}
	case rest != "latest" && !sumTile.MatchString(rest):
		return notOurs(r)
	}
	pg, err := m.sumPage(ctx, rest, clip(rest, 60))
	if err != nil {
		return answer{}, m.gone(clip(rest, 60), err)
	}
	a := pageAnswer(pg, r.entry)
	a.kind = "text/plain; charset=utf-8"
	return a, nil
}

// sumPage gets a page of the checksum database: through the module proxy where
// that offers it, from the database itself otherwise.
func (m *gomod) sumPage(ctx context.Context, rest, about string) (*page, error) {
	up, base := &m.ups[0], m.ups[0].join("sumdb", m.sumName())
	if _, err := m.g.page(ctx, wanted{eco: "go", name: "sumdb supported", url: base + "/supported", up: up}); err != nil {
		if asRefusal(err).status != statusAbsent {
			return nil, err
		}
		up, base = nil, m.sumHome()
	}
	w := wanted{eco: "go", name: about, url: base + "/" + rest, up: up, anyAge: sumTile.MatchString(rest) && !strings.Contains(rest, ".p/")}
	return m.g.page(ctx, w)
}

// sumHome is the database's own address.
func (m *gomod) sumHome() string {
	if _, addr, ok := strings.Cut(m.ups[0].Sum, " "); ok {
		return strings.TrimSuffix(strings.TrimSpace(addr), "/")
	}
	return "https://" + m.sumName()
}

func (m *gomod) setup(base, _ string) Setup {
	sumdb := "off"
	if m.ups[0].Sum != "" {
		sumdb, _, _ = strings.Cut(m.ups[0].Sum, " ")
	}
	return Setup{Env: []string{
		"GOPROXY=" + base + "/go", "GOSUMDB=" + sumdb, "GONOSUMDB=", "GONOPROXY=", "GOPRIVATE=", "GOINSECURE=", "GOENV=off",
		"GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOVCS=*:off",
	}}
}
