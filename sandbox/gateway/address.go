package gateway

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// closedV4 are IPv4 networks that are no part of the public internet: RFC 6890
// and its registry. The documentation networks are left out because nothing
// that deserves protection can live there.
var closedV4 = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
)

// Only global unicast is open in IPv6, less the tunnels that hide an IPv4
// address. NAT64 is looked through.
var (
	openV6   = netip.MustParsePrefix("2000::/3")
	closedV6 = prefixes("2001::/23", "2002::/16")
	nat64    = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// public says whether an address belongs to the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	if a.Is4() {
		return !within(a, closedV4)
	}
	if nat64.Contains(a) {
		b := a.As16()
		return public(netip.AddrFrom4([4]byte(b[12:])))
	}
	return openV6.Contains(a) && !within(a, closedV6)
}

func within(a netip.Addr, nets []netip.Prefix) bool {
	return slices.ContainsFunc(nets, func(p netip.Prefix) bool { return p.Contains(a) })
}

// systemNets are the networks that this machine's interfaces are part of.
func systemNets() []netip.Prefix {
	addrs, _ := net.InterfaceAddrs()
	var out []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}

// guard decides which addresses may be reached.
type guard struct {
	private map[string]bool // host:port of upstreams configured as private
	ports   map[string]bool // ports of configured upstreams
	proxies map[string]bool // host:port of proxies
	resolve func(context.Context, string) ([]netip.Addr, error)
	nets    func() []netip.Prefix
}

func newGuard(o Options) *guard {
	g := &guard{
		private: map[string]bool{}, proxies: proxyHosts(o.Environ),
		ports:   map[string]bool{"80": true, "443": true},
		resolve: o.Resolve, nets: o.LocalNets,
	}
	if g.resolve == nil {
		g.resolve = systemResolve
	}
	if g.nets == nil {
		g.nets = systemNets
	}
	for _, up := range o.Upstreams {
		if u, err := url.Parse(up.URL); err == nil {
			g.allow(u, up.Private)
		}
	}
	return g
}

func (g *guard) allow(u *url.URL, private bool) {
	hp := hostPort(u)
	g.ports[hp[strings.LastIndexByte(hp, ':')+1:]] = true
	if private {
		g.private[hp] = true
	}
}

func systemResolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// checkURL refuses an address by its spelling, before anything is resolved.
func (g *guard) checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return refuse(statusPolicy, "%q is neither http nor https", u.Scheme)
	}
	if u.User != nil {
		return refuse(statusPolicy, "an address with credentials in it")
	}
	hp := hostPort(u)
	if g.private[hp] {
		return nil
	}
	if g.proxies[hp] {
		return refuse(statusPolicy, "%s is the proxy, not a registry", hp)
	}
	if !g.ports[hp[strings.LastIndexByte(hp, ':')+1:]] {
		return refuse(statusPolicy, "%s has a port that no configured registry has", hp)
	}
	return checkHost(u.Hostname())
}

// checkHost accepts a fully qualified DNS name and nothing else: no address in
// any spelling, no trailing dot, no character outside the grammar.
func checkHost(host string) error {
	labels := strings.Split(host, ".")
	if len(host) > 253 || len(labels) < 2 {
		return refuse(statusPolicy, "%.80q is no public host name", host)
	}
	for _, l := range labels {
		if !label(l) {
			return refuse(statusPolicy, "%.80q is no proper host name", host)
		}
	}
	last := strings.ToLower(labels[len(labels)-1])
	if last[0] >= '0' && last[0] <= '9' {
		return refuse(statusPolicy, "%.80q is an address, not a name", host)
	}
	if slices.Contains([]string{"localhost", "local", "internal", "lan", "home", "arpa"}, last) {
		return refuse(statusPolicy, "%.80q is a name of a private network", host)
	}
	return nil
}

func label(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
}

// addresses resolves host and gives the addresses that may be dialled. The
// caller dials what it gets, so a name cannot change its mind in between.
func (g *guard) addresses(ctx context.Context, host, port string) ([]netip.Addr, error) {
	hp := strings.ToLower(host) + ":" + port
	found, err := g.lookup(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("cannot find %s: %w", host, err)
	}
	if g.private[hp] || g.proxies[hp] {
		return found, nil
	}
	nets := g.nets()
	var open []netip.Addr
	for _, a := range found {
		if a = a.Unmap(); public(a) && !within(a, nets) {
			open = append(open, a)
		}
	}
	if len(open) == 0 {
		return nil, refuse(statusPolicy, "%s leads to a private address (%v); configure it as the index of the package manager if that is meant", host, found)
	}
	return open, nil
}

func (g *guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return g.resolve(ctx, host)
}
