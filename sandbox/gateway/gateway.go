// Package gateway is the only way out of a box that installs packages: a
// read-only pull-through mirror on the host side, spoken to in plain HTTP over
// any net.Listener.
//
// A client inside a box names packages, never addresses. The gateway looks the
// name up in the index that the client's own configuration names (Learn),
// takes file addresses from that index alone, checks the index's hash before
// it hands over a byte, and keeps what it fetched in a cache that all sessions
// share and that is enough to work without a network.
//
// The package never passes on a client's header, body or credential, never
// speaks to a private address that the user did not configure, and knows no
// registry by name. It does not decide which names may be installed: a session
// can bring such a rule (Session.Allow).
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Options configure a Gateway. Only CacheDir is required.
type Options struct {
	// Upstreams are where each ecosystem's packages come from; see Learn.
	Upstreams []Upstream
	// CacheDir keeps pages and artefacts; processes may share it.
	CacheDir string
	// Offline serves from the cache only.
	Offline bool
	// Limits bound what is fetched and served; zero fields take defaults.
	Limits Limits
	// Cooldown leaves out releases that are younger, where the index tells
	// their time; 0 leaves out none. Fresh releases are where stolen accounts
	// show, and most are found out within days.
	Cooldown time.Duration
	// Exempt are names of packages whose releases may be of any age.
	Exempt []string
	// Environ gives proxies and certificate bundles ("KEY=value"); nil means
	// the environment of this process.
	Environ []string
	// Now is the clock of freshness and records; nil means time.Now.
	Now func() time.Time
	// Resolve and Dial stand in for the network in tests. Dial gets the
	// address that was checked, never a name.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	// LocalNets are the networks this machine is part of, which no box may
	// reach; nil asks the system.
	LocalNets func() []netip.Prefix
	// OnRequest gets one Entry for each request, after it was answered. It may
	// be called from several goroutines at once.
	OnRequest func(Entry)
	// OnProgress tells how far a download is: clients see nothing of it until
	// the file is whole and checked. It is called about twice a second for each
	// download, maybe from several goroutines at once.
	OnProgress func(Progress)
}

// Limits bound the gateway. A zero field takes the value of DefaultLimits.
type Limits struct {
	Page       int64         // bytes of an index page, decompressed
	Artefact   int64         // bytes of one artefact
	Cache      int64         // bytes of the whole cache
	Connect    time.Duration // to connect and to get the response's head
	Stall      time.Duration // without a byte of a body
	PageTime   time.Duration // for one whole page
	FileTime   time.Duration // for one whole artefact
	MinRate    int64         // bytes per second, on average after Stall
	Redirects  int           // followed for one request
	Fresh      time.Duration // a page is used without asking again, at least
	FreshMost  time.Duration // and at most, whatever its server says
	Requests   int           // of one session
	Names      int           // different packages of one session
	Misses     int           // names of one session that turn out not to exist
	Downloaded int64         // bytes of artefacts served to one session, or fetched for it
	Clients    int           // connections of one session at once
	Fetches    int           // requests to upstreams at once
}

// DefaultLimits let the largest wheels in common use through (about 2 GB) and
// stop anything endless within minutes.
var DefaultLimits = Limits{
	Page:       96 << 20,
	Artefact:   4 << 30,
	Cache:      20 << 30,
	Connect:    20 * time.Second,
	Stall:      30 * time.Second,
	PageTime:   2 * time.Minute,
	FileTime:   20 * time.Minute,
	MinRate:    1 << 10,
	Redirects:  5,
	Fresh:      10 * time.Minute,
	FreshMost:  time.Hour,
	Requests:   50_000,
	Names:      3_000,
	Misses:     200,
	Downloaded: 16 << 30,
	Clients:    64,
	Fetches:    16,
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	orDefault(&l.Page, d.Page)
	orDefault(&l.Artefact, d.Artefact)
	orDefault(&l.Cache, d.Cache)
	orDefault(&l.Connect, d.Connect)
	orDefault(&l.Stall, d.Stall)
	orDefault(&l.PageTime, d.PageTime)
	orDefault(&l.FileTime, d.FileTime)
	orDefault(&l.MinRate, d.MinRate)
	orDefault(&l.Redirects, d.Redirects)
	orDefault(&l.Fresh, d.Fresh)
	orDefault(&l.FreshMost, d.FreshMost)
	orDefault(&l.Requests, d.Requests)
	orDefault(&l.Names, d.Names)
	orDefault(&l.Misses, d.Misses)
	orDefault(&l.Downloaded, d.Downloaded)
	orDefault(&l.Clients, d.Clients)
	orDefault(&l.Fetches, d.Fetches)
	return l
}

func orDefault[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}

// Gateway serves packages to boxes. It is safe for use by many at once.
type Gateway struct {
	opts     Options
	limits   Limits
	store    *store
	guard    *guard
	client   *http.Client
	adapters map[string]adapter
	fetches  chan struct{} // a slot for each request to an upstream
	flight   singleflight.Group
	down     hosts
	parsed   memory

	life context.Context // ends with Close
	end  context.CancelFunc
	open sync.Mutex // guards end and wg.Add
	wg   sync.WaitGroup
}

// New makes a gateway. It touches no network.
func New(o Options) (*Gateway, error) {
	if o.CacheDir == "" {
		return nil, errors.New("the gateway needs a cache directory")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	limits := o.Limits.withDefaults()
	st, err := openStore(o.CacheDir, limits.Cache, o.Now)
	if err != nil {
		return nil, err
	}
	guard := newGuard(o)
	client, err := newClient(o, limits, guard)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		opts: o, limits: limits, store: st, guard: guard, client: client,
		fetches: make(chan struct{}, limits.Fetches), down: hosts{now: o.Now},
	}
	g.life, g.end = context.WithCancel(context.Background())
	if g.adapters, err = g.makeAdapters(); err != nil {
		return nil, err
	}
	return g, nil
}

// Close ends all sessions and downloads, and waits for them; the cache stays.
func (g *Gateway) Close() {
	g.open.Lock()
	g.end()
	g.open.Unlock()
	g.wg.Wait()
	g.client.CloseIdleConnections()
}

// begin makes Close wait until wg.Done is called. It is false when the gateway
// is closed.
func (g *Gateway) begin() bool {
	g.open.Lock()
	defer g.open.Unlock()
	if g.life.Err() != nil {
		return false
	}
	g.wg.Add(1)
	return true
}

// adapter speaks one ecosystem's protocol on both sides.
type adapter interface {
	serve(ctx context.Context, r *request) (answer, error)
	setup(base, dir string) Setup
}

func (g *Gateway) makeAdapters() (map[string]adapter, error) {
	by := map[string][]Upstream{}
	for _, u := range g.opts.Upstreams {
		if err := u.check(); err != nil {
			return nil, err
		}
		by[u.Ecosystem] = append(by[u.Ecosystem], u)
	}
	out := map[string]adapter{}
	for eco, ups := range by {
		a := g.newAdapter(eco, ups)
		if a == nil {
			return nil, fmt.Errorf("the gateway cannot serve %q: the ecosystems are pip, npm, go, cargo, maven, gem and apt", eco)
		}
		out[eco] = a
	}
	return out, nil
}

func (g *Gateway) newAdapter(eco string, ups []Upstream) adapter {
	switch eco {
	case "pip":
		return &pip{g: g, up: ups[0]}
	case "npm":
		return &npm{g: g, up: ups[0]}
	case "go":
		return &gomod{g: g, ups: ups}
	case "cargo":
		return &cargo{g: g, up: ups[0]}
	case "maven":
		return &maven{g: g, up: ups[0], asking: make(chan struct{}, mavenAtOnce), waiting: make(chan struct{}, mavenWaiting)}
	case "gem":
		return &gem{g: g, up: ups[0]}
	case "apt":
		return &apt{g: g, ups: ups}
	}
	return nil
}
