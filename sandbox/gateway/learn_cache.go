package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Memo remembers what the slow ones among the package managers told: pip and
// npm take half a second each, Maven more. It asks anew as soon as their
// environment or one of the files that they named as their settings changes,
// appears or goes, and after an hour in any case. What came with credentials,
// and what depends on other variables, is never written down.
type Memo struct {
	// Dir holds the memory; the cache directory of the gateway will do.
	Dir string
	// Environ is the environment that the package managers see.
	Environ []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// memoAge is how long an answer is good for when nothing seems to change.
const memoAge = time.Hour

// memoQuiet is how long settings must have been left alone before an answer is
// remembered: they might have changed while the package manager read them.
const memoQuiet = 2 * time.Second

type memoEntry struct {
	At      time.Time         `json:"at"`
	Key     string            `json:"key"`
	Files   map[string]string `json:"files"` // stamps of the settings files
	Learned Learned           `json:"learned"`
}

// Learn gives what is remembered of an ecosystem, or asks l.
func (m Memo) Learn(ctx context.Context, l Learner, eco string) Learned {
	if !slices.Contains([]string{"pip", "npm", "maven"}, eco) {
		return l.Learn(ctx, eco)
	}
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	path, start, key := filepath.Join(m.Dir, "learned-"+eco+".json"), now(), m.key(eco)
	var e memoEntry
	if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &e) == nil && e.Key == key && e.good(start) {
		for i, up := range e.Learned.Upstreams {
			e.Learned.Upstreams[i].Private = l.private(ctx, up) // the network may be another one
		}
		return e.Learned
	}
	found := l.Learn(ctx, eco)
	secret := slices.ContainsFunc(found.Upstreams, func(u Upstream) bool { return u.Auth != "" })
	e = memoEntry{start, key, map[string]string{}, found}
	for _, f := range found.files {
		if e.Files[f] = stamp(f); changedSince(f, start.Add(-memoQuiet)) {
			return found
		}
	}
	if len(found.Upstreams) > 0 && len(found.files) > 0 && !secret {
		m.write(path, e)
	}
	return found
}

// good says whether nothing changed since the entry was made.
func (e memoEntry) good(now time.Time) bool {
	if age := now.Sub(e.At); age < 0 || age >= memoAge {
		return false
	}
	for f, was := range e.Files {
		if stamp(f) != was {
			return false
		}
	}
	return true
}

// write is a best effort: without a memory the question is asked again.
func (m Memo) write(path string, e memoEntry) {
	data, err := json.Marshal(e)
	if err != nil || os.MkdirAll(m.Dir, 0o700) != nil {
		return
	}
	tmp, err := os.CreateTemp(m.Dir, ".learned-")
	if err != nil {
		return
	}
	_, err = tmp.Write(data)
	if closed := tmp.Close(); err == nil && closed == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
}

// stamp changes with a file; one that is not there has none.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
}

func changedSince(path string, t time.Time) bool {
	info, err := os.Stat(path)
	return err == nil && info.ModTime().After(t)
}

// asking are the variables by which a package manager finds its settings, or
// another copy of itself, and the beginnings of those that are settings.
var (
	asking = []string{
		"HOME", "USERPROFILE", "APPDATA", "PATH", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "VIRTUAL_ENV", "PREFIX", "PYENV_VERSION", "NODE_OPTIONS",
	}
	askingAlso = map[string][]string{"pip": {"PIP_", "PYTHON"}, "npm": {"NPM_CONFIG_"}, "maven": {"MAVEN_", "M2_", "JAVA_HOME"}}
)

// key stands for an ecosystem's environment and the programs that are asked.
func (m Memo) key(eco string) string {
	h := sha256.New()
	for _, kv := range slices.Sorted(slices.Values(m.Environ)) {
		name, _, _ := strings.Cut(kv, "=")
		upper := strings.ToUpper(name)
		if slices.Contains(asking, upper) || slices.ContainsFunc(askingAlso[eco], func(p string) bool { return strings.HasPrefix(upper, p) }) {
			fmt.Fprintln(h, kv)
		}
	}
	for _, program := range []string{"python3", "python", "npm", "node", "mvn"} {
		for _, dir := range filepath.SplitList(lookupEnv(m.Environ, "PATH")) {
			if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
				fmt.Fprintln(h, path, stamp(path))
				break
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
