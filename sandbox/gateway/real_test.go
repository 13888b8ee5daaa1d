package gateway

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// learnOnce asks this machine's package managers once for all tests.
var learnOnce = sync.OnceValue(func() Learned { return Learn(context.Background(), HostProber{}) })

// realIndex opens a gateway to the index that this machine's client uses, or skips
// the test when there is none or it cannot be reached.
func realIndex(t testing.TB, eco string) *mirror {
	t.Helper()
	learned := learnOnce()
	ups := learned.For(eco)
	if len(ups) == 0 {
		unavailable(t, eco, "this machine has no %s: %v", eco, learned.Notes)
	}
	resp, err := (&http.Client{Timeout: 15 * time.Second}).Get(ups[0].URL + "/")
	if err != nil {
		unavailable(t, eco, "the index of %s cannot be reached: %v", eco, err)
	}
	resp.Body.Close()
	return serveReal(t, Options{Upstreams: ups, CacheDir: t.TempDir()})
}

// unavailable skips, but not in CI for the ecosystems that must be there.
func unavailable(t testing.TB, eco, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" && eco != "gem" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func serveReal(t testing.TB, o Options) *mirror {
	t.Helper()
	m := &mirror{}
	o.OnRequest = func(e Entry) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.log = append(m.log, e)
	}
	var err error
	if m.Gateway, err = New(o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.base = "http://" + l.Addr().String()
	go func() { _ = m.Serve(l) }()
	t.Cleanup(func() { l.Close(); m.Close() })
	return m
}

// nowhere is the environment of a client that has only the gateway: every
// other way leads to a port where nobody listens.
func nowhere(home string) []string {
	const dead = "http://127.0.0.1:9"
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C.UTF-8",
		"HTTP_PROXY=" + dead, "HTTPS_PROXY=" + dead, "ALL_PROXY=" + dead, "http_proxy=" + dead, "https_proxy=" + dead,
	}
	for _, tool := range []string{"RUSTUP_HOME=.rustup", "PYENV_ROOT=.pyenv"} { // where the clients themselves live
		key, dir, _ := strings.Cut(tool, "=")
		old := os.Getenv(key)
		if old == "" {
			old = filepath.Join(os.Getenv("HOME"), dir)
		}
		env = append(env, key+"="+old)
	}
	return env
}

// runs runs a package manager by way of the gateway in an empty directory.
func (m *mirror) runs(t testing.TB, eco, dir string, argv ...string) string {
	t.Helper()
	s, err := m.Setup(eco, m.base, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Files {
		write(t, f.Path, string(f.Data))
	}
	args := append(append([]string{}, s.Args...), argv[1:]...)
	return run(t, dir, append(nowhere(dir), s.Env...), append([]string{argv[0]}, args...)...)
}

func run(t testing.TB, dir string, env []string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// artefacts lists the files that were served, and fails on any that nobody
// checked, unless its client does so.
func (m *mirror) artefacts(t testing.TB, clientChecks bool) []string {
	t.Helper()
	var out []string
	for _, e := range m.entries() {
		if e.Artefact == "" || e.Status != 200 {
			continue
		}
		out = append(out, e.Artefact)
		if e.Verified == "" && !clientChecks {
			t.Errorf("%s was not checked", e.Artefact)
		}
	}
	return out
}

func (m *mirror) mustHave(t testing.TB, clientChecks bool, prefix string) {
	t.Helper()
	got := strings.Join(m.artefacts(t, clientChecks), " ")
	if !strings.Contains(" "+got, " "+prefix) {
		t.Errorf("no %s went through the gateway: %s", prefix, got)
	}
}

func TestRealPip(t *testing.T) {
	t.Parallel()
	m := realIndex(t, "pip")
	dir := t.TempDir()
	m.runs(t, "pip", dir, "python3", "-m", "pip", "install", "--target", dir+"/site", "--only-binary", ":all:", "--no-cache-dir", "python-dateutil")
	m.mustHave(t, false, "python_dateutil-")
	run(t, dir, append(nowhere(dir), "PYTHONPATH="+dir+"/site"), "python3", "-c", "import dateutil.parser")
	// The same without a network.
	off := serveReal(t, Options{CacheDir: m.store.dir, Upstreams: m.opts.Upstreams, Offline: true})
	off.runs(t, "pip", dir, "python3", "-m", "pip", "download", "-d", dir+"/again", "--only-binary", ":all:", "--no-cache-dir", "python-dateutil")
	if got, _ := filepath.Glob(dir + "/again/python_dateutil-*.whl"); len(got) != 1 {
		t.Errorf("offline: %v", got)
	}
}

func TestRealNpm(t *testing.T) {
	t.Parallel()
	m := realIndex(t, "npm")
	dir := t.TempDir()
	write(t, dir+"/package.json", `{"name":"x","version":"1.0.0"}`)
	m.runs(t, "npm", dir, "npm", "install", "--ignore-scripts", "--cache", dir+"/cache", "debug@4", "@sindresorhus/is@4")
	m.mustHave(t, false, "debug-4")
	m.mustHave(t, false, "is-4")
	run(t, dir, nowhere(dir), "node", "-e", `require("debug")("x")`)
	off := serveReal(t, Options{CacheDir: m.store.dir, Upstreams: m.opts.Upstreams, Offline: true})
	again := t.TempDir()
	write(t, again+"/package.json", `{"name":"x","version":"1.0.0"}`)
	off.runs(t, "npm", again, "npm", "install", "--ignore-scripts", "--cache", again+"/cache", "debug@4")
	run(t, again, nowhere(again), "node", "-e", `require("debug")("x")`)
}

func TestRealGo(t *testing.T) {
	t.Parallel()
	m := realIndex(t, "go")
	dir := t.TempDir()
	t.Cleanup(func() { run(t, dir, nowhere(dir), "chmod", "-R", "u+w", dir) })
	write(t, dir+"/go.mod", "module x\n\ngo 1.21\n")
	write(t, dir+"/main.go", "package main\n\nimport \"github.com/google/go-cmp/cmp\"\n\nfunc main() { println(cmp.Equal(1, 1)) }\n")
	env := []string{"GOMODCACHE=" + dir + "/mod", "GOCACHE=" + dir + "/build"}
	m.runsWith(t, "go", dir, env, "go", "get", "github.com/google/go-cmp@v0.6.0")
	m.mustHave(t, true, "v0.6.0.zip")
	sums := 0
	for _, e := range m.entries() {
		if strings.Contains(e.Path, "/sumdb/") && strings.Contains(e.Path, "/lookup/") && e.Status == 200 {
			sums++
		}
		if e.Artefact == "v0.6.0.zip" && e.Verified != "sumdb" {
			t.Errorf("the zip was not checked: %+v", e)
		}
	}
	if sums == 0 {
		t.Error("the go command asked for no checksum")
	}
	off := serveReal(t, Options{CacheDir: m.store.dir, Upstreams: m.opts.Upstreams, Offline: true})
	env[0] = "GOMODCACHE=" + dir + "/mod2"
	off.runsWith(t, "go", dir, env, "go", "mod", "download", "github.com/google/go-cmp@v0.6.0")
}

func (m *mirror) runsWith(t testing.TB, eco, dir string, env []string, argv ...string) string {
	t.Helper()
	return m.runs(t, eco, dir, append([]string{"env"}, append(env, argv...)...)...)
}

func TestRealCargo(t *testing.T) {
	t.Parallel()
	m := realIndex(t, "cargo")
	dir := t.TempDir()
	write(t, dir+"/Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nitoa = \"1\"\n")
	write(t, dir+"/src/lib.rs", "")
	m.runs(t, "cargo", dir, "cargo", "fetch")
	m.mustHave(t, false, "itoa-1")
	if lock, err := os.ReadFile(dir + "/Cargo.lock"); err != nil || strings.Contains(string(lock), "127.0.0.1") {
		t.Errorf("the lock names the gateway: %s %v", lock, err)
	}
	off := serveReal(t, Options{CacheDir: m.store.dir, Upstreams: m.opts.Upstreams, Offline: true})
	if err := os.RemoveAll(dir + "/.cargo"); err != nil {
		t.Fatal(err)
	}
	off.runs(t, "cargo", dir, "cargo", "fetch")
}

// TestRealApt uses the last of the machine's sources, which is usually the
// small one of security updates, and the smallest package in it.
func TestRealApt(t *testing.T) {
	t.Parallel()
	m := realIndex(t, "apt")
	ups := m.opts.Upstreams[len(m.opts.Upstreams)-1:]
	m = serveReal(t, Options{CacheDir: m.store.dir, Upstreams: ups})
	dir := t.TempDir()
	name := aptFetch(t, m, dir+"/first")
	m.mustHave(t, true, name+"_")
	if again := aptFetch(t, serveReal(t, Options{CacheDir: m.store.dir, Upstreams: ups, Offline: true}), dir+"/offline"); again != name {
		t.Errorf("offline: %s, not %s", again, name)
	}
}

// Signatures and hashes are apt's business, and it goes about it: a release
// file, a list or a package that was changed on the way is not taken.
func TestRealAptChecks(t *testing.T) {
	t.Parallel()
	m := realIndex(t, "apt")
	last := m.opts.Upstreams[len(m.opts.Upstreams)-1]
	for _, c := range []struct{ part, word string }{
		{"InRelease", "signature"}, {"/binary-", "not what the index says"}, {".deb", "Hash Sum mismatch"},
	} {
		evil := newOrigin(t)
		evil.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status, body := m.get(t, strings.Replace(r.URL.EscapedPath(), "/evil", "/apt/"+aptID(last), 1))
			if strings.Contains(r.URL.Path, c.part) {
				body = body[:len(body)/2] + "x" + body[len(body)/2+1:]
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
		up := last
		up.URL, up.Private, up.Auth = evil.URL+"/evil", true, ""
		n := serveReal(t, Options{CacheDir: t.TempDir(), Upstreams: []Upstream{up}})
		out, err := aptTry(t, n, t.TempDir())
		for _, e := range n.entries() {
			out += e.Refused + "\n"
		}
		if err == nil || !strings.Contains(out, c.word) {
			t.Errorf("%s changed: %v\n%s", c.part, err, out)
		}
	}
}

// aptTry is aptFetch for what must fail.
func aptTry(t *testing.T, m *mirror, base string) (string, error) {
	t.Helper()
	s, err := m.Setup("apt", m.base, base)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.Files[0].Path, string(s.Files[0].Data))
	script := `mkdir -p state cache/archives/partial lists/partial
set -e
opts="-q -o Dir::State=$PWD/state -o Dir::State::lists=$PWD/lists -o Dir::State::status=/dev/null -o Dir::Cache=$PWD/cache -o APT::Sandbox::User=root -o Debug::NoLocking=1"
apt-get "$@" $opts update -o APT::Update::Error-Mode=any
apt-get "$@" $opts download $(apt-cache "$@" $opts pkgnames | sort | head -n 1)`
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, s.Args...)...)
	cmd.Dir, cmd.Env = base, append(nowhere(base), s.Env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// aptFetch updates the lists and downloads a package, into base alone.
func aptFetch(t *testing.T, m *mirror, base string) (name string) {
	t.Helper()
	for _, d := range []string{"state", "cache/archives/partial", "lists/partial"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	opts := []string{
		"-q", "-o", "Dir::State=" + base + "/state", "-o", "Dir::State::lists=" + base + "/lists", "-o", "Dir::State::status=/dev/null",
		"-o", "Dir::Cache=" + base + "/cache", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1",
	}
	apt := func(program string, args ...string) string {
		return m.runs(t, "apt", base, append(append([]string{program}, opts...), args...)...)
	}
	if out := apt("apt-get", "update"); strings.Contains(out, "W:") || strings.Contains(out, "E:") {
		t.Errorf("apt is not content:\n%s", out)
	}
	name = smallest(apt("apt-cache", "dumpavail"))
	apt("apt-get", "download", name)
	if got, _ := filepath.Glob(base + "/" + name + "_*.deb"); len(got) != 1 {
		t.Errorf("%s: %v", name, got)
	}
	return name
}

// smallest gives the package with the smallest file in apt's list.
func smallest(list string) (name string) {
	least := 1 << 40
	for _, part := range strings.Split(list, "\n\n") {
		field := func(key string) string {
			_, rest, _ := strings.Cut("\n"+part, "\n"+key+": ")
			line, _, _ := strings.Cut(rest, "\n")
			return line
		}
		if n, err := strconv.Atoi(field("Size")); err == nil && n < least {
			name, least = field("Package"), n
		}
	}
	return name
}

// The names of the registries come from the clients: the report shows that
// something was learned for each client that is there.
func TestLearnHere(t *testing.T) {
	t.Parallel()
	learned := learnOnce()
	for _, eco := range ecosystems {
		program := map[string]string{"pip": "pip3", "npm": "npm", "go": "go", "cargo": "cargo", "gem": "gem", "apt": "apt-get"}[eco]
		if _, err := exec.LookPath(program); err == nil && len(learned.For(eco)) == 0 {
			t.Errorf("%s is here, but its index was not learned: %v", eco, learned.Notes)
		}
	}
	if len(learned.Report()) < len(learned.Upstreams) {
		t.Error("the report leaves indexes out")
	}
	if len(learned.Upstreams) == 0 {
		unavailable(t, "pip", "no package manager here: %v", fmt.Sprint(learned.Notes))
	}
}
