package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// raw sends bytes as they are and gives the status line, or "" when the
// connection was closed without one.
func raw(t *testing.T, m *mirror, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(m.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestOnlyReading(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.wheel("six", "1.0", "x")
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}})
	for i, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "MKCOL", "PROPFIND"} {
		line := raw(t, m, method+" /pip/simple/six/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if !strings.Contains(line, "405") {
			t.Errorf("%s: %q", method, line)
		}
		if e := m.last(t, i+1); e.Refused == "" || e.Method != method {
			t.Errorf("%s is not in the record: %+v", method, e)
		}
	}
	if line := raw(t, m, "CONNECT example.test:443 HTTP/1.1\r\nHost: example.test:443\r\n\r\n"); !strings.Contains(line, "405") {
		t.Errorf("CONNECT: %q", line)
	}
	if n := o.asked(""); n != 0 {
		t.Errorf("the upstream got %d requests", n)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.wheel("six", "1.0", "x")
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}})
	const host = "Host: 127.0.0.1\r\n"
	for name, text := range map[string]string{
		"absolute form":      "GET http://127.0.0.1/pip/simple/six/ HTTP/1.1\r\n" + host,
		"absolute elsewhere": "GET http://example.test/ HTTP/1.1\r\nHost: example.test\r\n",
		"another host":       "GET /pip/simple/six/ HTTP/1.1\r\nHost: example.test\r\n",
		"host with dot":      "GET /pip/simple/six/ HTTP/1.1\r\nHost: localhost.\r\n",
		"odd loopback":       "GET /pip/simple/six/ HTTP/1.1\r\nHost: 0x7f.1\r\n",
		"length":             "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "Content-Length: 5\r\n",
		"chunked":            "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n",
		"both":               "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"two lengths":        "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "Content-Length: 5\r\nContent-Length: 6\r\n",
		"odd chunked":        "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n",
		"space before colon": "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "Transfer-Encoding : chunked\r\n",
		"folded header":      "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "X: a\r\n\tTransfer-Encoding: chunked\r\nUpgrade: h2c\r\n",
		"upgrade":            "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
		"websocket":          "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: websocket\r\n",
		"expect":             "GET /pip/simple/six/ HTTP/1.1\r\n" + host + "Expect: 100-continue\r\n",
		"query":              "GET /pip/simple/six/?secret=1 HTTP/1.1\r\n" + host,
		"empty query":        "GET /pip/simple/six/? HTTP/1.1\r\n" + host,
		"dots":               "GET /pip/simple/../simple/six/ HTTP/1.1\r\n" + host,
		"escaped dots":       "GET /pip/simple/%2e%2e/six/ HTTP/1.1\r\n" + host,
		"null":               "GET /pip/simple/six%00/ HTTP/1.1\r\n" + host,
		"double slash":       "GET //pip/simple/six/ HTTP/1.1\r\n" + host,
		"backslash":          "GET /pip/simple/six%5c/ HTTP/1.1\r\n" + host,
		"no host":            "GET /pip/simple/six/ HTTP/1.1\r\n",
		"long":               "GET /pip/simple/" + strings.Repeat("a", 2000) + "/ HTTP/1.1\r\n" + host,
		"http2":              "PRI * HTTP/2.0\r\n\r\nSM\r\n",
	} {
		line := raw(t, m, text+"\r\n")
		if strings.Contains(line, " 2") || strings.Contains(line, " 3") || line == "" {
			t.Errorf("%s: %q", name, line)
		}
	}
	if n := o.asked(""); n != 0 {
		t.Errorf("the upstream got %d requests", n)
	}
	if status, _ := m.get(t, "/pip/simple/six/"); status != 200 {
		t.Errorf("an honest request got %d", status)
	}
}

// A second request hidden behind a refused one must not be answered.
func TestNothingRidesAlong(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.wheel("six", "1.0", "x")
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}})
	c, err := net.Dial("tcp", strings.TrimPrefix(m.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	hidden := "GET /pip/simple/six/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
	fmt.Fprintf(c, "POST /pip/simple/six/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", hidden)
	all, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, net.ErrClosed) && len(all) == 0 {
		t.Fatal(err)
	}
	if n := bytes.Count(all, []byte("HTTP/1.1 ")); n != 1 || o.asked("") != 0 {
		t.Errorf("%d answers, %d requests to the upstream:\n%s", n, o.asked(""), all)
	}
}

func TestNothingOfTheClientIsPassedOn(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	file := o.wheel("six", "1.0", "x")
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}})
	secret := []string{"Cookie", "a=secret", "Authorization", "Basic secret", "X-Secret", "secret", "User-Agent", "secret",
		"Referer", "secret", "X-Forwarded-For", "secret", "If-None-Match", "secret", "Accept", "secret", "Range", "bytes=0-0"}
	m.get(t, "/pip/simple/six/", secret...)
	m.get(t, "/pip/files/six/"+file, secret...)
	if o.asked("") != 2 {
		t.Fatalf("the upstream got %d requests", o.asked(""))
	}
	for _, r := range o.seen {
		for name, values := range r.Header {
			if !slices.Contains([]string{"Accept", "Accept-Encoding", "User-Agent"}, name) || strings.Contains(fmt.Sprint(values), "secret") {
				t.Errorf("%s: the upstream saw %s: %v", r.URL.Path, name, values)
			}
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	var ups []Upstream
	for _, eco := range ecosystems {
		up := o.upstream(eco)
		up.Source = []Field{{"Suites", "x"}}
		ups = append(ups, up)
	}
	m := open(t, Options{Upstreams: ups})
	long := strings.Repeat("a", 230)
	archive := "/apt/" + aptID(o.upstream("apt"))
	for _, path := range []string{
		"/pip/simple/-x/", "/pip/simple/" + long + "/", "/pip/simple/a%20b/", "/pip/simple/a%2fb/", "/pip/simple/%C3%BCber/",
		"/pip/simple/x;id/", "/pip/simple/$(id)/", "/pip/files/six/evil.sh", "/pip/files/six/../x.whl", "/pip/files/six/.whl",
		"/npm/.x", "/npm/_x", "/npm/@/x", "/npm/@a%2f", "/npm/@a%2f.b", "/npm/a%2fb", "/npm/" + long, "/npm/x/-/%2e%2e%2fy.tgz", "/npm/a=b",
		"/go/X.test/@v/list", "/go/example.test/a@b/@v/list", "/go/" + long + long + ".test/@v/list", "/go/nodot/@v/list", "/go/example.test/x/@v/a%2fb.zip",
		"/go/example.test/.x/@latest", "/go/example.test/x/@v/%2e%2e.zip",
		"/cargo/se/rd/serde/x", "/cargo/ab/cd/serde", "/cargo/dl/ser%2fde/1.0.0/download", "/cargo/dl/serde/x/download", "/cargo/dl/1x/1.0.0/download",
		"/cargo/1/-", "/cargo/" + long[:2] + "/" + long[:2] + "/" + long,
		"/gem/info/a%2fb", "/gem/info/-x", "/gem/gems/x.sh", "/gem/info/" + long,
		archive + "/dists/../x", archive + "/pool/evil.sh", archive + "/pool/UPPER_1_amd64.deb", archive + "/dists/x/by-hash/SHA256/xyz",
		archive + "/dists/a%20b/InRelease", archive + "/pool/a_1_amd64.deb/x", archive + "/pool/" + long + "_1_amd64.deb", "/apt/00000000/dists/x/InRelease",
		"/other/x", "/", "/pip", "/npm/", "/pip/simple/",
	} {
		status, body := m.get(t, path)
		if status != statusGrammar && status != statusAbsent || !strings.HasPrefix(body, "kintsugi gateway: ") {
			t.Errorf("%.80s: %d %q", path, status, body)
		}
	}
	if n := o.asked(""); n != 0 {
		t.Errorf("the upstream got %d requests: %v", n, o.seen[0].URL)
	}
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "203.0.113.7": true, "2606:4700::1": true, "64:ff9b::808:808": true,
		"127.0.0.1": false, "127.8.8.8": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false,
		"192.168.1.1": false, "169.254.169.254": false, "100.100.100.200": false, "224.0.0.1": false, "255.255.255.255": false,
		"198.18.0.1": false, "192.0.0.8": false, "::": false, "::1": false, "fe80::1": false, "fd00:ec2::254": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:8.8.8.8": true, "64:ff9b::a00:1": false, "64:ff9b::7f00:1": false,
		"2002:7f00:1::": false, "2001::1": false, "::7f00:1": false, "fec0::1": false,
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: public is %v", addr, got)
		}
	}
}

func TestSpellingOfHosts(t *testing.T) {
	t.Parallel()
	g := newGuard(Options{LocalNets: noNets})
	for _, addr := range []string{
		"http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://[::1]/",
		"http://[::ffff:10.0.0.1]/", "http://8.8.8.8/", "http://example.test./", "http://localhost/", "http://a.localhost/",
		"http://metadata.google.internal/", "http://printer.local/", "http://user@example.test/", "http://user:pw@example.test/",
		"ftp://example.test/", "file:///etc/passwd", "http://example.test:22/", "http://example.test:65536/", "http://exa_mple/", "http://-a.test/",
		"http://" + strings.Repeat("a", 64) + ".test/", "http://ex%00ample.test/", "http://müller.test/", "http://example..test/", "http:///x",
		"gopher://example.test/", "http://example.test:80@127.0.0.1/", "http://1.2.3.4.5/", "http://example.0x7f/", "//example.test/", "/x",
	} {
		u, err := url.Parse(addr)
		if err == nil {
			err = g.checkURL(u)
		}
		if err == nil {
			t.Errorf("%s is let through", addr)
		}
	}
	for _, addr := range []string{"https://example.test/a", "http://Files.Example.TEST:80/b?c=d", "https://xn--mller-kva.test/", "https://a_b.example.test/"} {
		u, _ := url.Parse(addr)
		if err := g.checkURL(u); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// fakeNet resolves names by a table and connects every address to one server,
// noting what was dialled.
type fakeNet struct {
	to    string
	hosts map[string][][]string // answers, one after the other; the last stays

	mu     sync.Mutex
	dialed []string
	asked  map[string]int
}

func (f *fakeNet) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answers := f.hosts[host]
	if answers == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	n := min(f.asked[host], len(answers)-1)
	f.asked[host]++
	var out []netip.Addr
	for _, a := range answers[n] {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func (f *fakeNet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	f.mu.Lock()
	f.dialed = append(f.dialed, addr)
	f.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, f.to)
}

// public makes options whose index has a public name and leads to the origin.
func publicOptions(o *origin, f *fakeNet, eco string) Options {
	f.to = o.Listener.Addr().String()
	return Options{
		Upstreams: []Upstream{{Ecosystem: eco, URL: "http://index.example.test/" + eco, Default: true}},
		Resolve:   f.resolve, Dial: f.dial, LocalNets: noNets,
	}
}

func TestRebinding(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.wheel("six", "1.0", "x")
	f := &fakeNet{hosts: map[string][][]string{"index.example.test": {{"203.0.113.9", "10.0.0.1"}, {"127.0.0.1"}}}}
	opts := publicOptions(o, f, "pip")
	m := open(t, opts)
	if status, body := m.get(t, "/pip/simple/six/"); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	m.client.CloseIdleConnections()
	mustRefuse(t, m, "/pip/simple/seven/", statusPolicy, "private address")
	if got := fmt.Sprint(f.dialed); got != "[203.0.113.9:80]" {
		t.Errorf("dialled %s, want only the address that was checked", got)
	}
}

func TestOwnNetworksAreClosed(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	f := &fakeNet{hosts: map[string][][]string{"index.example.test": {{"203.0.113.9"}}}}
	opts := publicOptions(o, f, "pip")
	opts.LocalNets = func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")} }
	m := open(t, opts)
	mustRefuse(t, m, "/pip/simple/six/", statusPolicy, "private address")
	if len(systemNets()) == 0 {
		t.Error("this machine is part of no network, not even its own")
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	o, inner := newOrigin(t), newOrigin(t)
	inner.wheel("six", "1.0", "secret of the school")
	f := &fakeNet{hosts: map[string][][]string{
		"index.example.test": {{"203.0.113.9"}}, "cdn.example.test": {{"203.0.113.10"}},
		"metadata.example.test": {{"169.254.169.254"}}, "inner.example.test": {{"10.0.0.5"}},
	}}
	m := open(t, publicOptions(o, f, "pip"))
	for to, word := range map[string]string{
		inner.URL + "/pip/six/":                       "port",
		"http://127.0.0.1/":                           "address",
		"http://169.254.169.254/latest/meta-data/":    "address",
		"http://[fd00:ec2::254]/":                     "host name",
		"http://metadata.example.test/":               "private address",
		"http://inner.example.test/":                  "private address",
		"http://0x7f000001/":                          "host name",
		"http://017700000001/":                        "host name",
		"ftp://cdn.example.test/":                     "http",
		"http://user:pw@cdn.example.test/":            "credentials",
		"http://index.example.test:6379/":             "port",
		"/pip/loop/":                                  "redirects",
		"javascript:alert(1)":                         "http",
		"http://cdn.example.test\r\nX-Injected: 1/":   "",
		"http://metadata.google.internal/computeMeta": "private network",
	} {
		o.on("/pip/loop/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		status, body := m.get(t, "/pip/simple/loop/")
		if status < 400 || !strings.Contains(body, word) {
			t.Errorf("redirect to %q: %d %q, want %q", to, status, body, word)
		}
	}
	for _, addr := range f.dialed {
		if addr != "203.0.113.9:80" && addr != "203.0.113.10:80" {
			t.Errorf("dialled %s", addr)
		}
	}
	if inner.asked("") != 0 {
		t.Error("a redirect reached the inner server")
	}
	o.on("/pip/six/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://cdn.example.test/moved", http.StatusMovedPermanently)
	})
	o.text("/moved", pipJSON, pipPage("six", "six-1.0-py3-none-any.whl", sha("x")))
	if status, body := m.get(t, "/pip/simple/six/"); status != 200 {
		t.Errorf("an honest redirect: %d %s", status, body)
	}
}

// The index itself may point its files anywhere: only public places count.
func TestFileAddresses(t *testing.T) {
	t.Parallel()
	o, inner := newOrigin(t), newOrigin(t)
	inner.text("/x/six-1.0-py3-none-any.whl", "", "inner")
	f := &fakeNet{hosts: map[string][][]string{"index.example.test": {{"203.0.113.9"}}, "inner.example.test": {{"192.168.0.1"}}}}
	m := open(t, publicOptions(o, f, "pip"))
	for i, dir := range []string{
		inner.URL + "/x/", "http://127.0.0.1:80/", "http://inner.example.test/", "file:///etc/", "http://2130706433/", "http://a@index.example.test/", "\\\\host\\share/",
	} {
		name := fmt.Sprintf("p%d", i)
		o.text("/pip/"+name+"/", pipJSON, pipPage(name, dir+name+"-1.0-py3-none-any.whl", sha("inner")))
		if status, body := m.get(t, "/pip/files/"+name+"/"+name+"-1.0-py3-none-any.whl"); status < 400 {
			t.Errorf("%s: %d %q", dir, status, body)
		}
	}
	if inner.asked("") != 0 {
		t.Error("a file address reached the inner server")
	}
}

func TestBombs(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	quick := Limits{
		Page: 64 << 10, Artefact: 256 << 10, Stall: time.Second, Connect: time.Second, PageTime: 5 * time.Second, FileTime: 5 * time.Second, MinRate: 4 << 10,
	}
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}, Limits: quick})
	for name, bomb := range bombs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project := strings.ReplaceAll(name, " ", "-")
			o.on("/pip/"+project+"-page/", bomb.serve)
			file := strings.ReplaceAll(project, "-", "_") + "-1.0-py3-none-any.whl"
			o.text("/pip/"+project+"/", pipJSON, pipPage(project, "../../bomb/"+file, sha(project)))
			o.on("/bomb/"+file, bomb.serve)
			for _, path := range []string{"/pip/simple/" + project + "-page/", "/pip/files/" + project + "/" + file} {
				start := time.Now()
				status, body := m.get(t, path)
				if status < 400 || time.Since(start) > 15*time.Second || !strings.Contains(body, bomb.word) && !strings.Contains(body, bomb.fileWord) {
					t.Errorf("%s: %d after %v: %.200s", path, status, time.Since(start), body)
				}
			}
		})
	}
	t.Cleanup(func() {
		if in, err := m.Info(); err != nil || in.Artefacts != 0 {
			t.Errorf("the cache has %+v, %v", in, err)
		}
	})
}

// bomb is a hostile answer, with a word of what is said of it as an index page
// and as an artefact.
type bomb struct {
	word, fileWord string
	serve          http.HandlerFunc
}

// packedZeros is a megabyte in a thousand bytes; such parts may follow each
// other.
func packedZeros() []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	return buf.Bytes()
}

func bombs() map[string]bomb {
	forever := func(w http.ResponseWriter, r *http.Request, chunk []byte, pause time.Duration) {
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
			}
		}
	}
	zeros := packedZeros()
	return map[string]bomb{
		"endless": {"larger than", "larger than", func(w http.ResponseWriter, r *http.Request) { forever(w, r, make([]byte, 32<<10), 0) }},
		"drip":    {"slower than", "slower than", func(w http.ResponseWriter, r *http.Request) { forever(w, r, []byte("x"), 100*time.Millisecond) }},
		"stall":   {"nothing came", "nothing came", func(w http.ResponseWriter, r *http.Request) { forever(w, r, []byte("x"), time.Minute) }},
		"large": {"larger than", "larger than", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999999")
			w.WriteHeader(http.StatusOK)
		}},
		"gzip": {"larger than", "larger than", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			forever(w, r, zeros, 0)
		}},
		"short": {"broke off", "broke off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "x")
		}},
		"no gzip": {"not the gzip", "not what the index says", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "plain")
		}},
		"long head": {"headers", "headers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 200<<10))
		}},
		"silent": {"timeout", "timeout", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	}
}
