package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// mirror is a gateway on a loopback port with everything that it logged.
type mirror struct {
	*Gateway
	base string

	mu  sync.Mutex
	log []Entry
}

// entries gives what was logged so far.
func (m *mirror) entries() []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Entry{}, m.log...)
}

// last gives the newest entry; requests are logged after their answer, so it
// waits until n are there.
func (m *mirror) last(t *testing.T, n int) Entry {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if log := m.entries(); len(log) >= n {
			return log[len(log)-1]
		}
	}
	t.Fatalf("only %d of %d requests were logged", len(m.entries()), n)
	return Entry{}
}

// open makes a gateway and serves it until the test ends.
func open(t *testing.T, o Options) *mirror {
	t.Helper()
	return openSession(t, o, Session{})
}

func openSession(t *testing.T, o Options, s Session) *mirror {
	t.Helper()
	m := &mirror{}
	if o.CacheDir == "" {
		o.CacheDir = t.TempDir()
	}
	if o.Environ == nil {
		o.Environ = []string{}
	}
	o.OnRequest = func(e Entry) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.log = append(m.log, e)
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m.Gateway = g
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.base = "http://" + l.Addr().String()
	go func() { _ = g.ServeSession(l, s) }()
	t.Cleanup(func() { l.Close(); g.Close() })
	return m
}

// get asks the mirror and gives status and body.
func (m *mirror) get(t *testing.T, path string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, m.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// origin is an upstream in this process that remembers what it was asked.
type origin struct {
	*httptest.Server

	mu    sync.Mutex
	seen  []*http.Request
	pages map[string]http.HandlerFunc
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{pages: map[string]http.HandlerFunc{}}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.seen = append(o.seen, r.Clone(r.Context()))
	page := o.pages[r.URL.Path]
	o.mu.Unlock()
	if page == nil {
		http.NotFound(w, r)
		return
	}
	page(w, r)
}

func (o *origin) on(path string, h http.HandlerFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pages[path] = h
}

func (o *origin) text(path, kind, body string) {
	o.on(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	})
}

// asked counts the requests for a path, or all of them for "".
func (o *origin) asked(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, r := range o.seen {
		if path == "" || r.URL.Path == path {
			n++
		}
	}
	return n
}

// upstream is the origin as a configured, private index.
func (o *origin) upstream(eco string) Upstream {
	return Upstream{Ecosystem: eco, URL: o.URL + "/" + eco, Origin: "test", Private: true}
}

func sha(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// wheel publishes a project with one wheel and gives the wheel's name.
func (o *origin) wheel(project, version, content string) string {
	file := fmt.Sprintf("%s-%s-py3-none-any.whl", strings.ReplaceAll(project, "-", "_"), version)
	o.text("/pip/"+project+"/", pipJSON, pipPage(project, "../../files/"+file, sha(content)))
	o.text("/files/"+file, "application/octet-stream", content)
	return file
}

func pipPage(project, url, sha256 string) string {
	name := url[strings.LastIndexByte(url, '/')+1:]
	return fmt.Sprintf(`{"meta":{"api-version":"1.0"},"name":%q,"files":[{"filename":%q,"url":%q,"hashes":{"sha256":%q}}]}`,
		project, name, url, sha256)
}

// mustRefuse checks status, sentence and record of a refused request.
func mustRefuse(t *testing.T, m *mirror, path string, status int, word string) {
	t.Helper()
	before := len(m.entries())
	got, body := m.get(t, path)
	if got != status || !strings.Contains(body, word) {
		t.Errorf("GET %.120s: got %d %q, want %d with %q", path, got, body, status, word)
	}
	if e := m.last(t, before+1); e.Refused == "" || e.Status != status {
		t.Errorf("GET %.120s: the record says %d %q", path, e.Status, e.Refused)
	}
}

func noNets() []netip.Prefix { return nil }
