package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhereTheEngineIs(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	sum := sha256.Sum256([]byte("lab"))
	id := hex.EncodeToString(sum[:])
	for name, text := range map[string]string{
		"config.json":                           `{"currentContext":"lab"}`,
		"contexts/meta/" + id + "/meta.json":    `{"Name":"lab","Endpoints":{"docker":{"Host":"tcp://lab.example.test:2376","SkipTLSVerify":false}}}`,
		"contexts/tls/" + id + "/docker/ca.pem": "",
	} {
		path := filepath.Join(home, ".docker", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certs := filepath.Join(home, ".docker/contexts/tls", id, "docker")
	for _, c := range []struct {
		option string
		env    []string
		want   place
		wrong  string
	}{
		{"", nil, place{host: "tcp://lab.example.test:2376", certs: certs}, ""},
		{"", []string{"DOCKER_HOST=unix:///x.sock"}, place{host: "unix:///x.sock"}, ""},
		{"unix:///y.sock", []string{"DOCKER_HOST=unix:///x.sock"}, place{host: "unix:///y.sock"}, ""},
		{"", []string{"DOCKER_HOST=tcp://h:2376", "DOCKER_TLS_VERIFY=1", "DOCKER_CERT_PATH=/certs"}, place{host: "tcp://h:2376", certs: "/certs"}, ""},
		{"tcp://h:2376", []string{"DOCKER_TLS_VERIFY=1", "DOCKER_CERT_PATH=/certs"}, place{host: "tcp://h:2376", certs: "/certs"}, ""},
		{"lab", []string{"DOCKER_HOST=unix:///x.sock"}, place{host: "tcp://lab.example.test:2376", certs: certs}, ""},
		{"default", []string{"DOCKER_HOST=unix:///x.sock"}, place{host: usualPlace(Options{})}, ""},
		{"nonesuch", nil, place{}, `the Docker context "nonesuch" is not there`},
		{"", []string{"DOCKER_CONTEXT=nonesuch"}, place{}, `the Docker context "nonesuch" is not there`},
		{"", []string{"DOCKER_CONTEXT=default"}, place{host: usualPlace(Options{})}, ""},
	} {
		got, err := findDocker(Options{Host: c.option, Environ: append([]string{"HOME=" + home}, c.env...)})
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%v: %+v, %v", c.env, got, err)
		}
	}
	if c, err := (place{host: "ssh://me@lab.example.test"}).client(); err != nil || !strings.HasPrefix(c.DaemonHost(), "http://") {
		t.Errorf("over ssh: %v", err)
	}
	if _, err := (place{host: "nonsense"}).client(); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("nonsense: %v", err)
	}
}

// TestSocketsOfKilledWorkbenches: a folder goes when nobody listens in it and it
// is no new one.
func TestSocketsOfKilledWorkbenches(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	for _, name := range []string{"empty", "dead", "alive"} {
		dir := filepath.Join(in, socketDirs+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "empty" {
			continue
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "podman.sock")})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if name == "dead" {
			l.SetUnlinkOnClose(false)
			l.Close()
		}
	}
	left := func() string {
		dirs, _ := filepath.Glob(filepath.Join(in, "*"))
		return strings.Join(dirs, " ")
	}
	all := left()
	if dropSockets(in, time.Now()); left() != all {
		t.Errorf("new ones went: %s", left())
	}
	if dropSockets(in, time.Now().Add(time.Hour)); left() != filepath.Join(in, socketDirs+"alive") {
		t.Errorf("left: %s", left())
	}
}
