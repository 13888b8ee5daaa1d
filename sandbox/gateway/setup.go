package gateway

import (
	"fmt"
	"strings"
)

// Setup is what a client inside a box needs in order to use the gateway.
type Setup struct {
	// Env are variables, "KEY=value".
	Env []string
	// Args go right behind the client's name ("apt-get", "cargo").
	Args []string
	// Files must be there before the client starts.
	Files []File
}

// File is a file inside the box.
type File struct {
	Path string
	Data []byte
}

// noProxy keeps clients from looking for another way out.
var noProxy = []string{
	"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost", "HTTP_PROXY=", "HTTPS_PROXY=", "ALL_PROXY=",
	"http_proxy=", "https_proxy=", "all_proxy=",
}

// Setup tells how a client of the ecosystem is pointed at the gateway, which
// it sees at base ("http://127.0.0.1:3128"). Files are placed below dir, a
// directory inside the box.
func (g *Gateway) Setup(ecosystem, base, dir string) (Setup, error) {
	a, ok := g.adapters[ecosystem]
	if !ok {
		return Setup{}, fmt.Errorf("no index is configured for %s; kintsugi doctor shows what was found", ecosystem)
	}
	s := a.setup(strings.TrimSuffix(base, "/"), strings.TrimSuffix(dir, "/"))
	s.Env = append(s.Env, noProxy...)
	return s, nil
}

// Env gives only the variables of Setup; they are enough for pip, uv, npm,
// pnpm, yarn and go. An ecosystem without an index gets none.
func (g *Gateway) Env(ecosystem, base string) []string {
	s, err := g.Setup(ecosystem, base, "")
	if err != nil {
		return nil
	}
	return s.Env
}

// patience is how long a client waits for the first byte, in seconds: the
// gateway has the whole file, and has checked it, before it hands any out.
func (g *Gateway) patience() string { return fmt.Sprintf("%.0f", g.limits.FileTime.Seconds()) }

func (p *pip) setup(base, _ string) Setup {
	index := base + "/pip/simple/"
	return Setup{Env: []string{
		"PIP_INDEX_URL=" + index, "PIP_EXTRA_INDEX_URL=", "PIP_FIND_LINKS=", "PIP_NO_INDEX=", "PIP_CONFIG_FILE=/dev/null",
		"PIP_CERT=", "PIP_PROXY=", "PIP_TRUSTED_HOST=", "PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_RETRIES=0",
		"PIP_DEFAULT_TIMEOUT=" + p.g.patience(), "PIP_TIMEOUT=" + p.g.patience(), "UV_HTTP_TIMEOUT=" + p.g.patience(), "UV_HTTP_RETRIES=0",
		"UV_DEFAULT_INDEX=" + index, "UV_INDEX_URL=" + index, "UV_INDEX=", "UV_EXTRA_INDEX_URL=", "UV_FIND_LINKS=",
		"UV_NO_CONFIG=1", "UV_PYTHON_DOWNLOADS=never", "REQUESTS_CA_BUNDLE=", "CURL_CA_BUNDLE=",
	}}
}

func (n *npm) setup(base, _ string) Setup {
	reg := base + "/npm/"
	return Setup{Env: []string{
		"npm_config_registry=" + reg, "NPM_CONFIG_REGISTRY=" + reg, "npm_config_userconfig=/nonexistent/npmrc", "npm_config_globalconfig=/dev/null",
		"npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false", "npm_config_fetch_retries=0",
		"npm_config_fetch_timeout=" + n.g.patience() + "000",
		"npm_config_noproxy=127.0.0.1", "npm_config_replace_registry_host=always", "COREPACK_ENABLE_NETWORK=0",
		"YARN_REGISTRY=" + reg, "YARN_NPM_REGISTRY_SERVER=" + reg, "YARN_UNSAFE_HTTP_WHITELIST=127.0.0.1", "YARN_ENABLE_TELEMETRY=0",
	}}
}
