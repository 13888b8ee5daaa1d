package model

import (
	"net"
	"net/url"
	"strings"
)

// ollamaPort is where Ollama listens unless told otherwise.
const ollamaPort = "11434"

// HostURL makes an address to call of OLLAMA_HOST's value, which is written
// for servers too: it may lack a scheme or a port, or name all interfaces.
// Empty means this machine.
func HostURL(value string) *url.URL {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	scheme, rest, ok := strings.Cut(value, "://")
	port := ollamaPort
	switch {
	case !ok:
		scheme, rest = "http", value
	case scheme == "https":
		port = "443"
	case scheme == "http":
		port = "80"
	}
	hostport, path, _ := strings.Cut(rest, "/")
	host, p, err := net.SplitHostPort(hostport)
	if err != nil {
		host, p = strings.Trim(hostport, "[]"), port
	}
	switch host {
	case "", "0.0.0.0", "::", "*":
		host = "127.0.0.1"
	}
	if p == "" || p == "0" {
		p = port
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, p), Path: strings.Trim(path, "/")}
}
