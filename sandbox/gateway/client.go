package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// newClient makes the host side's HTTP client: it dials only what guard lets
// through, follows no redirect by itself, keeps no cookies, and trusts the
// system's certificates and those that the user's environment adds.
func newClient(o Options, l Limits, g *guard) (*http.Client, error) {
	roots, err := certificates(o.Environ)
	if err != nil {
		return nil, err
	}
	d := &dialer{guard: g, dial: o.Dial}
	if d.dial == nil {
		d.dial = (&net.Dialer{Timeout: l.Connect}).DialContext
	}
	proxy := proxyConfig(o.Environ).ProxyFunc()
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }, DialContext: d.connect,
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: l.Connect,
			ResponseHeaderTimeout: l.Connect, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
			MaxConnsPerHost: l.Fetches, MaxIdleConnsPerHost: l.Fetches, ForceAttemptHTTP2: true,
		},
	}, nil
}

// dialer resolves, checks and dials in one go.
type dialer struct {
	guard *guard
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
}

func (d *dialer) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	open, err := d.guard.addresses(ctx, host, port)
	if err != nil {
		return nil, err
	}
	var last error
	for _, a := range open[:min(len(open), 4)] {
		conn, err := d.dial(ctx, network, netip.AddrPortFrom(a, portNumber(port)).String())
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, fmt.Errorf("cannot reach %s: %w", host, last)
}

func portNumber(s string) uint16 {
	n, _ := net.LookupPort("tcp", s)
	return uint16(n) //nolint:gosec // LookupPort gives 0 to 65535
}

func lookupEnv(environ []string, names ...string) string {
	for _, name := range names {
		for i := len(environ) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(environ[i], name+"="); ok && v != "" {
				return v
			}
		}
	}
	return ""
}

func proxyConfig(environ []string) *httpproxy.Config {
	return &httpproxy.Config{
		HTTPProxy:  lookupEnv(environ, "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"),
		HTTPSProxy: lookupEnv(environ, "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
		NoProxy:    lookupEnv(environ, "no_proxy", "NO_PROXY"),
	}
}

// proxyHosts are the addresses of the configured proxies, which may be private.
func proxyHosts(environ []string) map[string]bool {
	c := proxyConfig(environ)
	out := map[string]bool{}
	for _, raw := range []string{c.HTTPProxy, c.HTTPSProxy} {
		if !strings.Contains(raw, "://") {
			raw = "http://" + raw
		}
		if u, err := url.Parse(raw); err == nil && u.Hostname() != "" {
			out[proxyPort(u)] = true
		}
	}
	return out
}

func proxyPort(u *url.URL) string {
	if u.Port() == "" && strings.HasPrefix(u.Scheme, "socks5") {
		return strings.ToLower(u.Hostname()) + ":1080"
	}
	return hostPort(u)
}

// bundles are the variables by which package managers learn about additional
// certificates. SSL_CERT_FILE and SSL_CERT_DIR replace the system's.
var bundles = []string{"PIP_CERT", "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "CARGO_HTTP_CAINFO"}

func certificates(environ []string) (*x509.CertPool, error) {
	pool, err := basePool(environ)
	if err != nil {
		return nil, err
	}
	for _, name := range bundles {
		path := lookupEnv(environ, name)
		if path == "" {
			continue
		}
		if err := addBundle(pool, path); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return pool, nil
}

func basePool(environ []string) (*x509.CertPool, error) {
	file, dir := lookupEnv(environ, "SSL_CERT_FILE"), lookupEnv(environ, "SSL_CERT_DIR")
	if file == "" && dir == "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return x509.NewCertPool(), nil //nolint:nilerr // plain http upstreams need none
		}
		return pool, nil
	}
	pool := x509.NewCertPool()
	if file != "" {
		if err := addBundle(pool, file); err != nil {
			return nil, fmt.Errorf("SSL_CERT_FILE: %w", err)
		}
	}
	for _, d := range filepath.SplitList(dir) {
		addDir(pool, d)
	}
	return pool, nil
}

func addDir(pool *x509.CertPool, dir string) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if data, err := os.ReadFile(filepath.Join(dir, f.Name())); err == nil {
			pool.AppendCertsFromPEM(data)
		}
	}
}

// addBundle adds a PEM file, or every file of a directory.
func addBundle(pool *x509.CertPool, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		addDir(pool, path)
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the certificates: %w", err)
	}
	if !pool.AppendCertsFromPEM(data) {
		return errors.New("no certificate in " + path)
	}
	return nil
}
