package gateway

import (
	"context"
	"errors"
	"net/url"
	"os"

	"golang.org/x/sync/singleflight"
)

// Bounds of what is fetched for a session before its client asks for it: at
// once, and in all.
const (
	aheadAtOnce = 2
	aheadMost   = 200
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

// ahead begins to fetch what the session's client is about to ask for, so that
// it arrives and is checked while the client is busy with smaller questions.
// It ends with the session. What goes wrong is told when the client does ask:
// the file is then fetched anew.
func (s *served) ahead(a artefact) {
	if s.g.opts.Offline || s.g.store.has(a.blob()) || !s.beginAhead(a.url) {
		return
	}
	go func() {
		select {
		case <-s.g.fetching(s.life, a):
		case <-s.life.Done():
		}
		info, err := os.Stat(s.g.store.blobPath(a.blob()))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.aheadNow--
		if err == nil {
			s.aheadBytes += info.Size()
		}
	}()
}

// beginAhead says whether one more file may be fetched ahead, and counts it.
func (s *served) beginAhead(addr string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.early[addr] || s.aheadNow >= aheadAtOnce || len(s.early) >= aheadMost || s.bytes+s.aheadBytes > s.g.limits.Downloaded {
		return false
	}
	if s.early == nil {
		s.early = map[string]bool{}
	}
	s.early[addr] = true
	s.aheadNow++
	return true
}

// asked corrects the record of a file that was fetched ahead: it is no hit,
// since this session had the upstream asked.
func (s *served) asked(a artefact, e *Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.early[a.url] {
		return
	}
	s.early[a.url], e.Hit = false, false
	if u, err := url.Parse(a.url); err == nil {
		e.Upstream = u.Hostname()
	}
}
