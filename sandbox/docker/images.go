package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/strslice"
	"github.com/docker/docker/client"

	"kintsugi/sandbox"
	"kintsugi/sandbox/docker/keeper"
)

// images are the engine's images that boxes are made of: the user's own, with
// a keeper added, with one layer after the other on top. Each is named by a
// hash of all that is in it.
type images struct {
	runtime *Runtime

	mu    sync.Mutex
	base  *imageInfo
	known map[string]string    // image by key
	marks map[string]layerMark // by folder
}

// imageInfo is what must be known of an image.
type imageInfo struct {
	id, arch string
	env      []string
	volumes  map[string]struct{}
	layers   []string // by their content
}

// layerMark is what must be known of a layer.
type layerMark struct {
	print string
	gone  []string // what it removes
}

// imagesKept is how many of our images an engine keeps; the oldest go first.
const imagesKept = 40

// with gives the image for a spec, with single files laid on top.
func (i *images) with(ctx context.Context, spec sandbox.Spec, fixed map[string]string) (imageInfo, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == nil {
		i.known, i.marks = map[string]string{}, map[string]layerMark{}
	}
	info, err := i.openBase(ctx)
	if err != nil {
		return info, err
	}
	program, err := i.runtime.options.findKeeper(info.arch)
	if err != nil {
		return info, err
	}
	key := hashed(info.id, program.version)
	if info.id, err = i.get(ctx, key, info.id, nil, func(w *tar.Writer) error { return addKeeper(w, program.path) }); err != nil {
		return info, err
	}
	trees := spec.Layers
	if spec.Capture != "" {
		trees = append([]string{spec.Capture}, trees...)
	}
	for _, tree := range slices.Backward(trees) {
		if key, info.id, err = i.addLayer(ctx, key, info.id, tree, tree != spec.Capture); err != nil {
			return info, err
		}
	}
	if len(fixed) > 0 {
		info.id, err = i.addFiles(ctx, key, info.id, fixed)
	}
	return info, err
}

// Root names the image that boxes see, by its content where that is known.
func (r *Runtime) Root() string {
	r.images.mu.Lock()
	defer r.images.mu.Unlock()
	info, err := r.images.openBase(context.Background())
	if err != nil {
		return r.options.Image
	}
	return info.id
}

// layersOf names the layers of the user's image.
func (i *images) layersOf(ctx context.Context) ([]string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	info, err := i.openBase(ctx)
	return info.layers, err
}

// forget drops what is known of the engine's images.
func (i *images) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.base, i.known = nil, map[string]string{}
}

func hashed(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// openBase finds the user's image, and fetches it when the engine lacks it.
func (i *images) openBase(ctx context.Context) (imageInfo, error) {
	if i.base != nil {
		return *i.base, nil
	}
	api, err := i.runtime.api()
	if err != nil {
		return imageInfo{}, err
	}
	name := i.runtime.options.Image
	got, err := api.ImageInspect(ctx, name)
	if notFound(err) {
		if err := i.pull(ctx, name); err != nil {
			return imageInfo{}, err
		}
		got, err = api.ImageInspect(ctx, name)
	}
	if err != nil {
		return imageInfo{}, err
	}
	info := imageInfo{id: got.ID, arch: got.Architecture, layers: got.RootFS.Layers}
	if got.Config != nil {
		info.env, info.volumes = got.Config.Env, got.Config.Volumes
	}
	i.base = &info
	return info, nil
}

// pull fetches an image. Engines tell failures in the middle of the answer.
func (i *images) pull(ctx context.Context, name string) error {
	r := i.runtime
	r.options.Progress("fetching the image " + name)
	api, err := r.api()
	if err != nil {
		return err
	}
	body, err := api.ImagePull(ctx, name, image.PullOptions{})
	if err == nil {
		err = pullEnd(body)
		body.Close()
	}
	if err != nil {
		return worded(fmt.Sprintf("the engine has no image %s and cannot fetch it (%s); fetch or build it, or name another with --image", name, plain(err)))
	}
	return nil
}

func pullEnd(body io.Reader) error {
	lines := json.NewDecoder(body)
	for {
		var line struct{ Error string }
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case line.Error != "":
			return errors.New(line.Error)
		}
	}
}

// get gives the image with a key: one that the engine has, or a new one, made
// by taking files away from another or, when there are none, by writing an
// archive over it.
func (i *images) get(ctx context.Context, key, from string, gone []string, write func(*tar.Writer) error) (string, error) {
	if id := i.known[key]; id != "" {
		return id, nil
	}
	api, err := i.runtime.api()
	if err != nil {
		return "", err
	}
	found, err := listImages(ctx, api, labelKey+"="+key)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		id, err := i.bake(ctx, key, from, gone, write)
		i.known[key] = id
		return id, err
	}
	i.known[key] = found[0].ID
	return found[0].ID, nil
}

// bake makes an image: a container takes the archive and is committed. It runs
// only when something has to be removed, and then nothing but a keeper.
func (i *images) bake(ctx context.Context, key, from string, gone []string, write func(*tar.Writer) error) (string, error) {
	api, err := i.runtime.api()
	if err != nil {
		return "", err
	}
	lease, err := i.runtime.lease()
	if err != nil {
		return "", err
	}
	made, err := api.ContainerCreate(ctx,
		&container.Config{Image: from, User: "0:0", Entrypoint: strslice.StrSlice{keeperPath, keeper.Word, keeper.Remove}, Cmd: strslice.StrSlice{}, Labels: lease.labels()},
		&container.HostConfig{
			NetworkMode: network.NetworkNone, CapDrop: strslice.StrSlice{"ALL"}, CapAdd: strslice.StrSlice{"DAC_OVERRIDE", "FOWNER"},
			SecurityOpt: []string{"no-new-privileges"}, Resources: i.runtime.resources(sandbox.DefaultLimits),
		}, nil, nil, "kintsugi-bake-"+random())
	if err != nil {
		return "", err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_ = api.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
	}()
	if len(gone) > 0 {
		err = removeFrom(ctx, api, made.ID, gone)
	} else {
		err = layOver(ctx, api, made.ID, write)
	}
	if err != nil {
		return "", fmt.Errorf("laying files over the image: %w", err)
	}
	done, err := api.ContainerCommit(ctx, made.ID, container.CommitOptions{
		Reference: "kintsugi-box:" + key[:12], Changes: []string{"LABEL " + labelKey + "=" + key}, Config: &container.Config{},
	})
	return done.ID, err
}

// layOver writes an archive over the files of a container.
func layOver(ctx context.Context, api *client.Client, id string, write func(*tar.Writer) error) error {
	r, w := io.Pipe()
	go func() {
		out := tar.NewWriter(w)
		w.CloseWithError(errors.Join(write(out), out.Close()))
	}()
	defer r.Close()
	return api.CopyToContainer(ctx, id, "/", r, container.CopyToContainerOptions{AllowOverwriteDirWithFile: true})
}

// removeFrom lets the keeper of a container remove files from it.
func removeFrom(ctx context.Context, api *client.Client, id string, gone []string) error {
	list := strings.Join(gone, "\x00") + "\x00"
	err := layOver(ctx, api, id, func(w *tar.Writer) error {
		h := &tar.Header{Name: keeper.Removals[1:], Mode: 0o600, Size: int64(len(list)), Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.WriteString(w, list)
		return err
	})
	if err != nil {
		return err
	}
	over, failed := api.ContainerWait(ctx, id, container.WaitConditionNextExit)
	if err := api.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case end := <-over:
		if end.StatusCode != 0 {
			return fmt.Errorf("removing what a layer removes failed with exit code %d", end.StatusCode)
		}
	}
	return nil
}

// addLayer lays one tree over an image.
func (i *images) addLayer(ctx context.Context, key, from, tree string, kept bool) (string, string, error) {
	mark, ok := i.marks[tree]
	if !ok {
		var err error
		if mark.print, err = fingerprint(tree); err == nil {
			mark.gone, err = removals(tree)
		}
		if err != nil {
			return "", "", fmt.Errorf("layer: %w", err)
		}
		if kept {
			i.marks[tree] = mark
		}
	}
	key = hashed(append([]string{key, mark.print}, mark.gone...)...)
	// An image of its own takes files away: a container that ran is still being
	// put away by its engine and must not be written to.
	if len(mark.gone) > 0 {
		var err error
		if from, err = i.get(ctx, hashed(key, "removed"), from, mark.gone, nil); err != nil {
			return "", "", err
		}
	}
	id, err := i.get(ctx, key, from, nil, func(w *tar.Writer) error { return addTree(w, tree) })
	return key, id, err
}

// addFiles lays single files over an image.
func (i *images) addFiles(ctx context.Context, key, from string, files map[string]string) (string, error) {
	parts := []string{key}
	for _, at := range slices.Sorted(maps.Keys(files)) {
		mark, err := fileMark(files[at])
		if err != nil {
			return "", fmt.Errorf("mount: %w", err)
		}
		parts = append(parts, at, mark)
	}
	return i.get(ctx, hashed(parts...), from, nil, func(w *tar.Writer) error {
		for _, at := range slices.Sorted(maps.Keys(files)) {
			if err := addFile(w, strings.TrimPrefix(at, "/"), files[at]); err != nil {
				return err
			}
		}
		return nil
	})
}

// listImages lists the images that have a label. Podman gives up when one goes
// meanwhile, which happens where several workbenches prune; then it is asked
// again.
func listImages(ctx context.Context, api *client.Client, label string) ([]image.Summary, error) {
	o := image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))}
	list, err := api.ImageList(ctx, o)
	for range 5 {
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "image not known") {
			break
		}
		list, err = api.ImageList(ctx, o)
	}
	return list, err
}

// prune removes the oldest images when there are many.
func (i *images) prune(ctx context.Context) error {
	api, err := i.runtime.api()
	if err != nil {
		return err
	}
	list, err := listImages(ctx, api, labelKey)
	if err != nil {
		return i.runtime.explain(err)
	}
	slices.SortFunc(list, func(a, b image.Summary) int { return int(b.Created - a.Created) })
	for _, old := range list[min(len(list), imagesKept):] {
		// One that a box or another image needs stays.
		_, _ = api.ImageRemove(ctx, old.ID, image.RemoveOptions{PruneChildren: true})
	}
	return nil
}
