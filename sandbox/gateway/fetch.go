package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// fetch is one request to an upstream.
type fetch struct {
	url    string
	up     *Upstream // whose credentials and address the request may use
	accept string
	// gzip lets the upstream compress; off for artefacts, whose bytes count.
	gzip           bool
	etag, modified string // of what we have
	max            int64  // bytes of the body on the wire
	within         time.Duration
}

// tries is how often a request is made when the upstream fails in a way that
// may pass, with a pause in between.
const tries = 3

const retryPause = 300 * time.Millisecond

// get makes the request and gives a response whose body is bounded in size,
// time and slowness. The caller closes it.
func (g *Gateway) get(ctx context.Context, f fetch) (*http.Response, error) {
	if g.opts.Offline {
		return nil, errOffline
	}
	if err := g.slot(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.within)
	release := sync.OnceFunc(func() { cancel(); <-g.fetches })
	resp, err := g.retry(ctx, f)
	if err != nil {
		release()
		return nil, err
	}
	if resp.ContentLength > f.max {
		resp.Body.Close()
		release()
		return nil, tooLarge(f.max)
	}
	resp.Body = g.watch(resp.Body, f.max, release)
	return resp, nil
}

func (g *Gateway) slot(ctx context.Context) error {
	select {
	case g.fetches <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Gateway) retry(ctx context.Context, f fetch) (*http.Response, error) {
	for try := 1; ; try++ {
		resp, err := g.follow(ctx, f)
		if err != nil && ctx.Err() != nil {
			return nil, refuse(statusFailed, "the index took longer than %s", f.within)
		}
		if try == tries || !passing(resp, err) {
			return resp, err
		}
		if resp != nil {
			resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return nil, refuse(statusFailed, "the index took longer than %s", f.within)
		case <-time.After(retryPause * time.Duration(try)):
		}
	}
}

// passing says whether another try may help: broken connections and servers
// that are overloaded, but neither rules nor time-outs.
func passing(resp *http.Response, err error) bool {
	if err == nil {
		return resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
	}
	var r *refusal
	var n net.Error
	var c *tls.CertificateVerificationError
	return !errors.As(err, &r) && !errors.As(err, &c) && !(errors.As(err, &n) && n.Timeout()) && !unreachable(err)
}

// unreachable says whether the network, rather than the server, is at fault.
func unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.Is(err, errOffline) || errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

// follow makes the request and follows redirects, checking each address anew.
func (g *Gateway) follow(ctx context.Context, f fetch) (*http.Response, error) {
	at, err := url.Parse(f.url)
	if err != nil {
		return nil, refuse(statusPolicy, "the index gave an address that cannot be read")
	}
	for range g.limits.Redirects + 1 {
		resp, err := g.once(ctx, at, f)
		if err != nil {
			return nil, err
		}
		next, err := redirect(resp, at)
		if err != nil || next == nil {
			return resp, err
		}
		at = next
	}
	return nil, refuse(statusPolicy, "more than %d redirects", g.limits.Redirects)
}

// redirect gives where a response sends us, or nil when it is the answer.
func redirect(resp *http.Response, at *url.URL) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	resp.Body.Close()
	next, err := at.Parse(resp.Header.Get("Location"))
	if err != nil {
		return nil, refuse(statusPolicy, "a redirect to an address that cannot be read")
	}
	if at.Scheme == "https" && next.Scheme != "https" {
		return nil, refuse(statusPolicy, "a redirect from https to %s", next.Scheme)
	}
	return next, nil
}

func (g *Gateway) once(ctx context.Context, at *url.URL, f fetch) (*http.Response, error) {
	if err := g.guard.checkURL(at); err != nil {
		return nil, err
	}
	hp := hostPort(at)
	if g.down.is(hp) {
		return nil, fmt.Errorf("%s did not answer a moment ago: %w", at.Hostname(), errOffline)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, refuse(statusPolicy, "the index gave an address that cannot be asked")
	}
	setHeaders(req, f)
	resp, err := g.client.Do(req)
	if err != nil {
		if unreachable(err) {
			g.down.mark(hp)
		}
		return nil, plain(err)
	}
	return resp, nil
}

// setHeaders sets everything that an upstream gets to see. Credentials go to
// the host and port that they were configured for and nowhere else.
func setHeaders(req *http.Request, f fetch) {
	set := func(name, value string) {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("User-Agent", "kintsugi")
	req.Header.Set("Accept-Encoding", map[bool]string{true: "gzip", false: "identity"}[f.gzip])
	set("Accept", f.accept)
	set("If-None-Match", f.etag)
	set("If-Modified-Since", f.modified)
	if f.up == nil || f.up.Auth == "" {
		return
	}
	if home, err := url.Parse(f.up.URL); err == nil && home.Scheme == req.URL.Scheme && hostPort(home) == hostPort(req.URL) {
		req.Header.Set("Authorization", f.up.Auth)
	}
}

// plain drops the method and the address that the client library puts in
// front of an error: the address may hold what is none of the box's business.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// hosts remembers which hosts could not be reached, so that a missing network
// costs one time-out and not one for each package.
type hosts struct {
	now func() time.Time
	mu  sync.Mutex
	bad map[string]time.Time
}

const downFor = 15 * time.Second

func (h *hosts) mark(host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bad == nil {
		h.bad = map[string]time.Time{}
	}
	h.bad[host] = h.now()
}

func (h *hosts) is(host string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, ok := h.bad[host]
	return ok && h.now().Sub(at) < downFor
}

func tooLarge(max int64) error {
	return refuse(statusPolicy, "larger than the limit of %s", size(max))
}

// size writes a number of bytes for people.
func size(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	f, i := float64(n), 0
	for f >= 1000 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	return strings.Replace(fmt.Sprintf("%.1f %s", f, units[i]), ".0 ", " ", 1)
}

// watched is a body that must keep coming and must end.
type watched struct {
	src   io.ReadCloser
	left  int64
	max   int64
	read  int64
	since time.Time
	l     Limits
	timer *time.Timer
	stall *stalled
	done  func()
}

// stalled notes that the body was closed because nothing came.
type stalled struct {
	mu sync.Mutex
	is bool
}

func (g *Gateway) watch(body io.ReadCloser, max int64, done func()) io.ReadCloser {
	s := &stalled{}
	w := &watched{src: body, left: max, max: max, since: time.Now(), l: g.limits, stall: s, done: done}
	w.timer = time.AfterFunc(g.limits.Stall, func() {
		s.mu.Lock()
		s.is = true
		s.mu.Unlock()
		done() // cancels the request, which fails the read
	})
	return w
}

func (w *watched) Read(p []byte) (int, error) {
	if w.left <= 0 {
		var one [1]byte
		if n, err := io.ReadFull(w.src, one[:]); n == 0 {
			return 0, w.explain(err)
		}
		return 0, tooLarge(w.max)
	}
	n, err := w.src.Read(p[:min(int64(len(p)), w.left)])
	w.left -= int64(n)
	w.read += int64(n)
	if err == nil && w.crawls() {
		return n, refuse(statusFailed, "the download is slower than %s a second", size(w.l.MinRate))
	}
	w.timer.Reset(w.l.Stall)
	return n, w.explain(err)
}

// crawls says whether the average rate is too low, after a time of grace.
func (w *watched) crawls() bool {
	if took := time.Since(w.since); took > w.l.Stall {
		return float64(w.read) < float64(w.l.MinRate)*took.Seconds()
	}
	return false
}

func (w *watched) explain(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	w.stall.mu.Lock()
	defer w.stall.mu.Unlock()
	if w.stall.is {
		return refuse(statusFailed, "nothing came for %s", w.l.Stall)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return refuse(statusFailed, "the download took too long")
	}
	return fmt.Errorf("the download broke off: %w", err)
}

func (w *watched) Close() error {
	w.timer.Stop()
	err := w.src.Close()
	w.done()
	return err
}
