package abuse

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/docker/keeper"
	"kintsugi/sandbox/namespace"
)

// TestMain makes the test binary the program that boxes run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__probe":
			os.Exit(ProbeMain(os.Args[2:]))
		case "__victim":
			os.Exit(VictimMain(namespace.New(namespace.Options{}), os.Args[2:]))
		case "__victim_docker":
			os.Exit(VictimMain(dockerRuntime(os.Args[0]), os.Args[2:]))
		case keeper.Word:
			os.Exit(keeper.Main(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// TestMatrix runs the whole table as the user that runs the tests: in boxes
// made from nothing, and in boxes that waited for their command.
func TestMatrix(t *testing.T) {
	t.Parallel()
	t.Run("new", func(t *testing.T) {
		matrix(t, 0, func(rt *namespace.Runtime) sandbox.Runtime { return rt })
	})
	t.Run("made ready", func(t *testing.T) {
		matrix(t, 1, func(rt *namespace.Runtime) sandbox.Runtime { return expecting{rt} })
	})
}

// expecting is a runtime that is told each spec beforehand.
type expecting struct{ *namespace.Runtime }

func (r expecting) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	_ = r.Warm(&spec) // what cannot be made is Start's to tell
	return r.Runtime.Start(ctx, spec)
}

func matrix(t *testing.T, warm int, wrap func(*namespace.Runtime) sandbox.Runtime) {
	t.Parallel()
	home := t.TempDir()
	for _, file := range []string{".ssh/id_ed25519", ".aws/credentials", ".netrc", ".bash_history",
		".local/state/kintsugi/session"} {
		path := filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "HOME="+home)
	rt := namespace.New(namespace.Options{Environ: environ, Home: home, Warm: warm})
	defer rt.Close()
	o := Options{Exe: exe, Home: home, Victim: []string{exe, "__victim"}, Only: only(t),
		State: []string{filepath.Join(home, ".local/state/kintsugi")}}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	report, err := Run(ctx, wrap(rt), o)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := report.WriteTable(&table, 150); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
	for _, e := range report.Breaches() {
		t.Errorf("case %d, %s: %s: %s", e.Number, e.Title, e.Outcome, e.Detail)
	}
}

// only reads the numbers of cases to try from KINTSUGI_ABUSE_ONLY, for work on
// a single probe.
func only(t *testing.T) []int {
	var out []int
	for _, word := range strings.FieldsFunc(os.Getenv("KINTSUGI_ABUSE_ONLY"), func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// raced says whether this program was built with the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestMatrixAsUser runs the table again as an ordinary user.
func TestMatrixAsUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root: TestMatrix was the run of an ordinary user")
	}
	uid, gid := ordinary()
	dir, err := os.MkdirTemp("", "kintsugi-abuse-user-")
	if err != nil {
		t.Fatal(err)
	}
	defer removeAll(dir)
	exe := filepath.Join(dir, "abuse.test")
	if raced() {
		// The race detector's own memory is more than an ordinary user's box
		// may have where no control group counts it.
		build := exec.Command("go", "test", "-c", "-race=false", "-o", exe, ".")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building the probes: %v\n%s", err, out)
		}
	} else {
		copyTo(t, exe)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestMatrix$", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir,
		"KINTSUGI_ABUSE_ONLY=" + os.Getenv("KINTSUGI_ABUSE_ONLY")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("as uid %d: %v", uid, err)
	}
}

// ordinary is the user to run as: the one called kin, or just a number.
func ordinary() (uid, gid int) {
	if u, err := user.Lookup("kin"); err == nil {
		uid, _ = strconv.Atoi(u.Uid)
		gid, _ = strconv.Atoi(u.Gid)
		return uid, gid
	}
	return 23456, 23456
}

func copyTo(t *testing.T, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
}
