package gateway

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

// Upstream is one place that packages of an ecosystem come from.
type Upstream struct {
	Ecosystem string `json:"ecosystem"` // pip, npm, go, cargo, maven, gem, apt
	// URL is the index, without credentials.
	URL string `json:"url"`
	// Origin says where the URL was learned: a variable, a file, a command.
	Origin string `json:"origin,omitempty"`
	// Default is set when the client brought the URL itself and the user
	// configured nothing.
	Default bool `json:"default,omitempty"`
	// Private lets the gateway dial this URL's host and port although it is a
	// loopback or private address. Only the user's own configuration sets it.
	Private bool `json:"private,omitempty"`
	// Auth is the Authorization header for this URL's host; it never leaves
	// the host side.
	Auth string `json:"-"`
	// Sum is the checksum database of Go: "name", "name+key", "name+key url".
	Sum string `json:"sum,omitempty"`
	// Any asks the next upstream of the ecosystem whatever goes wrong here, and
	// not only when there is no such package (go's "|").
	Any bool `json:"any,omitempty"`
	// Source are the remaining fields of an apt source, in deb822 form.
	Source []Field `json:"source,omitempty"`
}

// Field is one field of an apt source; Value may have several lines.
type Field struct{ Name, Value string }

// UpstreamAt makes an upstream of a configured address: credentials in it
// become Auth.
func UpstreamAt(ecosystem, raw, origin string) (Upstream, error) {
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return Upstream{}, fmt.Errorf("%s: the address from %s cannot be read; it must look like http://host/path", ecosystem, origin)
	}
	up := Upstream{Ecosystem: ecosystem, Origin: origin}
	if u.User != nil {
		pass, _ := u.User.Password()
		up.Auth = basic(u.User.Username(), pass)
		u.User = nil
	}
	u.RawQuery, u.Fragment = "", ""
	up.URL = strings.TrimSuffix(u.String(), "/")
	return up, up.check()
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func (u Upstream) check() error {
	p, err := url.Parse(u.URL)
	if err != nil || p.Host == "" || (p.Scheme != "http" && p.Scheme != "https") || p.User != nil {
		return fmt.Errorf("%s: %q from %s is no http or https address without credentials", u.Ecosystem, u.URL, u.Origin)
	}
	return nil
}

// join adds path elements, which must be escaped, to the upstream's URL.
func (u Upstream) join(elements ...string) string {
	return strings.TrimSuffix(u.URL, "/") + "/" + strings.Join(elements, "/")
}

// hostPort is the address that the URL names, with the port spelt out.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}
