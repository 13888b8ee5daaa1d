package gateway

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Credentials of an index go to that index and nowhere else.
func TestCredentials(t *testing.T) {
	t.Parallel()
	o, cdn := newOrigin(t), newOrigin(t)
	up, err := UpstreamAt("pip", "http://me:s3cret@"+o.Listener.Addr().String()+"/pip/", "PIP_INDEX_URL")
	if err != nil {
		t.Fatal(err)
	}
	up.Private = true
	file := "six-1.0-py3-none-any.whl"
	o.text("/pip/six/", pipJSON, pipPage("six", cdn.URL+"/"+file, sha("x")))
	cdn.text("/"+file, "", "x")
	m := open(t, Options{Upstreams: []Upstream{up, cdn.upstream("npm")}}) // npm: makes the second server a configured one
	status, page := m.get(t, "/pip/simple/six/")
	if status != 200 || strings.Contains(page, "s3cret") || strings.Contains(page, o.URL) {
		t.Errorf("%d %s", status, page)
	}
	if status, _ := m.get(t, "/pip/files/six/"+file); status != 200 {
		t.Error(status)
	}
	if user, pass, ok := o.seen[0].BasicAuth(); !ok || user != "me" || pass != "s3cret" {
		t.Errorf("the index got %q", o.seen[0].Header)
	}
	if len(cdn.seen) != 1 || cdn.seen[0].Header.Get("Authorization") != "" {
		t.Errorf("the other host got %v", cdn.seen[0].Header)
	}
	for _, e := range m.entries() {
		if strings.Contains(fmt.Sprint(e), "s3cret") {
			t.Errorf("the record has the password: %+v", e)
		}
	}
	if text := fmt.Sprint(Learned{Upstreams: []Upstream{up}}.Report()); strings.Contains(text, "s3cret") {
		t.Errorf("the report has the password: %s", text)
	}
}

func TestProxyOfTheHost(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.wheel("six", "1.0", "x")
	var seen []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.String())
		resp, err := http.Get(o.URL + r.URL.Path)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(proxy.Close)
	up := Upstream{Ecosystem: "pip", URL: "http://index.example.test/pip"}
	m := open(t, Options{Upstreams: []Upstream{up}, Environ: []string{"http_proxy=" + proxy.URL, "no_proxy=other.test"}})
	if status, body := m.get(t, "/pip/simple/six/"); status != 200 || fmt.Sprint(seen) != "[http://index.example.test/pip/six/]" {
		t.Errorf("%d %s, the proxy saw %v", status, body, seen)
	}
	// An index must not send the gateway to the proxy as if that were a registry.
	g := newGuard(Options{Environ: []string{"HTTPS_PROXY=proxy.example.test:80"}, LocalNets: noNets})
	u, _ := url.Parse("http://proxy.example.test/")
	if err := g.checkURL(u); err == nil || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("the proxy as an upstream: %v", err)
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.wheel("six", "1.0", "x")
	secure := httptest.NewTLSServer(o)
	t.Cleanup(secure.Close)
	dir := t.TempDir()
	bundle := filepath.Join(dir, "school.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(bundle, data, 0o600); err != nil {
		t.Fatal(err)
	}
	up := Upstream{Ecosystem: "pip", URL: secure.URL + "/pip", Private: true}
	for _, env := range []string{"PIP_CERT=" + bundle, "NODE_EXTRA_CA_CERTS=" + bundle, "npm_config_cafile=" + bundle, "SSL_CERT_FILE=" + bundle, "SSL_CERT_DIR=" + dir} {
		m := open(t, Options{Upstreams: []Upstream{up}, Environ: []string{env}})
		if status, body := m.get(t, "/pip/simple/six/"); status != 200 {
			t.Errorf("%s: %d %s", env, status, body)
		}
	}
	mustRefuse(t, open(t, Options{Upstreams: []Upstream{up}}), "/pip/simple/six/", statusFailed, "certificate")
	if _, err := New(Options{CacheDir: dir, Environ: []string{"PIP_CERT=" + dir + "/absent.pem"}}); err == nil || !strings.Contains(err.Error(), "PIP_CERT") {
		t.Errorf("a bundle that is not there: %v", err)
	}
}

func TestNoWayBackFromHTTPS(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	secure := httptest.NewTLSServer(o)
	t.Cleanup(secure.Close)
	o.wheel("six", "1.0", "x")
	o.on("/pip/seven/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, o.URL+"/pip/six/", http.StatusFound) })
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	write(t, bundle, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	m := open(t, Options{Environ: []string{"PIP_CERT=" + bundle}, Upstreams: []Upstream{
		{Ecosystem: "pip", URL: secure.URL + "/pip", Private: true}, o.upstream("npm"),
	}})
	mustRefuse(t, m, "/pip/simple/seven/", statusPolicy, "from https to http")
}

func TestSessionCaps(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	for _, p := range []string{"aa", "bb", "cc"} {
		o.wheel(p, "1.0", strings.Repeat("x", 3000))
	}
	ups := []Upstream{o.upstream("pip")}
	m := open(t, Options{Upstreams: ups, Limits: Limits{Names: 2}})
	m.get(t, "/pip/simple/aa/")
	m.get(t, "/pip/simple/bb/")
	mustRefuse(t, m, "/pip/simple/cc/", statusPolicy, "different packages")
	if status, _ := m.get(t, "/pip/simple/aa/"); status != 200 {
		t.Error("a known name is refused")
	}
	m = open(t, Options{Upstreams: ups, Limits: Limits{Requests: 2}})
	m.get(t, "/pip/simple/aa/")
	m.get(t, "/pip/simple/aa/")
	mustRefuse(t, m, "/pip/simple/aa/", statusPolicy, "requests")
	m = open(t, Options{Upstreams: ups, Limits: Limits{Misses: 1}})
	m.get(t, "/pip/simple/x1/")
	m.get(t, "/pip/simple/x2/")
	m.last(t, 2)
	mustRefuse(t, m, "/pip/simple/aa/", statusPolicy, "do not exist")
	m = open(t, Options{Upstreams: ups, Limits: Limits{Downloaded: 2000}})
	m.get(t, "/pip/files/aa/aa-1.0-py3-none-any.whl")
	m.last(t, 1)
	mustRefuse(t, m, "/pip/simple/aa/", statusPolicy, "in one session")
}

// What is fetched for a client counts, also when the client does not take it.
func TestFetchedCounts(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.wheel("aa", "1.0", strings.Repeat("x", 3000))
	file, half, release := o.slow("bb", strings.Repeat("y", 3000))
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}, Limits: Limits{Downloaded: 2000}})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base+"/pip/files/bb/"+file, nil)
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(req)
		left <- err
	}()
	await(t, half, "download")
	leave()
	if err := <-left; err == nil {
		t.Error("half a file was served")
	}
	if e := m.last(t, 1); !e.abandoned {
		t.Errorf("a client that left: %+v", e)
	}
	close(release)
	resp, err := http.Head(m.base + "/pip/files/aa/aa-1.0-py3-none-any.whl")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if e := m.last(t, 2); e.Bytes != 0 || e.fetched != 3000 {
		t.Errorf("a question about a file: %d bytes sent, %d fetched", e.Bytes, e.fetched)
	}
	mustRefuse(t, m, "/pip/simple/aa/", statusPolicy, "in one session")

	s := &served{g: &Gateway{limits: DefaultLimits}}
	for range abandonedMost {
		s.done(Entry{abandoned: true})
	}
	if err := s.request(); err != nil {
		t.Errorf("after %d: %v", abandonedMost, err)
	}
	s.done(Entry{abandoned: true})
	if err := s.request(); err == nil || !strings.Contains(err.Error(), "nobody waited for") {
		t.Errorf("after one more: %v", err)
	}
}

func TestAllowAndRecord(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.wheel("aa", "1.0", "x")
	var mine []Entry
	m := openSession(t, Options{Upstreams: []Upstream{o.upstream("pip")}}, Session{
		ID: "s1", Hosts: []string{"gateway.box"}, OnRequest: func(e Entry) { mine = append(mine, e) },
		Allow: func(eco, name string) error {
			if eco != "pip" || name != "aa" {
				return fmt.Errorf("%s was not asked for", name)
			}
			return nil
		},
	})
	mustRefuse(t, m, "/pip/simple/bb/", statusPolicy, "bb was not asked for")
	if o.asked("") != 0 {
		t.Error("the upstream was asked about a forbidden name")
	}
	if status, body := m.get(t, "/pip/files/aa/aa-1.0-py3-none-any.whl"); status != 200 || body != "x" {
		t.Errorf("%d %s", status, body)
	}
	m.last(t, 2)
	e := mine[1]
	if e.Session != "s1" || e.Ecosystem != "pip" || e.Name != "aa" || e.Version != "1.0" || e.Artefact != "aa-1.0-py3-none-any.whl" ||
		e.Upstream != "127.0.0.1" || e.Status != 200 || e.Bytes != 1 || e.Verified != "sha256" || e.Hash != "sha256:"+sha("x") || e.Refused != "" {
		t.Errorf("%+v", e)
	}
	if line := raw(t, m, "GET /pip/simple/aa/ HTTP/1.1\r\nHost: gateway.box:80\r\n\r\n"); !strings.Contains(line, "200") {
		t.Errorf("by the session's host name: %s", line)
	}
}

func TestHeadAndRange(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	file := o.wheel("six", "1.0", "0123456789")
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}})
	resp, err := http.Head(m.base + "/pip/files/six/" + file)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ContentLength != 10 {
		t.Errorf("HEAD: %d, %d bytes", resp.StatusCode, resp.ContentLength)
	}
	if status, body := m.get(t, "/pip/files/six/"+file, "Range", "bytes=-3"); status != 206 || body != "789" {
		t.Errorf("Range: %d %q", status, body)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want, o := range map[string]Options{
		"cache directory": {},
		"ecosystems":      {CacheDir: dir, Upstreams: []Upstream{{Ecosystem: "composer", URL: "http://example.test"}}},
		"without":         {CacheDir: dir, Upstreams: []Upstream{{Ecosystem: "pip", URL: "http://a:b@example.test"}}},
		"no http":         {CacheDir: dir, Upstreams: []Upstream{{Ecosystem: "pip", URL: "file:///x"}}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if _, err := UpstreamAt("pip", "no address", "PIP_INDEX_URL"); err == nil || !strings.Contains(err.Error(), "PIP_INDEX_URL") {
		t.Errorf("%v", err)
	}
	g, err := New(Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Setup("gem", "http://127.0.0.1:1", "/x"); err == nil || !strings.Contains(err.Error(), "gem") {
		t.Errorf("%v", err)
	}
}
