package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// errOffline is the cause when nothing may be, or could be, fetched.
var errOffline = errors.New("no network")

// page is an index page in the cache.
type page struct {
	head pageHead
	body []byte
	// checked is when the upstream last confirmed the page.
	checked time.Time
	stale   bool // served although the upstream could not be asked
	hit     bool // served without a request
}

type pageHead struct {
	URL      string        `json:"url"`
	Name     string        `json:"name"`
	Type     string        `json:"type"`
	ETag     string        `json:"etag,omitempty"`
	Modified string        `json:"modified,omitempty"`
	MaxAge   time.Duration `json:"max_age,omitempty"`
}

// wanted says which page is wanted.
type wanted struct {
	eco, name, url, accept string
	up                     *Upstream
	// renew asks the upstream although the page is fresh.
	renew bool
	// anyAge takes a page from the cache however old it is: for pages that
	// never change, and for what a page says about a version.
	anyAge bool
	// shape turns the upstream's page into what is kept; nil keeps it.
	shape func(head pageHead, body []byte) ([]byte, error)
}

func (w wanted) key() string { return w.eco + "\n" + w.url + "\n" + w.accept }

// have gives a page of any age if it is in the cache.
func (g *Gateway) have(w wanted) (*page, bool) {
	p, err := g.store.page(w)
	if err != nil {
		return nil, false
	}
	p.hit = true
	return p, true
}

// page gives a page from the cache or from the upstream. Pages that the
// upstream cannot deliver now are served as they were.
func (g *Gateway) page(ctx context.Context, w wanted) (*page, error) {
	v, err, _ := g.flight.Do(fmt.Sprint("page\n", w.key(), w.renew, w.anyAge), func() (any, error) {
		if !g.begin() {
			return nil, errClosed
		}
		defer g.wg.Done()
		return g.freshPage(g.life, w)
	})
	if err != nil {
		return nil, err
	}
	return v.(*page), ctx.Err()
}

func (g *Gateway) freshPage(ctx context.Context, w wanted) (*page, error) {
	have, err := g.store.page(w)
	if err == nil && !w.renew && (w.anyAge || g.fresh(have)) {
		have.hit = true
		return have, nil
	}
	got, failed := g.fetchPage(ctx, w, have)
	if failed == nil {
		return got, nil
	}
	var r *refusal
	if have == nil || errors.As(failed, &r) && r.status != statusFailed {
		return nil, failed
	}
	have.hit, have.stale = true, true
	return have, nil
}

func (g *Gateway) fresh(p *page) bool {
	life := min(max(p.head.MaxAge, g.limits.Fresh), g.limits.FreshMost)
	age := g.opts.Now().Sub(p.checked)
	return age >= 0 && age < life
}

func (g *Gateway) fetchPage(ctx context.Context, w wanted, have *page) (*page, error) {
	f := fetch{url: w.url, up: w.up, accept: w.accept, gzip: true, max: g.limits.Page, within: g.limits.PageTime}
	if have != nil {
		f.etag, f.modified = have.head.ETag, have.head.Modified
	}
	resp, err := g.get(ctx, f)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && have != nil:
		return have, g.store.confirm(w, have)
	case resp.StatusCode == http.StatusOK:
		return g.keepPage(w, resp)
	}
	return nil, badStatus(resp.StatusCode, w.name)
}

// badStatus says what an upstream's status means for the client.
func badStatus(status int, name string) error {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return refuse(statusAbsent, "the index has no %s", name)
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return &refusal{status: statusFailed, denied: true, reason: fmt.Sprintf(
			"the index does not let us have %s (status %d); check the credentials in its configuration", name, status)}
	}
	return refuse(statusFailed, "the index answered %d for %s", status, name)
}

func (g *Gateway) keepPage(w wanted, resp *http.Response) (*page, error) {
	body, err := readPage(resp, g.limits.Page)
	if err != nil {
		return nil, err
	}
	p := &page{checked: g.opts.Now(), body: body, head: pageHead{
		URL: resp.Request.URL.String(), Name: w.name, Type: resp.Header.Get("Content-Type"),
		ETag: resp.Header.Get("ETag"), Modified: resp.Header.Get("Last-Modified"), MaxAge: maxAge(resp.Header),
	}}
	if w.shape != nil {
		if p.body, err = w.shape(p.head, body); err != nil {
			var r *refusal
			if errors.As(err, &r) {
				return nil, err
			}
			return nil, refuse(statusFailed, "the index's page for %s cannot be read: %v", w.name, err)
		}
	}
	return p, g.store.keepPage(w, p)
}

// readPage reads a body, unpacking it within max bytes.
func readPage(resp *http.Response, max int64) ([]byte, error) {
	var src io.Reader = resp.Body
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(bufio.NewReader(resp.Body))
		if err != nil {
			var r *refusal
			if errors.As(err, &r) {
				return nil, err
			}
			return nil, refuse(statusFailed, "the index's page is not the gzip that it says: %v", err)
		}
		src = z
	}
	body, err := io.ReadAll(io.LimitReader(src, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > max {
		return nil, refuse(statusPolicy, "the index's page is larger than the limit of %s", size(max))
	}
	return body, nil
}

func maxAge(h http.Header) time.Duration {
	for _, part := range strings.Split(h.Get("Cache-Control"), ",") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(part), "max-age="); ok {
			if n, err := strconv.Atoi(v); err == nil && n > 0 {
				return time.Duration(min(n, 1<<30)) * time.Second
			}
		}
	}
	return 0
}

func (s *store) pagePath(w wanted) string {
	return filepath.Join(s.dir, "pages", w.eco, fileName(w.name, w.key()))
}

func (s *store) page(w wanted) (*page, error) {
	path := s.pagePath(w)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	line, body, ok := bytes.Cut(data, []byte("\n"))
	p := &page{body: body, checked: info.ModTime()}
	if !ok || json.Unmarshal(line, &p.head) != nil {
		return nil, fmt.Errorf("%s is no page", path)
	}
	return p, nil
}

func (s *store) keepPage(w wanted, p *page) error {
	head, err := json.Marshal(p.head)
	if err != nil {
		return err
	}
	if err := s.writeWhole(s.pagePath(w), head, []byte("\n"), p.body); err != nil {
		return err
	}
	return s.confirm(w, p)
}

// confirm notes that the page is what the upstream has now.
func (s *store) confirm(w wanted, p *page) error {
	p.checked = s.now()
	return os.Chtimes(s.pagePath(w), p.checked, p.checked)
}

// memory keeps what pages say, parsed, for the artefact requests that follow.
type memory struct {
	mu   sync.Mutex
	kept map[string]parsed
}

type parsed struct {
	checked time.Time
	value   any
}

// memoryMost is how many parsed pages are kept; one installation asks for a
// few dozen.
const memoryMost = 128

// of gives the parsed form of a page.
func (m *memory) of(key string, p *page, parse func([]byte) (any, error)) (any, error) {
	m.mu.Lock()
	have, ok := m.kept[key]
	m.mu.Unlock()
	if ok && have.checked.Equal(p.checked) {
		return have.value, nil
	}
	v, err := parse(p.body)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil || len(m.kept) >= memoryMost {
		m.kept = map[string]parsed{}
	}
	m.kept[key] = parsed{p.checked, v}
	return v, nil
}
