package abuse

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
	"kintsugi/sandbox/gateway"
	"kintsugi/sandbox/listen"
)

// gatewayPlans ask a real gateway, from a box that has nothing else, for what
// it must not do. Its index is on this machine and remembers what it was asked.
func gatewayPlans() map[string]plan {
	all := map[string]plan{}
	for name, ask := range map[string]func(index) []string{
		"gateway-destinations": oddDestinations, "gateway-publish": publishing, "gateway-names": secretNames,
		"gateway-smuggling": smuggling, "gateway-hashes": wrongFile, "gateway-metadata": cloudAddresses,
	} {
		all[name] = plan{probe: "gateway", setup: func(t *trial) error { return t.gateway(ask) }, judge: nothingPassed}
	}
	return all
}

// index is the upstream of a trial's gateway.
type index struct {
	*httptest.Server

	mu   *sync.Mutex
	seen *[]string // requests for anything but the pages it has
}

// wheel is a file that is not what the index's page says.
const wheel = "pots-1.0-py3-none-any.whl"

func newIndex() index {
	x := index{mu: &sync.Mutex{}, seen: &[]string{}}
	page := func(file, content string) string {
		sum := sha256.Sum256([]byte(content))
		return fmt.Sprintf(`{"meta":{"api-version":"1.0"},"name":"pots","files":[{"filename":%q,"url":"/files/%s","hashes":{"sha256":%q}}]}`, file, file, hex.EncodeToString(sum[:]))
	}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/simple/pots/":
			w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
			fmt.Fprint(w, page(wheel, "what it should be"))
		case "/files/" + wheel:
			fmt.Fprint(w, "something else")
		default:
			x.mu.Lock()
			defer x.mu.Unlock()
			*x.seen = append(*x.seen, r.Method+" "+r.URL.String())
			http.NotFound(w, r)
		}
	}))
	return x
}

func (x index) requests() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]string{}, *x.seen...)
}

// gatewayPort is where the box sees the gateway.
const gatewayPort = 7792

// gateway gives the box a gateway and the requests to make of it.
func (t *trial) gateway(ask func(index) []string) error {
	x := newIndex()
	t.kept, t.undo = x, append(t.undo, x.Close)
	up := gateway.Upstream{Ecosystem: "pip", URL: x.URL + "/simple", Private: true}
	g, err := gateway.New(gateway.Options{
		Upstreams: []gateway.Upstream{up}, CacheDir: filepath.Join(t.dir, "cache"), Environ: []string{}, Limits: gateway.Limits{Misses: mostMisses},
	})
	if err != nil {
		return err
	}
	t.undo = append(t.undo, g.Close)
	t.spec.Listeners = []sandbox.Listener{{Port: gatewayPort, Serve: listen.Func(func(l net.Listener) { _ = g.Serve(l) })}}
	file := t.project("requests")
	var lines []string
	for _, r := range ask(x) {
		lines = append(lines, base64.StdEncoding.EncodeToString([]byte(r)))
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644)
}

// mostMisses is how many names that do not exist the gateway looks up for one
// session before it stops; as many as the probe asks for at once may be under
// way by then.
const mostMisses, atOnce = 5, 8

// nothingPassed wants every request refused, and the index left alone but for
// a few names that somebody may honestly have got wrong.
func nothingPassed(t *trial) probe.Verdict {
	v, seen := t.inside(), t.kept.(index).requests()
	if len(seen) > mostMisses+atOnce {
		return worst(v, probe.Breachf("the index was asked %d times: %.200q", len(seen), seen))
	}
	for _, r := range seen {
		if !strings.HasPrefix(r, "GET /simple/") { // the page of a package that is not there
			return worst(v, probe.Breachf("the index was asked %.200q", r))
		}
	}
	return v
}

func plain(method, target string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
}

func oddDestinations(x index) []string {
	addr := strings.TrimPrefix(x.URL, "http://")
	_, port, _ := net.SplitHostPort(addr)
	out := []string{
		"CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n", plain("GET", x.URL+"/secret"), plain("GET", "//"+addr+"/secret"),
		plain("GET", "/pip/simple/"+addr+"/"), plain("GET", "/pip/simple/..%2f..%2fsecret/"), plain("GET", "/pip/../secret"),
		plain("GET", "/pip/files/pots/http:%2f%2f"+addr+"%2fx.whl"), plain("GET", "/pip/simple/pots@"+addr+"/"),
		"GET /secret HTTP/1.1\r\nHost: " + addr + "\r\n\r\n", "GET /pip/simple/pots/ HTTP/1.1\r\nHost: example.test\r\n\r\n",
	}
	for _, host := range []string{"2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]", "localhost.", "user:pass@127.0.0.1", "127。0。0。1"} {
		out = append(out, plain("GET", "http://"+host+":"+port+"/secret"), plain("GET", "/http://"+host+":"+port+"/secret"))
	}
	return out
}

func publishing(index) []string {
	var out []string
	for _, method := range []string{"PUT", "POST", "PATCH", "DELETE", "MKCOL", "OPTIONS", "TRACE", "get", "GET\t"} {
		for _, path := range []string{"/pip/simple/pots/", "/pip/legacy/", "/npm/pots", "/npm/-/user/login"} {
			out = append(out, plain(method, path), method+" "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 6\r\n\r\nsecret")
		}
	}
	return append(out, "GET /pip/simple/pots/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 6\r\n\r\nsecret",
		"GET /pip/simple/pots/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-HTTP-Method-Override: PUT\r\nContent-Length: 6\r\n\r\nsecret")
}

// secretNames carry a secret out in the names of packages: in a form that no
// package has, or in one after the other.
func secretNames(index) []string {
	var out []string
	for _, name := range []string{
		strings.Repeat("s", 101), "aws_secret_access_key=AKIAEXAMPLE", "%73ecret%0a", "sécret", "secret?token=1", "secret%3Ftoken", "se cret", "..", "-secret-",
	} {
		out = append(out, plain("GET", "/pip/simple/"+name+"/"))
	}
	for i := range 20 {
		sum := sha256.Sum256([]byte{byte(i)})
		out = append(out, plain("GET", "/pip/simple/leak-"+hex.EncodeToString(sum[:16])+"/"))
	}
	return out
}

func smuggling(x index) []string {
	const second = "GET /secret HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	addr := strings.TrimPrefix(x.URL, "http://")
	head := "GET /pip/simple/nothing=here/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	return []string{
		head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second,
		head + "Content-Length: 0\r\nContent-Length: 50\r\n\r\n" + second, head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second,
		head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + second, head + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n",
		head + "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: c2VjcmV0c2VjcmV0c2VjcmU=\r\nSec-WebSocket-Version: 13\r\n\r\n",
		head + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", head + "X: a\r\n b\r\nHost: " + addr + "\r\n\r\n",
		"GET /secret\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", "SSH-2.0-x\r\n", "\x05\x01\x00",
	}
}

func wrongFile(index) []string {
	return []string{
		plain("GET", "/pip/files/pots/"+wheel), plain("GET", "/pip/files/pots/pots-2.0-py3-none-any.whl"),
		plain("GET", "/pip/files/other/"+wheel), plain("GET", "/pip/files/pots/other-1.0-py3-none-any.whl"),
	}
}

func cloudAddresses(index) []string {
	var out []string
	for _, host := range []string{"169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "100.100.100.200", "168.63.129.16", "2852039166", "0xa9fea9fe"} {
		out = append(out, plain("GET", "http://"+host+"/latest/meta-data/"), plain("GET", "/pip/simple/"+host+"/"),
			"GET /latest/meta-data/ HTTP/1.1\r\nHost: "+host+"\r\n\r\n", "CONNECT "+host+":80 HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	}
	return out
}
