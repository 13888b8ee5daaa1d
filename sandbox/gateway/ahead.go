package gateway

import (
	"context"
	"errors"
	"net/url"
	"os"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Bounds of what is fetched for a session before its client asks for it: files
// and pages at once, and either in all.
const (
	aheadFiles = 2
	aheadPages = 12
	aheadMost  = 1000
)

// errAbandoned is the end of a download that was begun ahead, for a session
// that is over.
var errAbandoned = errors.New("nobody waits for it any more")

var errClosed = errors.New("the gateway is closed")

// fetching downloads a file. Many who want it at once share one download, which
// lives as long as the context of the first.
func (g *Gateway) fetching(ctx context.Context, a artefact) <-chan singleflight.Result {
	return g.flight.DoChan("file\n"+a.blob().String(), func() (any, error) {
		if !g.begin() {
			return nil, errClosed
		}
		defer g.wg.Done()
		err := g.download(ctx, a)
		if err != nil && ctx.Err() != nil {
			err = errAbandoned
		}
		return nil, err
	})
}

// ahead is what a session has fetched before its client asks for it.
type ahead struct {
	mu    sync.Mutex
	begun map[string]bool // by address; true until the client asks
	files int             // under way
	bytes int64           // of whole files
	pages chan struct{}   // a slot for each page under way
}

// aheadFile begins to fetch a file that the session's client is about to ask
// for, so that it arrives and is checked while the client is busy with smaller
// questions. It ends with the session. What goes wrong is told when the client
// does ask: the file is then fetched anew.
func (s *served) aheadFile(a artefact) {
	if s.g.store.has(a.blob()) || !s.mayAhead(a.eco, a.name) || !s.beginFile(a.url) {
		return
	}
	go func() {
		select {
		case <-s.g.fetching(s.life, a):
		case <-s.life.Done():
		}
		info, err := os.Stat(s.g.store.blobPath(a.blob()))
		s.early.mu.Lock()
		defer s.early.mu.Unlock()
		s.early.files--
		if err == nil {
			s.early.bytes += info.Size()
		}
	}()
}

// aheadPage is aheadFile for an index page. Pages wait for each other.
func (s *served) aheadPage(w wanted) {
	if !s.mayAhead(w.eco, w.name) || !s.early.begin(w.url) {
		return
	}
	go func() {
		select {
		case s.early.pages <- struct{}{}:
			_, _ = s.g.page(s.life, w)
			<-s.early.pages
		case <-s.life.Done():
		}
	}()
}

// mayAhead asks the session's rules.
func (s *served) mayAhead(eco, name string) bool {
	if s.g.opts.Offline || s.life == nil || s.sieve(eco, name).closed {
		return false
	}
	return s.Allow == nil || s.Allow(eco, name) == nil
}

// beginFile is begin for one more file at once.
func (s *served) beginFile(addr string) bool {
	h := &s.early
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files >= aheadFiles || h.bytes > s.g.limits.Downloaded || !h.note(addr) {
		return false
	}
	h.files++
	return true
}

// begin says whether an address is new and may be asked.
func (h *ahead) begin(addr string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.note(addr)
}

// note is begin for who has the lock.
func (h *ahead) note(addr string) bool {
	if _, known := h.begun[addr]; known || len(h.begun) >= aheadMost {
		return false
	}
	if h.begun == nil {
		h.begun = map[string]bool{}
	}
	h.begun[addr] = true
	return true
}

// asked corrects the record of what was fetched ahead: it is no hit, since this
// session had the upstream asked.
func (h *ahead) asked(addr string, e *Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun[addr] {
		return
	}
	h.begun[addr], e.Hit = false, false
	if u, err := url.Parse(addr); err == nil {
		e.Upstream = u.Hostname()
	}
}
