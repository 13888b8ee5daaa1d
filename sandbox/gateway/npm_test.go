package gateway

import (
	"encoding/json"
	"strings"
	"testing"
)

const npmPage = `{"name":"ms","readme":"see \"tarball\": \"https://evil.test/x.tgz\"","dist-tags":{"latest":"2.0.0"},
"time":{"1.0.0":"2020-01-01","2.0.0":"2021-01-01"},
"versions":{"1.0.0":{"name":"ms","version":"1.0.0","dist":{"tarball" : "ORIGIN/a/b/odd%20name.tgz","shasum":"aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"}},
"2.0.0":{"name":"ms","version":"2.0.0","dist":{"integrity":"sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=","tarball":"ORIGIN\/files\/ms-2.0.0.tgz"}}}}`

// One page is enough for a package and its file, whichever form was asked for.
func TestNpmPages(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{npmShort + "; q=1.0, application/json; q=0.8, */*", "application/json"} {
		o := newOrigin(t)
		o.text("/npm/ms", "application/json", strings.ReplaceAll(npmPage, "ORIGIN", o.URL))
		o.text("/a/b/odd name.tgz", "", "hello")
		o.text("/files/ms-2.0.0.tgz", "", "hello")
		m := open(t, Options{Upstreams: []Upstream{o.upstream("npm")}})
		status, body := m.get(t, "/npm/ms", "Accept", accept)
		if status != 200 || strings.Contains(body, o.URL) || !strings.Contains(body, `\"https://evil.test/x.tgz\"`) {
			t.Errorf("%d %s", status, body)
		}
		var doc struct{ Versions map[string]npmVersionDoc }
		if err := json.Unmarshal([]byte(body), &doc); err != nil {
			t.Fatal(err)
		}
		if got, want := doc.Versions["2.0.0"].Dist.Tarball, m.base+"/npm/ms/-/ms-2.0.0.tgz"; got != want {
			t.Errorf("the address is %s, want %s", got, want)
		}
		path := strings.TrimPrefix(doc.Versions["2.0.0"].Dist.Tarball, m.base)
		if status, body := m.get(t, path); status != 200 || body != "hello" {
			t.Errorf("%d %s", status, body)
		}
		if e := m.last(t, 2); e.Version != "2.0.0" || e.Verified != "sha256" {
			t.Errorf("%+v", e)
		}
		if n := o.asked("/npm/ms"); n != 1 {
			t.Errorf("the page was fetched %d times", n)
		}
		mustRefuse(t, m, "/npm/ms/-/ms-3.0.0.tgz", statusAbsent, "no ms-3.0.0.tgz")
		other := "application/json"
		if accept == other {
			other = npmShort
		}
		off := open(t, Options{CacheDir: m.store.dir, Upstreams: m.opts.Upstreams, Offline: true})
		if status, body := off.get(t, "/npm/ms", "Accept", other); status != 200 || !strings.Contains(body, `"latest":"2.0.0"`) || strings.Contains(body, "1.0.0\":{") {
			t.Errorf("the other form, offline: %d %s", status, body)
		}
	}
}

// A file whose name tells no version is found by its name.
func TestNpmOddFile(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.text("/npm/@me/ms", "application/json", `{"name":"@me/ms","versions":{"1.0.0":{"name":"@me/ms","version":"1.0.0","dist":{"tarball":"`+
		o.URL+`/download/0123abcd","shasum":"aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"}}}}`)
	o.text("/download/0123abcd", "", "hello")
	m := open(t, Options{Upstreams: []Upstream{o.upstream("npm")}})
	for _, path := range []string{"/npm/@me%2fms", "/npm/@me/ms", "/npm/@me/ms/-/0123abcd"} {
		if status, body := m.get(t, path); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if e := m.last(t, 3); e.Name != "@me/ms" || e.Version != "1.0.0" || e.Verified != "sha1" {
		t.Errorf("%+v", e)
	}
	for _, page := range []string{`{}`, `[]`, `<html>`, ``, `{"versions":{"1.0.0":{"dist":{"tarball":"`} {
		o.text("/npm/odd", "application/json", page)
		if status, _ := m.get(t, "/npm/odd/-/odd-1.0.0.tgz"); status < 400 {
			t.Errorf("page %q: %d", page, status)
		}
	}
}
