package gateway

import (
	"context"
	"crypto/sha1" //nolint:gosec // old npm packages have nothing better
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// artefact is a file that an index vouches for.
type artefact struct {
	eco, name, version, file string
	url                      string
	up                       *Upstream
	sum                      sum // the index's hash; none when the client checks by itself
	kind                     string
	check                    check
}

// check is called when a download begins, so that it can ask what it needs.
// What it gives looks at the whole file before that is served, and says in a
// word what was checked.
type check func(context.Context) func(path string) (string, error)

func (a artefact) blob() sum {
	if a.sum.none() {
		return byURL(a.url)
	}
	return a.sum
}

// artefact serves a file from the cache, fetching and checking it first when
// it is not there. Many requests for one file fetch it once.
func (g *Gateway) artefact(ctx context.Context, a artefact, e *Entry) (answer, error) {
	if ans, ok := g.cached(a, e); ok {
		e.Hit = true
		return ans, nil
	}
	if u, err := url.Parse(a.url); err == nil {
		e.Upstream = u.Hostname()
	}
	if err := g.obtain(ctx, a); err != nil {
		e.abandoned = ctx.Err() != nil
		return answer{}, err
	}
	if ans, ok := g.cached(a, e); ok {
		e.fetched = ans.size
		return ans, nil
	}
	return answer{}, refuse(statusFailed, "%s vanished from the cache", a.file)
}

// obtain puts a file into the cache. A download goes on when the client that
// wanted it has gone, because others may wait for it.
func (g *Gateway) obtain(ctx context.Context, a artefact) error {
	for {
		select {
		case r := <-g.fetching(g.life, a):
			if errors.Is(r.Err, errAbandoned) && g.life.Err() == nil {
				continue // it was begun for another session, which is over
			}
			if r.Err != nil {
				return g.missing(a, r.Err)
			}
			return nil
		case <-ctx.Done():
			return refuse(statusFailed, "the client went away")
		}
	}
}

func (g *Gateway) cached(a artefact, e *Entry) (answer, bool) {
	f, info, err := g.store.blob(a.blob())
	if err != nil {
		return answer{}, false
	}
	rec, ok := g.store.record(a.eco, a.file, a.blob())
	if !ok || rec.Size != info.Size() { // cut short by a power failure
		f.Close()
		return answer{}, false
	}
	e.Verified = rec.Verified
	if !a.sum.none() {
		e.Verified, e.Hash = a.sum.Algo, a.sum.String()
	}
	return answer{body: f, size: info.Size(), kind: a.kind, modified: info.ModTime(), close: func() { f.Close() }}, true
}

// missing explains why an artefact cannot be had, and what could.
func (g *Gateway) missing(a artefact, err error) error {
	if !unreachable(err) {
		return err
	}
	return g.absent(a.eco, strings.TrimSpace(a.name+" "+a.version), err)
}

// absentNames is how many names an offline message lists.
const absentNames = 8

func (g *Gateway) absent(eco, what string, cause error) error {
	have := g.store.names(eco)
	list := strings.Join(have[:min(len(have), absentNames)], ", ")
	switch {
	case len(have) == 0:
		list = "nothing"
	case len(have) > absentNames:
		list += fmt.Sprintf(" and %d more", len(have)-absentNames)
	}
	why := "offline"
	if !g.opts.Offline {
		why = cause.Error()
	}
	return refuse(statusAbsent, "%s is not in the package cache (%s); in the cache for %s: %s; kintsugi cache info --names lists all", what, why, eco, list)
}

func (g *Gateway) download(ctx context.Context, a artefact) error {
	p, err := g.store.begin(ctx, a.blob())
	if err != nil {
		return err
	}
	defer p.drop()
	if ans, ok := g.cached(a, &Entry{}); ok { // another process had it before us
		ans.close()
		return nil
	}
	var whole func(string) (string, error)
	if a.check != nil {
		whole = a.check(ctx)
	}
	verified, err := g.spool(ctx, a, p)
	if err == nil && whole != nil {
		verified, err = whole(p.Name())
	}
	if err != nil {
		return err
	}
	rec := record{Ecosystem: a.eco, Name: a.name, Version: a.version, File: a.file, Verified: verified}
	if err := p.keep(rec); err != nil {
		return fmt.Errorf("cannot write to the package cache: %w", err)
	}
	return g.store.pruneSometimes()
}

// spool writes the upstream's bytes to the part and compares their hash.
func (g *Gateway) spool(ctx context.Context, a artefact, p *part) (verified string, err error) {
	resp, err := g.get(ctx, fetch{url: a.url, up: a.up, max: g.limits.Artefact, within: g.limits.FileTime})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", badStatus(resp.StatusCode, a.file)
	}
	h, err := newHash(a.sum.Algo)
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(io.MultiWriter(p, h), g.told(a, resp)); err != nil {
		return "", err
	}
	if got := hex.EncodeToString(h.Sum(nil)); !a.sum.none() && got != a.sum.Hex {
		return "", refuse(statusPolicy, "%s is not what the index says: its %s is %s, not %s", a.file, a.sum.Algo, got, a.sum.Hex)
	}
	return a.sum.Algo, nil
}

func newHash(algo string) (hash.Hash, error) {
	switch algo {
	case "", "sha256":
		return sha256.New(), nil
	case "sha384":
		return sha512.New384(), nil
	case "sha512":
		return sha512.New(), nil
	case "sha1":
		return sha1.New(), nil //nolint:gosec // see the import
	}
	return nil, errors.New("the index gives a hash of an unknown kind: " + algo)
}

// strongest picks the best usable hash of an index; weak ones do not count.
func strongest(hashes map[string]string) sum {
	for _, algo := range []string{"sha512", "sha384", "sha256"} {
		if hex := strings.ToLower(hashes[algo]); isHex(hex, hashLength[algo]) {
			return sum{algo, hex}
		}
	}
	return sum{}
}

// hashLength is the length of a hash in hexadecimal digits.
var hashLength = map[string]int{"sha1": 40, "sha256": 64, "sha384": 96, "sha512": 128}

func isHex(s string, n int) bool {
	return len(s) == n && !slices.ContainsFunc([]byte(s), func(c byte) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
	})
}
