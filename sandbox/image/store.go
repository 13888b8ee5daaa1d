package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"kintsugi/sandbox/shelf"
)

// Store keeps unpacked images, shared by all sessions.
type Store struct {
	// Dir is where they are.
	Dir string
	// Limits bound one image.
	Limits Limits
	// Arch is the processor; empty means this machine's.
	Arch string
	// Offline never asks a registry.
	Offline bool
	// Progress is told what takes long; it may be nil.
	Progress func(string)
	// Transport stands in for the network in tests.
	Transport http.RoundTripper
}

// pin is what a name was found to stand for.
type pin struct{ Name, Digest string }

// configFile is its name, and the one that is locked while the tree is used.
const configFile = "config.json"

// config is kept beside a tree.
type config struct {
	Digest string
	Env    []string
	Size   int64 // of the tree's files, in bytes; 0: not known
}

// Get gives the image with a name: as it was found before, or from its
// registry.
func (s *Store) Get(ctx context.Context, ref string) (Root, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return Root{}, fmt.Errorf("--image %s: this is no name of an image", ref)
	}
	if digest := s.pinned(parsed); digest != "" {
		if root, ok := s.have(ref, digest); ok {
			return root, nil
		}
	}
	if s.Offline {
		return Root{}, fmt.Errorf("--image %s: it is not on this machine, and nothing may be fetched (--offline)", ref)
	}
	return s.Refresh(ctx, ref)
}

// Refresh asks the registry what a name stands for now, and gives that.
func (s *Store) Refresh(ctx context.Context, ref string) (Root, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return Root{}, fmt.Errorf("--image %s: this is no name of an image", ref)
	}
	s.tell("looking up the image " + ref)
	img, err := remote.Image(parsed, s.options(ctx)...)
	if err != nil {
		return Root{}, fmt.Errorf("--image %s cannot be fetched: %s", ref, plain(err))
	}
	digest, err := img.Digest()
	if err != nil {
		return Root{}, fmt.Errorf("--image %s: %s", ref, plain(err))
	}
	root, ok := s.have(ref, digest.String())
	if !ok {
		if root, err = s.unpack(ctx, ref, digest.String(), img); err != nil {
			return Root{}, fmt.Errorf("--image %s: %s", ref, plain(err))
		}
	}
	return root, s.pin(parsed, digest.String())
}

func (s *Store) tell(text string) {
	if s.Progress != nil {
		s.Progress(text)
	}
}

func (s *Store) options(ctx context.Context) []remote.Option {
	arch := s.Arch
	if arch == "" {
		arch = runtime.GOARCH
	}
	out := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}),
	}
	if s.Transport != nil {
		out = append(out, remote.WithTransport(s.Transport))
	}
	return out
}

// plain puts a registry's answer on one line.
func plain(err error) string {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Error()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// key is a file name for a text.
func key(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (s *Store) pinPath(ref name.Reference) string {
	return filepath.Join(s.Dir, "names", key(ref.Name()+" "+s.Arch)+".json")
}

// pinned is the digest of a name that was asked for before, or that is part of
// the name.
func (s *Store) pinned(ref name.Reference) string {
	if d, ok := ref.(name.Digest); ok && s.Arch == "" {
		if s.path(d.DigestStr()) != "" && exists(filepath.Join(s.path(d.DigestStr()), configFile)) {
			return d.DigestStr()
		}
	}
	var p pin
	data, err := os.ReadFile(s.pinPath(ref))
	if err != nil || json.Unmarshal(data, &p) != nil || p.Name != ref.Name() {
		return ""
	}
	return p.Digest
}

func (s *Store) pin(ref name.Reference, digest string) error {
	return writeJSON(s.pinPath(ref), pin{ref.Name(), digest})
}

// path is where the image with a digest is; nowhere for what is no digest.
func (s *Store) path(digest string) string {
	hash, err := v1.NewHash(digest)
	if err != nil {
		return ""
	}
	return filepath.Join(s.Dir, "roots", hash.Algorithm+"-"+hash.Hex)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// have gives an image that is unpacked already. One that is no longer whole is
// removed.
func (s *Store) have(ref, digest string) (Root, bool) {
	dir := s.path(digest)
	if dir == "" {
		return Root{}, false
	}
	c, f, ok := hold(dir)
	if !ok || c.Digest != digest {
		_ = f.Close()
		return Root{}, false
	}
	tree := filepath.Join(dir, "tree")
	if !shelf.Whole(dir, tree, c.Size) {
		_ = f.Close()
		_, _ = shelf.Remove(filepath.Join(dir, configFile))
		return Root{}, false
	}
	return Root{Name: ref, Digest: digest, Tree: tree, Env: c.Env, held: f}, true
}

// unpack makes the folder of an image beside its place, and moves it there
// when it is whole.
func (s *Store) unpack(ctx context.Context, ref, digest string, img v1.Image) (Root, error) {
	file, err := img.ConfigFile()
	if err != nil {
		return Root{}, err
	}
	place := s.path(digest)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return Root{}, err
	}
	work, err := os.MkdirTemp(filepath.Dir(place), shelf.Making)
	if err != nil {
		return Root{}, err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if err := errors.Join(os.Chmod(work, 0o755), os.Mkdir(tree, 0o755)); err != nil {
		return Root{}, err
	}
	if err := s.layers(ctx, ref, img, file, tree); err != nil {
		return Root{}, err
	}
	shelf.Finished(work)
	if err := writeJSON(filepath.Join(work, configFile), config{digest, file.Config.Env, shelf.Size(tree)}); err != nil {
		return Root{}, err
	}
	if err := os.Rename(work, place); err != nil {
		if root, ok := s.have(ref, digest); ok { // another was first
			return root, nil
		}
		_ = os.RemoveAll(place) // of one that was killed
		if err := os.Rename(work, place); err != nil {
			return Root{}, err
		}
	}
	root, ok := s.have(ref, digest)
	if !ok {
		return root, errors.New("the unpacked image cannot be read")
	}
	return root, nil
}

// layers unpacks all layers, the lowest first.
func (s *Store) layers(ctx context.Context, ref string, img v1.Image, file *v1.ConfigFile, tree string) error {
	list, err := img.Layers()
	if err != nil {
		return err
	}
	if len(list) != len(file.RootFS.DiffIDs) {
		return errors.New("the image contradicts itself about its layers")
	}
	u, err := newUnpacker(tree, s.Limits)
	if err != nil {
		return err
	}
	defer u.close()
	for i, l := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.tell(fmt.Sprintf("fetching the image %s: layer %d of %d", ref, i+1, len(list)))
		if err := u.layer(l, file.RootFS.DiffIDs[i]); err != nil {
			return fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	return u.finish()
}

// writeJSON writes a file that is whole or not there.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
