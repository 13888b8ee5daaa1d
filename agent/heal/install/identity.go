package install

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kintsugi/sandbox"
)

// identity remembers what an interpreter said about itself, so that a box need
// not be asked again. It holds for one file of the host, as long as that is
// unchanged, and only where boxes see the host's own programs.
type identity struct{ file string }

// identify names the interpreter that argv0 is in a box. A script, which may
// lead anywhere, has no identity.
func (in *Installer) identify(r Request, argv0 string) identity {
	if in.Runtime.Name() != "namespace" || sandbox.RootOf(in.Runtime) != "" {
		return identity{}
	}
	path := lookIn(r.Env, argv0)
	stamp := stampOf(path)
	if stamp == "" || !isProgram(path) {
		return identity{}
	}
	venv := stampOf(filepath.Join(filepath.Dir(filepath.Dir(path)), "pyvenv.cfg"))
	dir, err := in.tools().shared("interpreters")
	if err != nil {
		return identity{}
	}
	return identity{filepath.Join(dir, Key(append([]string{path, stamp, venv}, r.Layers...)...)+".json")}
}

// load gives what was remembered.
func (i identity) load(v any) bool {
	data, err := os.ReadFile(i.file)
	return i.file != "" && err == nil && json.Unmarshal(data, v) == nil
}

// save remembers. Failing to costs time and nothing else.
func (i identity) save(v any) {
	data, err := json.Marshal(v)
	if i.file == "" || err != nil {
		return
	}
	tmp, err := os.CreateTemp(filepath.Dir(i.file), "new-")
	if err != nil {
		return
	}
	_, err = tmp.Write(data)
	if cerr := tmp.Close(); err == nil && cerr == nil && os.Rename(tmp.Name(), i.file) == nil {
		return
	}
	_ = os.Remove(tmp.Name())
}

// lookIn finds a command on the PATH of env.
func lookIn(env []string, argv0 string) string {
	if filepath.IsAbs(argv0) {
		return argv0
	}
	for _, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok || strings.Contains(argv0, "/") {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, argv0)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path
			}
		}
	}
	return ""
}

// stampOf changes when a file does; a file that is not there has none.
func stampOf(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if path == "" || err != nil {
		return ""
	}
	info, err := os.Stat(real)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", real, info.Size(), info.ModTime().UnixNano())
}

// isProgram tells a program from a script.
func isProgram(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [4]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "\x7fELF"
}
