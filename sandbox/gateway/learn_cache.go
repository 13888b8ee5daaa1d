package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Memo remembers what package managers told, so that not every installation
// waits for them. It forgets when the environment or one of their usual
// settings files changes, and after an hour in any case. What came with
// credentials is never written down.
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

type memoEntry struct {
	At      time.Time `json:"at"`
	Key     string    `json:"key"`
	Learned Learned   `json:"learned"`
}

// Learn gives what is remembered of an ecosystem, or asks l.
func (m Memo) Learn(ctx context.Context, l Learner, eco string) Learned {
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	path, key := filepath.Join(m.Dir, "learned-"+eco+".json"), m.key(eco)
	var e memoEntry
	if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &e) == nil && e.Key == key {
		if age := now().Sub(e.At); age >= 0 && age < memoAge {
			return e.Learned
		}
	}
	found := l.Learn(ctx, eco)
	secret := slices.ContainsFunc(found.Upstreams, func(u Upstream) bool { return u.Auth != "" })
	if len(found.Upstreams) > 0 && !secret {
		m.write(path, memoEntry{now(), key, found})
	}
	return found
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

// settings are where package managers keep their configuration: variables that
// begin with one of the words, and files.
var settings = map[string]struct{ vars, files []string }{
	"pip":   {[]string{"PIP_", "UV_"}, []string{"/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf"}},
	"npm":   {[]string{"npm_config_", "NPM_CONFIG_"}, []string{"~/.npmrc", "/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"}},
	"go":    {[]string{"GO"}, []string{"~/.config/go/env"}},
	"cargo": {[]string{"CARGO_"}, []string{"~/.cargo/config.toml", "~/.cargo/config"}},
	"maven": {[]string{"MAVEN_", "M2_"}, []string{"~/.m2/settings.xml", "/etc/maven/settings.xml"}},
	"gem":   {[]string{"GEM"}, []string{"~/.gemrc", "/etc/gemrc"}},
	"apt":   {nil, []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/auth.conf", "/etc/apt/auth.conf.d"}},
}

// key stands for the state of an ecosystem's settings.
func (m Memo) key(eco string) string {
	s, h := settings[eco], sha256.New()
	home := lookupEnv(m.Environ, "HOME", "USERPROFILE")
	fmt.Fprintln(h, home, lookupEnv(m.Environ, "PATH"))
	for _, kv := range slices.Sorted(slices.Values(m.Environ)) {
		if slices.ContainsFunc(s.vars, func(v string) bool { return strings.HasPrefix(kv, v) }) {
			fmt.Fprintln(h, kv)
		}
	}
	for _, f := range s.files {
		if info, err := os.Stat(strings.Replace(f, "~", home, 1)); err == nil {
			fmt.Fprintln(h, f, info.ModTime().UnixNano(), info.Size())
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
