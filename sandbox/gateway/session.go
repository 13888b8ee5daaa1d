package gateway

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// Session is what one box, or one run of several boxes, may do.
type Session struct {
	// ID is put into every Entry.
	ID string
	// Allow may refuse a package by its name ("cargo", "serde"); nil lets
	// every well-formed name through. The error's text goes to the client.
	Allow func(ecosystem, name string) error
	// Pins, when there are any, are the only releases of their packages that
	// are served, whatever their age. Other packages are served only when
	// Unpinned is set.
	Pins     []Pin
	Unpinned bool
	// Hosts are names by which clients reach the gateway, besides loopback.
	Hosts []string
	// OnRequest gets this session's entries, after Options.OnRequest.
	OnRequest func(Entry)
}

// Serve answers the connections of l until l or the gateway is closed. Counts
// are limited for each call of Serve.
func (g *Gateway) Serve(l net.Listener) error { return g.ServeSession(l, Session{}) }

// ServeSession is Serve with a session's own rules.
func (g *Gateway) ServeSession(l net.Listener, s Session) error {
	v := &served{g: g, Session: s, names: map[string]bool{}, served: map[string]bool{}, clients: g.limits.Clients}
	v.early.pages = make(chan struct{}, aheadPages)
	var end context.CancelFunc
	v.life, end = context.WithCancel(g.life)
	defer end()
	srv := &http.Server{
		Handler: v, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: g.limits.FileTime + time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: log.New(discard{}, "", 0), DisableGeneralOptionsHandler: true,
		BaseContext: func(net.Listener) context.Context { return g.life },
	}
	if !g.begin() {
		l.Close()
		return nil
	}
	defer g.wg.Done()
	stop := context.AfterFunc(g.life, func() { srv.Close() })
	defer stop()
	err := srv.Serve(netutil.LimitListener(l, v.clients))
	srv.Close()
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// served counts what a session has used.
type served struct {
	Session
	g       *Gateway
	clients int
	life    context.Context

	mu        sync.Mutex
	requests  int
	misses    int
	abandoned int
	bytes     int64
	names     map[string]bool
	served    map[string]bool // artefacts without a hash, by address
	early     ahead
}

// abandonedMost bounds how often a session's client may go away while an
// artefact is fetched for it: the download goes on, and is not counted.
const abandonedMost = 50

// request counts a request.
func (s *served) request() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.requests > s.g.limits.Requests {
		return refuse(statusPolicy, "more than %d requests in one session", s.g.limits.Requests)
	}
	if s.misses > s.g.limits.Misses {
		return refuse(statusPolicy, "more than %d packages in one session that do not exist", s.g.limits.Misses)
	}
	if s.abandoned > abandonedMost {
		return refuse(statusPolicy, "more than %d downloads in one session that nobody waited for", abandonedMost)
	}
	if s.bytes > s.g.limits.Downloaded {
		return refuse(statusPolicy, "more than %s in one session", size(s.g.limits.Downloaded))
	}
	return nil
}

// name counts a package and asks the session's rule.
func (s *served) name(eco, name string) error {
	s.mu.Lock()
	key := eco + " " + name
	known := s.names[key]
	full := !known && len(s.names) >= s.g.limits.Names
	if !full {
		s.names[key] = true
	}
	s.mu.Unlock()
	if full {
		return refuse(statusPolicy, "more than %d different packages in one session", s.g.limits.Names)
	}
	if s.Allow == nil {
		return nil
	}
	if err := s.Allow(eco, name); err != nil {
		return refuse(statusPolicy, "%s", err)
	}
	return nil
}

// again notes that an artefact is served whole, and says whether it was before.
func (s *served) again(addr string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.served[addr]
	s.served[addr] = true
	return before
}

func (s *served) done(e Entry) {
	s.mu.Lock()
	s.bytes += max(e.Bytes, e.fetched)
	if e.abandoned {
		s.abandoned++
	}
	if e.Status == statusAbsent && len(s.Pins) == 0 { // a lock leaves out what other platforms have
		s.misses++
	}
	s.mu.Unlock()
	for _, tell := range []func(Entry){s.g.opts.OnRequest, s.OnRequest} {
		if tell != nil {
			tell(e)
		}
	}
}
