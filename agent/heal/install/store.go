package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kintsugi/sandbox/shelf"
)

// Layer is what an installation left: a tree to lay over "/", and what a box
// needs in its environment to find it.
type Layer struct {
	Key       string    `json:"key"`
	Manager   string    `json:"manager"`
	Packages  []string  `json:"packages"`           // as asked for
	Versions  []string  `json:"versions,omitempty"` // "pandas 2.3.3"
	Env       []string  `json:"env,omitempty"`      // KEY=value for every run
	Path      []string  `json:"path,omitempty"`     // directories added to PATH
	Installed time.Time `json:"installed"`
	// Before is a command that a box runs in the project before the program;
	// it costs a box of its own. Empty: none.
	Before []string `json:"before,omitempty"`
	// For is the interpreter and platform that it was made for.
	For string `json:"for,omitempty"`
	// Artefacts are the files that were fetched, with their hashes.
	Artefacts []Artefact `json:"artefacts,omitempty"`
	// Size is what is in all files of the tree, in bytes.
	Size int64 `json:"size,omitempty"`
	// OwnCode says that all byte code in it was compiled here, and none came
	// with a package.
	OwnCode bool `json:"own_code,omitempty"`
	// Tree is the directory, set on loading.
	Tree string `json:"-"`
	// Reused is set when the layer was there before it was asked for.
	Reused bool `json:"-"`
}

// Store keeps layers by content key in one directory. Two processes may share
// it: a layer appears whole, by a rename, or not at all.
type Store struct{ Dir string }

// sharedDir holds what is no layer and all sessions use.
const sharedDir = "shared"

// Key names a layer by what goes into it.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s,", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}

// Find returns the finished layer of that key. One that is no longer whole is
// removed.
func (s Store) Find(key string) (Layer, bool) {
	dir := filepath.Join(s.Dir, key)
	data, err := os.ReadFile(filepath.Join(dir, layerFile))
	if err != nil {
		return Layer{}, false
	}
	var l Layer
	if json.Unmarshal(data, &l) != nil || l.Key != key {
		return Layer{}, false
	}
	l.Tree, l.Reused = filepath.Join(dir, "tree"), true
	if !shelf.Whole(dir, l.Tree, l.Size) {
		_, _ = s.Remove(key)
		return Layer{}, false
	}
	return l, true
}

// layerFile describes a layer. Its time is that of the layer's last use.
const layerFile = "layer.json"

// build is a layer in the making.
type build struct {
	dir, tree string
	store     Store
}

func (s Store) begin() (*build, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot keep layers in %s: %w", s.Dir, err)
	}
	dir, err := os.MkdirTemp(s.Dir, shelf.Making)
	if err != nil {
		return nil, fmt.Errorf("cannot make a layer in %s: %w", s.Dir, err)
	}
	b := &build{dir: dir, tree: filepath.Join(dir, "tree"), store: s}
	return b, os.Mkdir(b.tree, 0o755)
}

// finish publishes the layer. Losing a race to another process is a success:
// the same key means the same content.
func (b *build) finish(l Layer) (Layer, error) {
	l.Size = shelf.Size(b.tree)
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return Layer{}, err
	}
	shelf.Finished(b.dir)
	if err := os.WriteFile(filepath.Join(b.dir, layerFile), append(data, '\n'), 0o600); err != nil {
		return Layer{}, fmt.Errorf("cannot write the layer: %w", err)
	}
	final := filepath.Join(b.store.Dir, l.Key)
	if err := os.Rename(b.dir, final); err != nil {
		if other, ok := b.store.Find(l.Key); ok {
			b.drop()
			return other, nil
		}
		return Layer{}, fmt.Errorf("cannot keep the layer: %w", err)
	}
	l.Tree = filepath.Join(final, "tree")
	return l, nil
}

func (b *build) drop() { _ = os.RemoveAll(b.dir) }

// shared makes a directory that all sessions use.
func (s Store) shared(name string) (string, error) {
	dir := filepath.Join(s.Dir, sharedDir, name)
	return dir, os.MkdirAll(dir, 0o755)
}
