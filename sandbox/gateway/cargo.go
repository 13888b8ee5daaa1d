package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"kintsugi/sandbox/lazyregexp"
)

// cargo serves a sparse index of Rust crates:
//
//	config.json            where downloads are
//	se/rd/serde            the versions of a crate, one JSON line each
//	dl/CRATE/VERSION/download   a version, by the checksum of the index
type cargo struct {
	g  *Gateway
	up Upstream
}

var (
	crateName    = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	crateVersion = lazyregexp.New(`^[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,100}$`)
)

// crate is one line of the index.
type crate struct {
	Name    string `json:"name"`
	Version string `json:"vers"`
	Sum     string `json:"cksum"`
	// At is when it was published, where the index tells.
	Time string `json:"pubtime"`
}

// release is the version as a session's rules see it. A time that cannot be
// read is none.
func (c crate) release() release {
	at, _ := time.Parse(time.RFC3339, c.Time)
	return release{version: c.Version, file: c.Name + "-" + c.Version + ".crate", sum: sum{"sha256", c.Sum}, at: at}
}

func (c *cargo) serve(ctx context.Context, r *request) (answer, error) {
	p := r.path
	switch {
	case len(p) == 1 && p[0] == "config.json":
		body, err := json.Marshal(map[string]string{"dl": r.base + "/dl"})
		return bytesAnswer("application/json", body), err
	case len(p) == 4 && p[0] == "dl" && p[3] == "download":
		return c.file(ctx, r, p[1], p[2])
	case len(p) > 1 && strings.Join(p, "/") == cratePath(p[len(p)-1]):
		return c.index(ctx, r, p[len(p)-1])
	}
	return notOurs(r)
}

// cratePath is where the index keeps a crate.
func cratePath(name string) string {
	n := strings.ToLower(name)
	switch {
	case n == "":
		return ""
	case len(n) < 3:
		return fmt.Sprintf("%d/%s", len(n), n)
	case len(n) == 3:
		return "3/" + n[:1] + "/" + n
	}
	return n[:2] + "/" + n[2:4] + "/" + n
}

func (c *cargo) check(r *request, name, version, file string) error {
	if !crateName.MatchString(name) {
		return refuse(statusGrammar, "%.100q is no name of a crate", name)
	}
	return r.tell(name, version, file)
}

func (c *cargo) wanted(name string, renew, anyAge bool) wanted {
	return wanted{eco: "cargo", name: strings.ToLower(name), url: c.up.join(cratePath(name)), up: &c.up, renew: renew, anyAge: anyAge}
}

func (c *cargo) page(ctx context.Context, name string, renew, anyAge bool) (*page, error) {
	pg, err := c.g.page(ctx, c.wanted(name, renew, anyAge))
	if err != nil && unreachable(err) {
		return nil, c.g.absent("cargo", name, err)
	}
	return pg, err
}

func (c *cargo) index(ctx context.Context, r *request, name string) (answer, error) {
	if err := c.check(r, name, "", ""); err != nil {
		return answer{}, err
	}
	pg, err := c.page(ctx, name, false, false)
	if err != nil {
		return answer{}, err
	}
	body, v := pg.body, r.sess.sieve("cargo", name)
	if c.g.opts.Offline || pg.stale {
		body = c.here(body)
	}
	if !v.idle() {
		if body, err = visible(body, v); err == nil {
			err = v.verdict(r.entry)
		}
		if err != nil {
			return answer{}, err
		}
	}
	a := pageAnswer(pg, r.entry)
	a.kind = "text/plain; charset=utf-8"
	if len(body) != len(pg.body) {
		a = bytesAnswer(a.kind, body)
	}
	if r.sess.early.asked(c.wanted(name, false, false).url, r.entry); !r.entry.Hit {
		c.ahead(r.sess, pg.body)
	}
	return a, nil
}

// ahead begins to fetch the pages of what the newest version of a crate needs.
// Cargo asks for them next, and through the gateway no more than two at a time:
// without this every page would cost it a way to the index and back.
func (c *cargo) ahead(s *served, page []byte) {
	page = bytes.TrimRight(page, "\n")
	var newest struct {
		Deps []struct {
			Name, Package, Kind string
			Optional            bool
		}
	}
	if json.Unmarshal(page[bytes.LastIndexByte(page, '\n')+1:], &newest) != nil {
		return
	}
	for _, d := range newest.Deps {
		name := cmp.Or(d.Package, d.Name)
		if d.Kind != "dev" && !d.Optional && crateName.MatchString(name) {
			s.aheadPage(c.wanted(name, false, false))
		}
	}
}

// visible keeps the versions that the session may see.
func visible(body []byte, v *sieve) ([]byte, error) {
	var out []byte
	for line := range bytes.Lines(body) {
		var c crate
		if json.Unmarshal(line, &c) != nil || !isHex(c.Sum, 64) {
			continue
		}
		ok, err := v.keep(c.release())
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, line...)
		}
	}
	return out, nil
}

// here keeps the versions that need no network.
func (c *cargo) here(body []byte) []byte {
	var out []byte
	for line := range bytes.Lines(body) {
		var v crate
		if json.Unmarshal(line, &v) == nil && isHex(v.Sum, 64) && c.g.store.has(sum{"sha256", v.Sum}) {
			out = append(out, line...)
		}
	}
	return out
}

func (c *cargo) file(ctx context.Context, r *request, name, version string) (answer, error) {
	file := name + "-" + version + ".crate"
	if !crateVersion.MatchString(version) {
		return answer{}, refuse(statusGrammar, "%.100q is no version of a crate", version)
	}
	if err := c.check(r, name, version, file); err != nil {
		return answer{}, err
	}
	v, err := c.find(ctx, name, version)
	if err != nil {
		return answer{}, err
	}
	if s := r.sess.sieve("cargo", v.Name); !s.idle() {
		if _, err = s.keep(v.release()); err == nil {
			err = s.verdict(r.entry)
		}
		if err != nil {
			return answer{}, err
		}
	}
	a := artefact{
		eco: "cargo", name: v.Name, version: version, file: file, up: &c.up,
		sum: sum{"sha256", v.Sum}, kind: "application/gzip",
	}
	if !c.g.store.has(a.sum) {
		if a.url, err = c.address(ctx, v); err != nil {
			return answer{}, err
		}
	}
	return c.g.artefact(ctx, a, r.entry)
}

func (c *cargo) find(ctx context.Context, name, version string) (crate, error) {
	for _, renew := range []bool{false, true} {
		pg, err := c.page(ctx, name, renew, !renew)
		if err != nil {
			return crate{}, err
		}
		if v, ok := lineOf(pg.body, name, version); ok {
			return v, nil
		}
		if !pg.hit {
			break
		}
	}
	return crate{}, refuse(statusAbsent, "the index has no %s %s", name, version)
}

// lineOf reads the line of a version. Some crates have pages of megabytes, so
// only lines with the version's number in them are decoded.
func lineOf(body []byte, name, version string) (crate, bool) {
	number, _, _ := strings.Cut(version, "+") // JSON may spell the plus otherwise
	for line := range bytes.Lines(body) {
		var v crate
		if bytes.Contains(line, []byte(number)) && json.Unmarshal(line, &v) == nil &&
			v.Name == name && v.Version == version && isHex(v.Sum, 64) {
			return v, true
		}
	}
	return crate{}, false
}

// address is where the index says that crates are downloaded.
func (c *cargo) address(ctx context.Context, v crate) (string, error) {
	pg, err := c.g.page(ctx, wanted{eco: "cargo", name: "config.json", url: c.up.join("config.json"), up: &c.up})
	if err != nil {
		return "", err
	}
	var conf struct {
		DL string `json:"dl"`
	}
	if json.Unmarshal(pg.body, &conf) != nil || conf.DL == "" {
		return "", refuse(statusFailed, "the index does not say where crates are")
	}
	return crateAddress(conf.DL, v), nil
}

// crateAddress fills the markers of a download template; one without markers
// gets the usual ending.
func crateAddress(dl string, v crate) string {
	if !strings.Contains(dl, "{") {
		return strings.TrimSuffix(dl, "/") + "/" + v.Name + "/" + url.PathEscape(v.Version) + "/download"
	}
	prefix := func(name string) string {
		path := cratePath(name)
		return path[:strings.LastIndexByte(path, '/')]
	}
	exact := prefix(v.Name)
	if len(v.Name) > 3 {
		exact = v.Name[:2] + "/" + v.Name[2:4]
	}
	return strings.NewReplacer(
		"{crate}", v.Name, "{version}", url.PathEscape(v.Version), "{prefix}", exact,
		"{lowerprefix}", prefix(v.Name), "{sha256-checksum}", v.Sum,
	).Replace(dl)
}

// setup replaces cargo's own index. Cargo takes the replacement of a source
// from its configuration only, not from variables. Its wish for HTTP/2 over
// plain HTTP would be an upgrade, which the gateway does not speak.
func (c *cargo) setup(base, _ string) Setup {
	return Setup{
		Env: []string{
			"CARGO_NET_RETRY=0", "CARGO_HTTP_PROXY=", "CARGO_HTTP_MULTIPLEXING=false", "CARGO_REGISTRIES_CRATES_IO_PROTOCOL=sparse",
			fmt.Sprintf("CARGO_HTTP_TIMEOUT=%.0f", c.g.limits.FileTime.Seconds()), "CARGO_HTTP_LOW_SPEED_LIMIT=0",
		},
		Args: []string{
			"--config", `source.crates-io.replace-with="gateway"`,
			"--config", `source.gateway.registry="sparse+` + base + `/cargo/"`,
		},
	}
}
