package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"kintsugi/sandbox"
	"kintsugi/sandbox/workspace/beneath"
)

// Labels of what we make in an engine.
const (
	labelOwner = "kintsugi.owner" // the state folder whose workbench made it
	labelLease = "kintsugi.lease" // the lease of that workbench
	labelKey   = "kintsugi.key"   // what an image was made of
)

// lease is held, by a lock on its folder, as long as a runtime is open.
type lease struct {
	owner, name string
	dir         *beneath.Dir
	path        string
}

// stateDir is where leases are.
func (o Options) stateDir() string {
	switch run := o.lookup("XDG_RUNTIME_DIR"); {
	case o.StateDir != "":
		return filepath.Join(o.StateDir, "containers")
	case run != "":
		return filepath.Join(run, "kintsugi-containers")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "kintsugi", "containers")
}

func random() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// takeLease makes a lease and locks it.
func takeLease(state string) (*lease, error) {
	owner, err := ownerOf(state)
	if err != nil {
		return nil, err
	}
	l := &lease{owner: owner, name: random()}
	l.path = filepath.Join(state, "lease-"+l.name)
	if err := os.Mkdir(l.path, 0o700); err != nil {
		return nil, err
	}
	if l.dir, err = beneath.Open(l.path); err != nil {
		return nil, err
	}
	return l, l.dir.Lock()
}

// ownerOf gives the state folder's own name, so that workbenches of other
// machines at the same engine are told apart.
func ownerOf(state string) (string, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(state, "owner")
	for {
		data, err := os.ReadFile(path)
		if len(data) > 0 {
			return string(data), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		own := path + "." + random()
		if err := os.WriteFile(own, []byte(random()), 0o600); err != nil {
			return "", err
		}
		_ = os.Link(own, path) // fails when another was first
		if !exists(path) {
			_ = os.Rename(own, path)
		}
		_ = os.Remove(own)
	}
}

func (l *lease) close() {
	_ = os.Remove(l.path)
	_ = l.dir.Close()
}

func (l *lease) labels() map[string]string {
	return map[string]string{labelOwner: l.owner, labelLease: l.name}
}

// abandoned says whether nobody holds a lease any more.
func abandoned(state, name string) bool {
	if strings.ContainsAny(name, `/\`) {
		return false
	}
	d, err := beneath.Open(filepath.Join(state, "lease-"+name))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer d.Close()
	return d.Lock() == nil
}

// Reconcile removes the containers and leases of workbenches of this state
// folder that were killed, and the oldest of many images.
func (r *Runtime) Reconcile(ctx context.Context) (sandbox.Reclaimed, error) {
	var got sandbox.Reclaimed
	api, err := r.api()
	if err != nil {
		return got, r.explain(err)
	}
	state := r.options.stateDir()
	owner, err := ownerOf(state)
	if err != nil {
		return got, err
	}
	list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwner+"="+owner))})
	if err != nil {
		return got, r.explain(err)
	}
	for _, c := range list {
		if !abandoned(state, c.Labels[labelLease]) {
			continue
		}
		if err := remove(ctx, api, c.ID); err != nil {
			return got, r.explain(err)
		}
		got.Boxes++
	}
	leases, _ := filepath.Glob(filepath.Join(state, "lease-*"))
	for _, path := range leases {
		if abandoned(state, strings.TrimPrefix(filepath.Base(path), "lease-")) && os.Remove(path) == nil {
			got.Directories++
		}
	}
	return got, r.images.prune(ctx)
}

// remove removes a container with its processes and returns when it is gone,
// also when the engine was removing it already.
func remove(ctx context.Context, api *client.Client, id string) error {
	err := api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	for conflict(err) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		_, err = api.ContainerInspect(ctx, id)
		if err == nil {
			err = api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		}
	}
	if notFound(err) {
		return nil
	}
	return err
}
