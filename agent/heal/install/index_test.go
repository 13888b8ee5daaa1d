package install

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// index is a Python index of the test's own, on this machine.
type index struct {
	*httptest.Server

	mu    sync.Mutex
	files map[string][]byte
	pages map[string][]map[string]any
	asked int
}

func newIndex(t testing.TB) *index {
	t.Helper()
	x := &index{files: map[string][]byte{}, pages: map[string][]map[string]any{}}
	x.Server = httptest.NewServer(x)
	t.Cleanup(x.Close)
	return x
}

func (x *index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked++
	name := strings.Trim(r.URL.Path[strings.LastIndexByte(strings.TrimSuffix(r.URL.Path, "/"), '/'):], "/")
	if data, ok := x.files[name]; ok {
		_, _ = w.Write(data)
		return
	}
	files, ok := x.pages[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
	_ = json.NewEncoder(w).Encode(map[string]any{"meta": map[string]string{"api-version": "1.1"}, "name": name, "files": files})
}

// wheel publishes a release with one module that knows its version.
func (x *index) wheel(name, version string, age time.Duration, requires ...string) (file string) {
	module := strings.ReplaceAll(name, "-", "_")
	file = fmt.Sprintf("%s-%s-py3-none-any.whl", module, version)
	info := fmt.Sprintf("%s-%s.dist-info/", module, version)
	meta := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)
	for _, r := range requires {
		meta += "Requires-Dist: " + r + "\n"
	}
	data := zipped(map[string]string{
		module + ".py": fmt.Sprintf("version = %q\n", version), info + "METADATA": meta,
		info + "WHEEL":  "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		info + "RECORD": module + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n",
	})
	sum := sha256.Sum256(data)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files[file] = data
	x.pages[name] = append(x.pages[name], map[string]any{
		"filename": file, "url": x.URL + "/files/" + file, "hashes": map[string]string{"sha256": hex.EncodeToString(sum[:])},
		"upload-time": time.Now().Add(-age).UTC().Format(time.RFC3339),
	})
	return file
}

func zipped(files map[string]string) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, text := range files {
		w, _ := z.Create(name)
		_, _ = w.Write([]byte(text))
	}
	_ = z.Close()
	return buf.Bytes()
}

// Run plays a pip that is configured to use the index.
func (x *index) Run(context.Context, []string, []string) (string, error) {
	return "http://example.test/simple\n:env:.index-url='" + x.URL + "/simple'\n", nil
}

// installer installs from the index, in real boxes.
func (x *index) installer(t testing.TB) *Installer {
	t.Helper()
	m := &Mirror{CacheDir: t.TempDir(), Environ: os.Environ(), Prober: x, Cooldown: 7 * 24 * time.Hour}
	t.Cleanup(m.Close)
	return &Installer{Runtime: realRuntime(t), Store: Store{Dir: t.TempDir()}, Mirror: m, Now: time.Now}
}

const day = 24 * time.Hour

func pots(packages ...string) Request {
	return Request{Manager: "pip", Packages: packages, Argv0: "/usr/bin/python3", Env: baseEnv()}
}

func TestCooldown(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	x.wheel("pots", "1.0", 90*day)
	x.wheel("pots", "2.0", day)
	x.wheel("glaze", "1.0", 2*day)
	in := x.installer(t)
	l, err := in.Install(context.Background(), pots("pots"))
	if err != nil || strings.Join(l.Versions, ",") != "pots 1.0" {
		t.Fatalf("%v, %v: want the release that is old enough", l.Versions, err)
	}
	for want, packages := range map[string]string{
		"left out for being too young: pots 2.0 (a day old); to take it all the same: --cooldown-exempt pots": "pots>=2",
		"every release of glaze is younger than 7 days":                                                       "glaze",
	} {
		_, err := in.Install(context.Background(), pots(packages))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Reason, want) {
			t.Errorf("%s: %v, want %q", packages, err, want)
		}
	}
	young := x.installer(t)
	young.Mirror.Exempt = []string{"Pots"}
	if l, err := young.Install(context.Background(), pots("pots")); err != nil || strings.Join(l.Versions, ",") != "pots 2.0" {
		t.Errorf("%v, %v: want the newest release", l.Versions, err)
	}
}
