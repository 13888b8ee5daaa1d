package gateway

import (
	"archive/zip"
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Every ecosystem whose index has hashes refuses a file that differs, keeps
// nothing of it, and serves the right one.
func TestHashes(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	sha512sum := sha512.Sum512([]byte("good"))
	integrity := "sha512-" + base64.StdEncoding.EncodeToString(sha512sum[:])
	o.text("/pip/six/", "text/html", `<a href="/files/six-1.0-py3-none-any.whl#sha256=`+sha("good")+`">six-1.0-py3-none-any.whl</a>`)
	o.text("/npm/ms", "application/json", `{"name":"ms","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"ms","version":"1.0.0","dist":{"tarball":"`+
		o.URL+`/files/ms-1.0.0.tgz","integrity":"`+integrity+`"}}}}`)
	o.text("/npm/old", "application/json", `{"name":"old","versions":{"1.0.0":{"name":"old","version":"1.0.0","dist":{"tarball":"`+
		o.URL+`/files/old-1.0.0.tgz","shasum":"f7bf9d1a1b4f0d7e4b0f1bdf7e0f2e8e7b1e0b0a"}}}}`)
	o.text("/cargo/config.json", "application/json", `{"dl":"`+o.URL+`/files/{crate}-{version}.crate"}`)
	o.text("/cargo/se/rd/serde", "text/plain", `{"name":"serde","vers":"1.0.0","deps":[],"cksum":"`+sha("good")+`"}`+"\n")
	o.text("/gem/info/rake", "text/plain", "---\n1.0.0 |checksum:"+sha("good")+",ruby:>= 2\n")
	o.text("/apt/dists/x/main/by-hash/SHA256/"+sha("good"), "", "bad")
	for _, c := range []struct{ eco, path, file string }{
		{"pip", "/pip/files/six/six-1.0-py3-none-any.whl", "/files/six-1.0-py3-none-any.whl"},
		{"npm", "/npm/ms/-/ms-1.0.0.tgz", "/files/ms-1.0.0.tgz"},
		{"cargo", "/cargo/dl/serde/1.0.0/download", "/files/serde-1.0.0.crate"},
		{"gem", "/gem/gems/rake-1.0.0.gem", "/gem/gems/rake-1.0.0.gem"},
		{"apt", "/apt/" + aptID(o.upstream("apt")) + "/dists/x/main/by-hash/SHA256/" + sha("good"), "/apt/dists/x/main/by-hash/SHA256/" + sha("good")},
	} {
		up := o.upstream(c.eco)
		up.Source = []Field{{"Suites", "x"}}
		m := open(t, Options{Upstreams: []Upstream{up}})
		o.text(c.file, "", "bad!")
		mustRefuse(t, m, c.path, statusPolicy, "not what the index says")
		o.text(c.file, "", "good")
		if status, body := m.get(t, c.path); status != 200 || body != "good" {
			t.Errorf("%s: the right file: %d %q", c.eco, status, body)
		}
		if e := m.last(t, 2); e.Verified == "" || !strings.Contains(e.Hash, ":") || e.Name == "" || e.Hit {
			t.Errorf("%s: the record says %+v", c.eco, e)
		}
		asked := o.asked(c.file)
		if status, body := m.get(t, c.path); status != 200 || body != "good" || o.asked(c.file) != asked {
			t.Errorf("%s: the second time: %d %q, asked %d times", c.eco, status, body, o.asked(c.file)-asked)
		}
		if e := m.last(t, 3); !e.Hit {
			t.Errorf("%s: the record of a hit says %+v", c.eco, e)
		}
	}
	m := open(t, Options{Upstreams: []Upstream{o.upstream("npm")}})
	o.text("/files/old-1.0.0.tgz", "", "bad")
	mustRefuse(t, m, "/npm/old/-/old-1.0.0.tgz", statusPolicy, "sha1")
}

// moduleZip is a module's zip with one file.
func moduleZip(t *testing.T, module, version, content string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, err := z.Create(module + "@" + version + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, content)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestGoHashes(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	good, bad := moduleZip(t, "example.test/m", "v1.0.0", "module example.test/m\n"), moduleZip(t, "example.test/m", "v1.0.0", "module evil\n")
	// The hash of the good zip: base64 of the sha256 of "HEX  NAME\n".
	const h1 = "h1:eKS2MKW/iOHw4zCK44DBWqHNcce3zU13b2KCC5Eq6Qs="
	up := o.upstream("go")
	up.Sum = "sum.example.test"
	o.text("/go/sumdb/sum.example.test/supported", "", "")
	o.text("/go/sumdb/sum.example.test/lookup/example.test/m@v1.0.0", "text/plain", "1\nexample.test/m v1.0.0 "+h1+"\nexample.test/m v1.0.0/go.mod h1:x\n\nsigned\n")
	m := open(t, Options{Upstreams: []Upstream{up}})
	serve := func(data []byte) {
		o.on("/go/example.test/m/@v/v1.0.0.zip", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
	}
	serve(bad)
	mustRefuse(t, m, "/go/example.test/m/@v/v1.0.0.zip", statusPolicy, "checksum database")
	serve([]byte("no zip"))
	mustRefuse(t, m, "/go/example.test/m/@v/v1.0.0.zip", statusPolicy, "cannot be checked")
	serve(good)
	status, body := m.get(t, "/go/example.test/m/@v/v1.0.0.zip")
	if status != 200 || body != string(good) {
		t.Errorf("the right zip: %d %.200q", status, body)
	}
	if e := m.last(t, 3); e.Verified != "sumdb" || e.Version != "v1.0.0" {
		t.Errorf("the record says %+v", e)
	}
	mustRefuse(t, m, "/go/sumdb/other.example.test/supported", statusAbsent, "configured")
}

// A page for one project cannot bring another's files, and files without a
// hash are only taken from an index that the user configured.
func TestIndexIsNotTrusted(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.text("/pip/six/", pipJSON, pipPage("six", "../../files/evil-1.0-py3-none-any.whl", sha("x")))
	o.text("/pip/bare/", "text/html", `<a href="/files/bare-1.0.tar.gz">bare-1.0.tar.gz</a><a href="/files/bare-2.0.tar.gz#md5=0123">x</a>`)
	o.text("/files/bare-1.0.tar.gz", "", "x")
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}})
	if _, body := m.get(t, "/pip/simple/six/"); strings.Contains(body, "evil") {
		t.Errorf("a page with another project's file: %s", body)
	}
	if status, body := m.get(t, "/pip/files/bare/bare-1.0.tar.gz"); status != 200 {
		t.Errorf("no hash, configured index: %d %s", status, body)
	}
	up := o.upstream("pip")
	up.Default = true
	mustRefuse(t, open(t, Options{Upstreams: []Upstream{up}}), "/pip/files/bare/bare-1.0.tar.gz", statusPolicy, "no usable hash")
	for _, page := range []string{`[]`, `{"files":null}`, `{"files":[{"filename":7}]}`, "\x00\xff"} {
		o.text("/pip/odd/", pipJSON, page)
		if status, body := m.get(t, "/pip/simple/odd/"); status != statusFailed {
			t.Errorf("page %q: %d %s", page, status, body)
		}
	}
}
