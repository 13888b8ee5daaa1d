package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"kintsugi/sandbox/lazyregexp"
)

// npm serves the registry of Node packages to npm, pnpm and yarn:
//
//	NAME, @SCOPE%2fNAME, @SCOPE/NAME   what is known of a package
//	NAME/-/FILE                        a version's file, by the hash of the index
type npm struct {
	g  *Gateway
	up Upstream
}

// The two forms of a package's page.
const (
	npmShort  = "application/vnd.npm.install-v1+json"
	npmLong   = "application/json"
	npmEither = npmShort + ", application/json;q=0.5"
)

var (
	npmName    = lazyregexp.New(`^(?:@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*$`)
	npmTarball = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._~+-]{0,254}$`)
	npmVersion = lazyregexp.New(`^[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,200}$`)
)

// npmLongest is the registry's own limit for a name with its scope.
const npmLongest = 214

func (n *npm) serve(ctx context.Context, r *request) (answer, error) {
	path := r.path
	if len(path) > 0 && path[len(path)-1] == "" {
		path = path[:len(path)-1]
	}
	if len(path) > 1 && strings.HasPrefix(path[0], "@") && !strings.Contains(path[0], "/") {
		path = append([]string{path[0] + "/" + path[1]}, path[2:]...)
	}
	switch {
	case len(path) == 1:
		return n.document(ctx, r, path[0])
	case len(path) == 3 && path[1] == "-":
		return n.tarball(ctx, r, path[0], path[2])
	}
	return notOurs(r)
}

func (n *npm) check(r *request, name, version, file string) error {
	if len(name) > npmLongest || !npmName.MatchString(name) {
		return refuse(statusGrammar, "%.100q is no name of a Node package", name)
	}
	return r.tell(name, version, file)
}

func (n *npm) document(ctx context.Context, r *request, name string) (answer, error) {
	if err := n.check(r, name, "", ""); err != nil {
		return answer{}, err
	}
	accept, kind := npmLong, npmLong
	if strings.Contains(r.accept, npmShort) {
		accept, kind = npmEither, npmShort
	}
	pg, err := n.page(ctx, name, accept, false)
	if err != nil {
		var ok bool
		if pg, ok = n.otherForm(name, accept); !ok {
			return answer{}, err
		}
	}
	r.entry.Hit, r.entry.Stale = pg.hit, pg.stale
	body, err := n.sifted(ctx, r, name, pg)
	if err != nil {
		return answer{}, err
	}
	if n.g.opts.Offline || pg.stale {
		if body, err = npmOnly(body, func(v npmVersionDoc) bool { return n.here(name, v) }); err != nil {
			return answer{}, unreadable(name, err)
		}
	}
	return bytesAnswer(kind, npmRewrite(body, r.base+"/"+name+"/-/")), nil
}

// sifted keeps the versions that the session may see.
func (n *npm) sifted(ctx context.Context, r *request, name string, pg *page) ([]byte, error) {
	v := r.sess.sieve("npm", name)
	if v.idle() {
		return pg.body, nil
	}
	times, err := n.times(ctx, name, pg, v)
	if err != nil || len(times) == 0 && len(v.pins) == 0 && !v.closed {
		return pg.body, err
	}
	var bad error
	body, err := npmOnly(pg.body, func(doc npmVersionDoc) bool {
		s, _ := doc.Dist.sum()
		ok, err := v.keep(release{doc.Version, npmFileOf(doc.Dist.Tarball), s, times[doc.Version]})
		if err != nil {
			bad = err
		}
		return ok
	})
	if err != nil {
		return nil, unreadable(name, err)
	}
	if bad != nil {
		return nil, bad
	}
	return body, v.verdict(r.entry)
}

// times are those of the versions that are too young. The short form of a page
// tells only when the last one came; the long one is fetched when that is not
// long ago.
func (n *npm) times(ctx context.Context, name string, pg *page, v *sieve) (map[string]time.Time, error) {
	if v.cooldown <= 0 {
		return nil, nil
	}
	var t npmTimes
	if err := json.Unmarshal(pg.body, &t); err != nil {
		return nil, unreadable(name, err)
	}
	if at, err := time.Parse(time.RFC3339, t.Modified); t.Time == nil && err == nil && v.now.Sub(at) < v.cooldown {
		long, err := n.page(ctx, name, npmLong, false)
		if err != nil {
			if n.g.opts.Offline || pg.stale { // only what was let through before is here
				err = nil
			}
			return nil, err
		}
		if err := json.Unmarshal(long.body, &t); err != nil {
			return nil, unreadable(name, err)
		}
	}
	young := map[string]time.Time{}
	for version, text := range t.Time {
		if at, err := time.Parse(time.RFC3339, text); err == nil && v.now.Sub(at) < v.cooldown {
			young[version] = at
		}
	}
	delete(young, "modified")
	delete(young, "created")
	return young, nil
}

// otherForm gives the form of a page that was not asked for: better than none.
func (n *npm) otherForm(name, accept string) (*page, bool) {
	other := npmLong
	if accept == npmLong {
		other = npmEither
	}
	pg, ok := n.g.have(n.wanted(name, other, false))
	if ok {
		pg.stale = true
	}
	return pg, ok
}

func unreadable(name string, err error) error {
	return refuse(statusFailed, "the index's page for %s cannot be read: %v", name, err)
}

// here says whether a version needs no network.
func (n *npm) here(name string, v npmVersionDoc) bool {
	a, err := n.artefact(name, v)
	return err == nil && n.g.store.has(a.blob())
}

func (n *npm) wanted(name, accept string, renew bool) wanted {
	return wanted{
		eco: "npm", name: name, url: n.up.join(strings.Replace(name, "/", "%2f", 1)), up: &n.up, accept: accept, renew: renew,
		shape: npmShape,
	}
}

func (n *npm) page(ctx context.Context, name, accept string, renew bool) (*page, error) {
	pg, err := n.g.page(ctx, n.wanted(name, accept, renew))
	if err != nil && unreachable(err) {
		return nil, n.g.absent("npm", name, err)
	}
	return pg, err
}

func (n *npm) tarball(ctx context.Context, r *request, name, file string) (answer, error) {
	version := strings.TrimPrefix(strings.TrimSuffix(file, ".tgz"), npmBase(name)+"-")
	if !npmVersion.MatchString(version) {
		version = ""
	}
	if !npmTarball.MatchString(file) {
		return answer{}, refuse(statusGrammar, "%.100q is no file of a Node package", file)
	}
	if err := n.check(r, name, version, file); err != nil {
		return answer{}, err
	}
	a, err := n.find(ctx, name, version, file)
	if err != nil {
		return answer{}, err
	}
	r.entry.Version = a.version
	v := r.sess.sieve("npm", name)
	if _, err := v.keep(release{version: a.version, file: a.file, sum: a.sum}); err != nil {
		return answer{}, err
	}
	if err := v.verdict(r.entry); err != nil {
		return answer{}, err
	}
	return n.g.artefact(ctx, a, r.entry)
}

// find looks a file up in the package's page: in whichever form is here, and
// in the index's newest when none knows the file.
func (n *npm) find(ctx context.Context, name, version, file string) (artefact, error) {
	for _, accept := range []string{npmLong, npmEither} {
		if pg, ok := n.g.have(n.wanted(name, accept, false)); ok {
			if v, ok := npmFind(pg.body, name, version, file); ok {
				return n.artefact(name, v)
			}
		}
	}
	pg, err := n.page(ctx, name, npmEither, true)
	if err != nil {
		return artefact{}, err
	}
	if v, ok := npmFind(pg.body, name, version, file); ok {
		return n.artefact(name, v)
	}
	return artefact{}, refuse(statusAbsent, "the index has no %s", file)
}

func (n *npm) artefact(name string, v npmVersionDoc) (artefact, error) {
	s, err := v.Dist.sum()
	if err != nil {
		return artefact{}, refuse(statusPolicy, "%s %s: %v", name, v.Version, err)
	}
	return artefact{
		eco: "npm", name: name, version: v.Version, file: npmFileOf(v.Dist.Tarball), url: v.Dist.Tarball, up: &n.up, sum: s,
	}, nil
}

func npmBase(name string) string { return name[strings.IndexByte(name, '/')+1:] }
