package gateway

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// request is a client's request after the checks that all ecosystems share.
type request struct {
	method string
	path   []string // unescaped elements after the ecosystem
	accept string
	whole  bool   // no part of the resource is asked for, and it is not a HEAD
	base   string // address of the ecosystem as the client sees it
	sess   *served
	entry  *Entry
}

// answer is what a client gets.
type answer struct {
	body     io.ReadSeeker
	size     int64  // of an artefact, in bytes
	kind     string // Content-Type
	modified time.Time
	close    func()
}

func bytesAnswer(kind string, body []byte) answer {
	return answer{body: bytes.NewReader(body), kind: kind}
}

// pageAnswer serves a page as it is in the cache.
func pageAnswer(p *page, e *Entry) answer {
	e.Hit, e.Stale = p.hit, p.stale
	a := bytesAnswer(p.head.Type, p.body)
	a.modified, _ = http.ParseTime(p.head.Modified)
	return a
}

// maxPath bounds the path of a request: the longest honest ones are file names
// with a scope and a version.
const maxPath = 1024

// ServeHTTP answers one request and records it.
func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.g.begin() {
		http.Error(w, errClosed.Error(), statusFailed)
		return
	}
	defer s.g.wg.Done()
	start := time.Now()
	e := Entry{Time: s.g.opts.Now(), Session: s.ID, Method: r.Method, Path: clip(r.URL.EscapedPath(), 256)}
	out := &counted{ResponseWriter: w}
	a, err := s.answer(r, &e)
	if err != nil {
		writeRefusal(out, asRefusal(err), &e)
	} else {
		writeAnswer(out, r, a)
	}
	e.Status, e.Bytes, e.Duration = out.status, out.n, time.Since(start)
	s.done(e)
}

func clip(s string, n int) string { return s[:min(len(s), n)] }

func (s *served) answer(r *http.Request, e *Entry) (answer, error) {
	if err := s.request(); err != nil {
		return answer{}, err
	}
	if err := s.checkForm(r); err != nil {
		return answer{}, err
	}
	path, err := elements(r.URL.EscapedPath())
	if err != nil {
		return answer{}, err
	}
	e.Ecosystem = path[0]
	a, ok := s.g.adapters[path[0]]
	if !ok {
		e.Ecosystem = ""
		return answer{}, refuse(statusAbsent, "nothing is served here; paths begin with an ecosystem that has a configured index")
	}
	return a.serve(r.Context(), &request{
		method: r.Method, path: path[1:], accept: r.Header.Get("Accept"),
		whole: r.Method == http.MethodGet && r.Header.Get("Range") == "",
		base:  "http://" + r.Host + "/" + path[0], sess: s, entry: e,
	})
}

// checkForm refuses everything but a plain request for a resource of ours.
func (s *served) checkForm(r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return refuse(http.StatusMethodNotAllowed, "%s is not possible: this mirror is for reading", clip(r.Method, 16))
	}
	if !strings.HasPrefix(r.RequestURI, "/") || r.URL.Host != "" {
		return refuse(statusGrammar, "this is a mirror, not a proxy: ask for a path")
	}
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return refuse(statusGrammar, "a request with a body")
	}
	for _, h := range []string{"Upgrade", "Http2-Settings", "Expect", "Content-Length", "Transfer-Encoding", "Trailer"} {
		if len(r.Header[h]) > 0 && !(h == "Content-Length" && r.Header.Get(h) == "0") {
			return refuse(statusGrammar, "a request with %s", h)
		}
	}
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return refuse(statusGrammar, "a request with a query")
	}
	return s.checkHostHeader(r.Host)
}

func (s *served) checkHostHeader(host string) error {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if name == "127.0.0.1" || name == "localhost" || name == "[::1]" || name == "::1" || slices.Contains(s.Hosts, name) {
		return nil
	}
	return refuse(statusGrammar, "a request for the host %.80q, which is not this mirror", name)
}

// elements splits an escaped path; the first is the ecosystem.
func elements(escaped string) ([]string, error) {
	if len(escaped) > maxPath {
		return nil, refuse(statusGrammar, "a path of more than %d bytes", maxPath)
	}
	parts := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	for i, p := range parts {
		u, err := url.PathUnescape(p)
		if err != nil || u == "." || u == ".." || u == "" && i < len(parts)-1 || strings.ContainsFunc(u, unprintable) {
			return nil, refuse(statusGrammar, "a path that no package manager asks for")
		}
		parts[i] = u
	}
	return parts, nil
}

func unprintable(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }

// counted notes status and size of an answer.
type counted struct {
	http.ResponseWriter
	status int
	n      int64
}

func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n += int64(n)
	return n, err
}

// ReadFrom lets files go to the socket without passing through memory.
func (c *counted) ReadFrom(src io.Reader) (int64, error) {
	n, err := io.Copy(c.ResponseWriter, src)
	c.n += n
	return n, err
}

func writeRefusal(w http.ResponseWriter, r *refusal, e *Entry) {
	e.Refused = r.reason
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if r.status == http.StatusMethodNotAllowed {
		h.Set("Allow", "GET, HEAD")
	}
	if r.status == http.StatusMethodNotAllowed || r.status == statusGrammar {
		h.Set("Connection", "close") // what follows on this connection cannot be trusted
	}
	w.WriteHeader(r.status)
	if e.Method != http.MethodHead {
		_, _ = io.WriteString(w, "kintsugi gateway: "+r.reason+"\n")
	}
}

func writeAnswer(w http.ResponseWriter, r *http.Request, a answer) {
	if a.close != nil {
		defer a.close()
	}
	if a.kind == "" {
		a.kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", a.kind)
	http.ServeContent(w, r, "", a.modified, a.body)
}

// tell fills in what a request is about and checks the name with the session.
func (r *request) tell(name, version, file string) error {
	r.entry.Name, r.entry.Version, r.entry.Artefact = name, version, file
	return r.sess.name(r.entry.Ecosystem, name)
}

// notOurs is the answer to a path that the protocol does not have.
func notOurs(r *request) (answer, error) {
	return answer{}, refuse(statusAbsent, "%s has no such path here", r.entry.Ecosystem)
}
