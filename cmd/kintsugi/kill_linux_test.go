package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kintsugi/sandbox/gateway"
)

// halfway is an index of Python packages with one well-known name. The first
// download of its wheel stops in the middle, until that client goes away.
type halfway struct {
	*httptest.Server
	wheel []byte
	times atomic.Int32
	half  chan struct{} // closed when the first download stops
}

const halfWheel = "inflect-1.0-py3-none-any.whl"

func newHalfway(t *testing.T) *halfway {
	t.Helper()
	x := &halfway{half: make(chan struct{}), wheel: bigWheel(t)}
	x.Server = httptest.NewServer(http.HandlerFunc(x.serve))
	t.Cleanup(x.Close)
	return x
}

func (x *halfway) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/inflect/"):
		sum := sha256.Sum256(x.wheel)
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		fmt.Fprintf(w, `{"meta":{"api-version":"1.0"},"name":"inflect","files":[{"filename":%q,"url":"/files/%s","hashes":{"sha256":%q}}]}`,
			halfWheel, halfWheel, hex.EncodeToString(sum[:]))
	case strings.HasSuffix(r.URL.Path, halfWheel) && x.times.Add(1) == 1:
		w.Header().Set("Content-Length", fmt.Sprint(len(x.wheel)))
		_, _ = w.Write(x.wheel[:len(x.wheel)/2])
		w.(http.Flusher).Flush()
		close(x.half)
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, halfWheel):
		_, _ = w.Write(x.wheel)
	default:
		http.NotFound(w, r)
	}
}

// bigWheel is a wheel of two megabytes with the module inflect.
func bigWheel(t *testing.T) []byte {
	t.Helper()
	const info = "inflect-1.0.dist-info/"
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, f := range [][2]string{
		{"inflect.py", "word = 'pots'\n"}, {info + "METADATA", "Metadata-Version: 2.1\nName: inflect\nVersion: 1.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", "inflect.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
		{"filling.bin", strings.Repeat("clay", 1<<19)},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f[0], Method: zip.Store})
		if err == nil {
			_, err = io.WriteString(w, f[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// user is a person with a home, a cache and a project of their own.
type user struct {
	t            *testing.T
	dir, project string
	env          []string
}

func newUser(t *testing.T, index string) *user {
	t.Helper()
	u := &user{t: t, dir: t.TempDir()}
	u.project = filepath.Join(u.dir, "project")
	u.write("report.py", "import inflect\nprint(inflect.word)\n")
	u.env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + u.dir, "XDG_CACHE_HOME=" + u.dir + "/cache", "XDG_STATE_HOME=" + u.dir + "/state",
		"XDG_CONFIG_HOME=" + u.dir + "/config", "PIP_INDEX_URL=" + index + "/simple", "PIP_CONFIG_FILE=/dev/null",
	}
	return u
}

func (u *user) write(name, text string) {
	u.t.Helper()
	if err := os.MkdirAll(u.project, 0o755); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(u.project, name), []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// kintsugi starts the command; it is this test program under another name.
func (u *user) kintsugi(args ...string) (*exec.Cmd, *bytes.Buffer) {
	u.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		u.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	u.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Args[0], cmd.Dir, cmd.Env = "kintsugi", u.project, u.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	return cmd, &out
}

// works runs the command and wants it to succeed.
func (u *user) works(args ...string) string {
	u.t.Helper()
	cmd, out := u.kintsugi(args...)
	if err := cmd.Wait(); err != nil {
		u.t.Fatalf("kintsugi %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out.String()
}

// Two sessions fetch the same package; the one that does is killed in the
// middle. The other one, and whatever comes later, has it right.
func TestKilledInTheMiddleOfADownload(t *testing.T) {
	t.Parallel()
	if _, err := chooseRuntime(context.Background(), boxOptions{}); err != nil {
		t.Skipf("no boxes here: %v", err)
	}
	x := newHalfway(t)
	u := newUser(t, x.URL)
	first, told := u.kintsugi("run", "report.py")
	select {
	case <-x.half:
	case <-time.After(time.Minute):
		t.Fatalf("nothing was fetched:\n%s", told)
	}
	second, out := u.kintsugi("run", "report.py")
	waiting(t, second, out)
	if err := first.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if err := second.Wait(); err != nil || !strings.Contains(out.String(), "pots") {
		t.Fatalf("the other session: %v\n%s", err, out)
	}
	if n := x.times.Load(); n != 2 {
		t.Errorf("the file was fetched %d times, want once by each", n)
	}
	intact(t, filepath.Join(u.dir, "cache", "kintsugi", "packages"))
	if err := os.RemoveAll(filepath.Join(u.dir, "cache", "kintsugi", "layers")); err != nil {
		t.Fatal(err)
	}
	if text := u.works("run", "--offline", "report.py"); !strings.Contains(text, "inflect") || !strings.Contains(text, "pots") {
		t.Errorf("the next run, without a network:\n%s", text)
	}
}

// waiting waits until a session has begun to mend: it is then at, or on its way
// to, the download that the other one has begun.
func waiting(t *testing.T, cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if locksWaited(cmd.Process.Pid) {
			return
		}
	}
	t.Fatalf("the second session never waited for the first one:\n%s", out)
}

// locksWaited says whether a process has a part of the cache open.
func locksWaited(pid int) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.Contains(to, "/packages/parts/sha256-") {
			return true
		}
	}
	return false
}

// intact wants every file of the cache to have the hash that it is named by,
// and no left-overs once the cache was looked through.
func intact(t *testing.T, cache string) {
	t.Helper()
	blobs := 0
	err := filepath.WalkDir(filepath.Join(cache, "blobs", "sha256"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		if hex.EncodeToString(sum[:]) != d.Name() {
			t.Errorf("%s is damaged", path)
		}
		blobs++
		return err
	})
	if err != nil || blobs == 0 {
		t.Errorf("%d files, %v", blobs, err)
	}
	if _, err := gateway.PruneCache(cache, 1<<40); err != nil {
		t.Error(err)
	}
	if parts, _ := filepath.Glob(filepath.Join(cache, "parts", "sha256-*")); len(parts) != 0 {
		t.Errorf("left over: %v", parts)
	}
}
