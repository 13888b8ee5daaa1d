package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/sandbox/gateway"
)

// Artefact is one file that an installation took, for locks.
type Artefact struct {
	Ecosystem string `json:"ecosystem"`
	Name      string `json:"name"`
	Version   string `json:"version,omitempty"`
	File      string `json:"file"`
	Hash      string `json:"hash,omitempty"`
	// Files are all files of the release and their hashes, where the index
	// lists them: what another platform takes instead.
	Files map[string]string `json:"files,omitempty"`
}

// Pin is the artefact as a lock has it.
func (a Artefact) Pin() gateway.Pin {
	p := gateway.Pin{Ecosystem: a.Ecosystem, Name: a.Name, Version: a.Version, Files: map[string]string{a.File: a.Hash}}
	for file, hash := range a.Files {
		p.Files[file] = hash
	}
	return p
}

// artefacts lists the files that were served whole, the newest of each name,
// without the metadata of wheels.
func (f *fetched) artefacts() []Artefact {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[string]bool{}
	var out []Artefact
	for _, e := range f.entries {
		key := e.Ecosystem + " " + e.Artefact
		if e.Artefact == "" || e.Refused != "" || e.Status >= 300 || seen[key] || strings.HasSuffix(e.Artefact, ".metadata") {
			continue
		}
		seen[key] = true
		out = append(out, Artefact{Ecosystem: e.Ecosystem, Name: e.Name, Version: e.Version, File: e.Artefact, Hash: e.Hash})
	}
	slices.SortFunc(out, func(a, b Artefact) int { return strings.Compare(a.File, b.File) })
	return out
}

// installed keeps the artefacts of the versions that are there in the end
// ("pandas 2.3.3"): a resolver may have fetched others.
func installed(all []Artefact, versions []string) []Artefact {
	have := map[string]bool{}
	for _, v := range versions {
		have[plain(v)] = true
	}
	return slices.DeleteFunc(all, func(a Artefact) bool { return !have[plain(a.Name+" "+a.Version)] })
}

// releases adds to artefacts what their index knows about the other files of
// the same releases. It asks for pages that were just used; what cannot be had
// is left out.
func (in *Installer) releases(ctx context.Context, manager string, list []Artefact) []Artefact {
	if in.Mirror == nil {
		return list
	}
	g, err := in.Mirror.gateway(ctx, manager)
	if err != nil {
		return list
	}
	for i, a := range list {
		if pin, err := g.Release(ctx, manager, a.Name, a.Version); err == nil && pin.Files[a.File] == a.Hash {
			list[i].Files = pin.Files
		}
	}
	return list
}

// debs lists fetched packages of the system, with hashes of our own: apt
// checks them against signed lists and keeps none.
func debs(dir string) ([]Artefact, error) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
	var out []Artefact
	for _, f := range files {
		part := strings.SplitN(filepath.Base(f), "_", 3)
		if len(part) != 3 {
			continue
		}
		hash, err := hashFile(f)
		if err != nil {
			return nil, err
		}
		version := strings.ReplaceAll(part[1], "%3a", ":")
		out = append(out, Artefact{Ecosystem: "apt", Name: part[0], Version: version, File: filepath.Base(f), Hash: hash})
	}
	return out, nil
}

// took makes artefacts the layer's own; its versions are theirs.
func (l *Layer) took(files []Artefact) {
	l.Artefacts = files
	for _, f := range files {
		l.Versions = append(l.Versions, f.Name+" "+f.Version)
	}
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), err
}

// matches says whether a layer was made of exactly what the pins name.
func (l Layer) matches(pins []gateway.Pin) bool {
	if len(l.Artefacts) != len(pins) {
		return false
	}
	for _, a := range l.Artefacts {
		if !slices.ContainsFunc(pins, func(p gateway.Pin) bool {
			return plain(p.Name) == plain(a.Name) && p.Version == a.Version && a.Hash != "" && p.Files[a.File] == a.Hash
		}) {
			return false
		}
	}
	return true
}

// checkPinned compares what a manager fetched with the pins, before anything of
// it is used.
func checkPinned(r Request, got []Artefact) error {
	for _, a := range got {
		i := slices.IndexFunc(r.Pins, func(p gateway.Pin) bool { return p.Name == a.Name && p.Version == a.Version })
		if i < 0 { // a manager that takes several versions of a package has several pins
			i = slices.IndexFunc(r.Pins, func(p gateway.Pin) bool { return p.Name == a.Name })
		}
		switch {
		case len(r.Pins) == 0, i < 0 && r.Unpinned:
		case i < 0:
			return &Error{Manager: r.Manager, Reason: a.Name + " is not in the lock"}
		case r.Pins[i].Version != a.Version || r.Pins[i].Files[a.File] != a.Hash:
			return &Error{Manager: r.Manager, Reason: a.Name + " " + a.File + " is not what the lock says"}
		}
	}
	return nil
}
