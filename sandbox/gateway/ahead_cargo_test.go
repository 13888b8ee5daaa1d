package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// crates publishes an index page for each crate: NAME=DEPENDENCIES, where a
// dependency is what the index writes of it.
func crates(o *origin, pages map[string]string) {
	for name, deps := range pages {
		line := func(version, deps string) string {
			return fmt.Sprintf(`{"name":%q,"vers":%q,"deps":[%s],"cksum":%q}`, name, version, deps, sha(name))
		}
		o.text("/cargo/"+cratePath(name), "text/plain", line("0.9.0", `{"name":"older"}`)+"\n"+line("1.0.0", deps)+"\n")
	}
}

func indexed(name string) string { return "/cargo/" + cratePath(name) }

// Asking for a crate fetches the pages of what its newest version needs, and
// asking for one of these goes on from there.
func TestCratePagesComeAhead(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	crates(o, map[string]string{
		"aaaa": `{"name":"bbbb","kind":"normal"},{"name":"opti","optional":true},{"name":"devs","kind":"dev"},{"name":"own","package":"real"},{"name":"../x"},{"name":"a/b"}`,
		"bbbb": `{"name":"cccc","kind":"build"}`, "cccc": ``, "real": ``, "opti": ``, "devs": ``, "older": ``,
	})
	m := open(t, Options{Upstreams: []Upstream{o.upstream("cargo")}})
	m.get(t, indexed("aaaa"))
	until(t, "page of bbbb and real", func() bool { return o.asked(indexed("bbbb")) == 1 && o.asked(indexed("real")) == 1 })
	if n := o.asked(""); n != 3 {
		t.Errorf("the upstream got %d requests, want those for aaaa, bbbb and real", n)
	}
	if _, body := m.get(t, indexed("bbbb")); !strings.Contains(body, "cccc") || o.asked(indexed("bbbb")) != 1 {
		t.Errorf("asked %d times for %q", o.asked(indexed("bbbb")), body)
	}
	if e := m.last(t, 2); e.Hit || e.Upstream != "127.0.0.1" {
		t.Errorf("the record says %+v", e)
	}
	until(t, "page of cccc", func() bool { return o.asked(indexed("cccc")) == 1 })
	again := open(t, Options{Upstreams: []Upstream{o.upstream("cargo")}, CacheDir: m.store.dir})
	again.get(t, indexed("bbbb"))
	if e := again.last(t, 1); !e.Hit || o.asked("") != 4 {
		t.Errorf("another session: %+v, %d requests", e, o.asked(""))
	}
}

// What the session may not have is not fetched ahead either.
func TestCrateRulesHoldAhead(t *testing.T) {
	t.Parallel()
	const refused = 20
	for name, s := range map[string]Session{
		"rule": {Allow: func(_, name string) error {
			if strings.HasPrefix(name, "bb") {
				return errors.New("not for you")
			}
			return nil
		}},
		"lock": {Pins: []Pin{
			{Ecosystem: "cargo", Name: "aaaa", Version: "1.0.0", Files: map[string]string{"aaaa-1.0.0.crate": "sha256:" + sha("aaaa")}},
			{Ecosystem: "cargo", Name: "cccc", Version: "1.0.0"},
		}},
	} {
		o := newOrigin(t)
		var deps strings.Builder
		for i := range refused {
			fmt.Fprintf(&deps, `{"name":"bb%02d"},`, i)
		}
		crates(o, map[string]string{"aaaa": deps.String() + `{"name":"cccc"}`, "cccc": ``})
		m := openSession(t, Options{Upstreams: []Upstream{o.upstream("cargo")}}, s)
		if status, body := m.get(t, indexed("aaaa")); status != 200 {
			t.Fatalf("%s: %d %s", name, status, body)
		}
		until(t, "page of cccc", func() bool { return o.asked(indexed("cccc")) == 1 })
		if n := o.asked(""); n != 2 {
			t.Errorf("%s: the upstream got %d requests, want those for aaaa and cccc", name, n)
		}
	}
}

// A page that names thousands of crates makes no more requests than the bound,
// and leaves room for what clients ask.
func TestManyCratesAhead(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	var deps []string
	var now atomic.Int64
	release := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(release) })
	t.Cleanup(goOn)
	for i := range aheadMost + 200 {
		name := fmt.Sprintf("dep%04d", i)
		deps = append(deps, fmt.Sprintf(`{"name":%q}`, name))
		o.on(indexed(name), func(w http.ResponseWriter, r *http.Request) {
			now.Add(1)
			defer now.Add(-1)
			<-release
			http.NotFound(w, r)
		})
	}
	crates(o, map[string]string{"aaaa": strings.Join(deps, ","), "zzzz": ``})
	m := open(t, Options{Upstreams: []Upstream{o.upstream("cargo")}})
	m.get(t, indexed("aaaa"))
	until(t, "as many pages as may be fetched at once", func() bool { return now.Load() == aheadPages })
	if status, _ := m.get(t, indexed("zzzz")); status != 200 || now.Load() != aheadPages {
		t.Errorf("another crate: %d, while %d pages are fetched", status, now.Load())
	}
	goOn()
	until(t, "all that the bound lets through", func() bool { return o.asked("") == aheadMost+2 })
	m.Close()
	if n := o.asked(""); n != aheadMost+2 {
		t.Errorf("%d requests, want %d", n, aheadMost+2)
	}
}
