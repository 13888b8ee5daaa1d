package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kintsugi/agent/model/modeltest"
)

// TestMain lets the test binary be the kintsugi command that stories run.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kintsugi": main})
}

// TestStories drives the real command line: each file below testdata/stories
// is a user's story. A line "[net]" before a command needs the network.
func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/stories",
		RequireExplicitExec: true,
		Setup:               storySetup(t.TempDir()),
		Condition:           storyCondition(t),
	})
}

// storySetup gives each story a home of its own, beside its folder, and the
// system's programs.
func storySetup(homes string) func(*testscript.Env) error {
	return func(env *testscript.Env) error {
		return storyEnv(env, filepath.Join(homes, filepath.Base(env.WorkDir)))
	}
}

func storyEnv(env *testscript.Env, home string) error {
	env.Setenv("HOME", home)
	env.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	own, _, _ := strings.Cut(env.Getenv("PATH"), ":")
	env.Setenv("BIN", own)
	env.Setenv("PATH", own+":/usr/local/bin:/usr/bin:/bin")
	for _, key := range []string{"PIP_CERT", "PIP_INDEX_URL", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "npm_config_registry"} {
		if v := os.Getenv(key); v != "" {
			env.Setenv(key, v)
		}
	}
	if err := storyModel(env); err != nil {
		return err
	}
	if err := storyNodes(env); err != nil {
		return err
	}
	return os.MkdirAll(home, 0o755)
}

// nodesOfTests are the variables that name the tests' engines.
var nodesOfTests = [...]string{"KINTSUGI_TEST_DOCKER", "KINTSUGI_TEST_DOCKER_SECOND"}

// storyNodes tells a story where two engines are, and lets it build what runs in
// their containers.
func storyNodes(env *testscript.Env) error {
	if os.Getenv(nodesOfTests[0]) == "" {
		return nil
	}
	env.Setenv("NODE1", os.Getenv(nodesOfTests[0]))
	env.Setenv("NODE2", os.Getenv(nodesOfTests[1]))
	env.Setenv("IMAGE", "localhost/kintsugi-test/story:1")
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		return err
	}
	for i, dir := range strings.Fields(string(caches)) {
		env.Setenv([]string{"GOCACHE", "GOMODCACHE"}[i], dir)
	}
	goTool, err := exec.LookPath("go")
	env.Setenv("PATH", env.Getenv("PATH")+":"+filepath.Dir(goTool))
	return err
}

// storyModel gives a story with a file replies.toml a server whose model says
// that; any other has no model.
func storyModel(env *testscript.Env) error {
	env.Setenv("OLLAMA_HOST", "127.0.0.1:1")
	text, err := os.ReadFile(filepath.Join(env.WorkDir, "replies.toml"))
	if err != nil {
		return nil //nolint:nilerr // no file, no model
	}
	replies, err := modeltest.Replies(string(text))
	if err != nil {
		return err
	}
	server := httptest.NewServer(&modeltest.Server{Name: "tiny:1b", Replies: replies})
	env.Defer(server.Close)
	env.Setenv("OLLAMA_HOST", server.URL)
	return os.Remove(filepath.Join(env.WorkDir, "replies.toml"))
}

// storyCondition answers [boxes] (a sandbox works here) and [pip], [npm],
// [apt] (the index of that manager can be reached), [nodes] (there are two
// engines), [debian] (an image of Debian can be made), [nonet] (a command can be
// run where there is no network at all).
func storyCondition(t *testing.T) func(string) (bool, error) {
	reach := &reach{known: map[string]bool{}}
	return func(cond string) (bool, error) {
		switch cond {
		case "boxes":
			_, err := chooseRuntime(context.Background(), boxOptions{})
			if err != nil {
				fmt.Fprintf(os.Stderr, "story left out: %v\n", err)
			}
			return err == nil, nil
		case "nonet":
			err := exec.Command("unshare", "-n", "true").Run()
			if err != nil {
				fmt.Fprintf(os.Stderr, "stories without a network are left out: only root can take it away: %v\n", err)
			}
			return err == nil, nil
		case "nodes":
			return storyEngines(t), nil
		case "apt":
			_, err := exec.LookPath("apt-get")
			return err == nil && storyReach(t, reach, "pip"), nil
		case "debian":
			return storyDebian(t) && storyReach(t, reach, "pip"), nil
		case "pip", "npm":
			return storyReach(t, reach, cond), nil
		}
		return false, fmt.Errorf("unknown condition %q", cond)
	}
}

// storyEngines says whether there are two engines, which CI must have.
func storyEngines(t *testing.T) bool {
	for _, name := range nodesOfTests {
		if os.Getenv(name) == "" {
			if os.Getenv("CI") != "" {
				t.Errorf("%s names no engine", name)
			}
			fmt.Fprintf(os.Stderr, "stories of several engines are left out: %s names none\n", name)
			return false
		}
	}
	return true
}

// storyDebian says whether an image of Debian can be made, which root can in CI.
func storyDebian(t *testing.T) bool {
	_, err := exec.LookPath("debootstrap")
	if err == nil && os.Geteuid() == 0 {
		return true
	}
	if os.Getenv("CI") != "" && os.Geteuid() == 0 {
		t.Error("debootstrap is not installed")
	}
	fmt.Fprintln(os.Stderr, "the story of a Debian image is left out: it needs root and debootstrap")
	return false
}

// reach is what stories, which run side by side, know of the indexes.
type reach struct {
	mu    sync.Mutex
	known map[string]bool
}

// storyReach asks once for each manager.
func storyReach(t *testing.T, r *reach, manager string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, asked := r.known[manager]; !asked {
		r.known[manager] = reachable(t, manager)
	}
	return r.known[manager]
}

// reachable asks an ecosystem's own client for its index and whether that
// answers. In CI an index that does not answer is a failure, not a skip.
func reachable(t *testing.T, manager string) bool {
	index, err := indexOf(manager)
	if err == nil {
		client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		}}
		var resp *http.Response
		if resp, err = client.Head(index); err == nil {
			_ = resp.Body.Close()
			return true
		}
	}
	if os.Getenv("CI") != "" {
		t.Errorf("the index of %s does not answer: %v", manager, err)
	}
	fmt.Fprintf(os.Stderr, "stories that install with %s are left out: %v\n", manager, err)
	return false
}

func indexOf(manager string) (string, error) {
	argv := []string{"npm", "config", "get", "registry"}
	if manager == "pip" {
		argv = []string{"/usr/bin/python3", "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"}
		if url := os.Getenv("PIP_INDEX_URL"); url != "" {
			return url, nil
		}
	}
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	return strings.TrimSpace(string(out)), err
}
