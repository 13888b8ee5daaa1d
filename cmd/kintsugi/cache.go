package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kintsugi/agent"
	"kintsugi/agent/heal/install"
	"kintsugi/sandbox/gateway"
	"kintsugi/sandbox/image"
)

func newCache() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "What is kept so that it need not be fetched again: show it, bound it, fill it",
		Long: `Kintsugi keeps the packages it fetched, the layers it made of them, and what
each program needed. All of it can be thrown away: it is fetched again.`,
	}
	cmd.AddCommand(newCacheInfo(), newCachePrune(), newCacheWarm())
	return cmd
}

// cacheReport is what kintsugi cache info says.
type cacheReport struct {
	Packages gateway.Info   `json:"packages"`
	Layers   []install.Kept `json:"layers"`
	LayerDir string         `json:"layer_folder"`
	Programs int            `json:"programs_remembered"`
	Images   []image.Kept   `json:"images"`
	ImageDir string         `json:"image_folder"`
}

func newCacheInfo() *cobra.Command {
	var asJSON, names bool
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Say what is there and how large it is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := reportCache()
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(r)
			}
			r.print(cmd.OutOrStdout(), names, time.Now())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&names, "names", false, "list the packages and layers that are there")
	return cmd
}

func reportCache() (cacheReport, error) {
	p, err := findPlaces()
	if err != nil {
		return cacheReport{}, err
	}
	r := cacheReport{LayerDir: p.layers, Programs: len((&agent.Memory{Dir: p.memory}).Files())}
	if r.Packages, err = gateway.CacheInfo(p.packages); err != nil {
		return r, err
	}
	if r.Layers, err = (install.Store{Dir: p.layers}).List(); err != nil {
		return r, err
	}
	r.ImageDir = p.images
	r.Images, err = (&image.Store{Dir: p.images}).List()
	return r, err
}

func (r cacheReport) print(w io.Writer, names bool, now time.Time) {
	fmt.Fprintf(w, "packages  %9s  %s (%s)\n", sizeText(r.Packages.Bytes), r.Packages.Dir, count(r.Packages.Pages, "index page"))
	for _, e := range r.Packages.By {
		fmt.Fprintf(w, "  %-6s  %9s  %s of %s\n", e.Ecosystem, sizeText(e.Bytes), count(e.Artefacts, "file"), count(len(e.Packages), "release"))
		for _, n := range e.Packages {
			if names {
				fmt.Fprintf(w, "    %s\n", n)
			}
		}
	}
	var total int64
	for _, l := range r.Layers {
		total += l.Bytes
	}
	fmt.Fprintf(w, "layers    %9s  %s (%s)\n", sizeText(total), r.LayerDir, count(len(r.Layers), "layer"))
	for _, l := range r.Layers {
		if names {
			fmt.Fprintf(w, "  %-6s  %9s  %s (used %s ago)\n", l.Manager, sizeText(l.Bytes), strings.Join(l.Packages, ", "), short(now.Sub(l.Used)))
		}
	}
	r.printImages(w, names, now)
	fmt.Fprintf(w, "memory               what %s needed\n", count(r.Programs, "program"))
}

func (r cacheReport) printImages(w io.Writer, names bool, now time.Time) {
	if len(r.Images) == 0 {
		return
	}
	var total int64
	for _, i := range r.Images {
		total += i.Bytes
	}
	fmt.Fprintf(w, "images    %9s  %s (%s)\n", sizeText(total), r.ImageDir, count(len(r.Images), "image"))
	for _, i := range r.Images {
		if names {
			fmt.Fprintf(w, "  %9s  %s %s (used %s ago)\n", sizeText(i.Bytes), strings.Join(i.Names, ", "), i.Digest, short(now.Sub(i.Used)))
		}
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sizeText writes bytes for people, in powers of 1000 as downloads are told.
func sizeText(n int64) string {
	unit, v := "B", float64(n)
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if v < 1000 {
			break
		}
		unit, v = u, v/1000
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// pruned is what kintsugi cache prune removed.
type pruned struct {
	bytes                 int64
	layers, images, inUse int
}

func (d pruned) String() string {
	what := count(d.layers, "layer")
	if d.images > 0 {
		what += ", " + count(d.images, "image")
	}
	text := fmt.Sprintf("freed %s (%s)", sizeText(d.bytes), what)
	if d.inUse > 0 {
		text += fmt.Sprintf("; %d in use stay", d.inUse)
	}
	return text
}

// tally counts one that was removed, or is in use.
func (d *pruned) tally(removed bool, kind *int, bytes int64) {
	if !removed {
		d.inUse++
		return
	}
	*kind++
	d.bytes += bytes
}

func newCachePrune() *cobra.Command {
	max := "2G"
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove what was used longest ago, until the rest is small enough",
		Long: `Removes packages, layers and images, what was used longest ago first, until all of
them together are no larger than --max. Layers and images that a running session
uses stay.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bytes, err := parseBound(max)
			if err != nil {
				return fmt.Errorf("--max %s: %w", max, err)
			}
			p, err := findPlaces()
			if err != nil {
				return err
			}
			done, err := pruneCache(p, bytes, time.Now())
			fmt.Fprintln(cmd.OutOrStdout(), done)
			return err
		},
	}
	cmd.Flags().StringVar(&max, "max", max, "what may be left, such as 500M or 2G; 0 for nothing")
	return cmd
}

// parseBound reads a size; unlike a box's memory it may be nothing.
func parseBound(s string) (int64, error) {
	if s == "0" {
		return 0, nil
	}
	return parseSize(s)
}

// pruneCache keeps what was used last, packages, layers and images alike, up to
// max bytes.
func pruneCache(p places, max int64, now time.Time) (done pruned, err error) {
	store, roots := install.Store{Dir: p.layers}, &image.Store{Dir: p.images}
	layers, err := store.List()
	if err != nil {
		return done, err
	}
	images, err := roots.List()
	if err != nil {
		return done, err
	}
	files, err := gateway.CacheUse(p.packages)
	if err != nil {
		return done, err
	}
	keep := split(layers, images, files, max)
	for _, l := range keep.oldLayers {
		removed, err := store.Remove(l.Key)
		if err != nil {
			return done, err
		}
		done.tally(removed, &done.layers, l.Bytes)
	}
	for _, i := range keep.oldImages {
		removed, err := roots.Remove(i.Digest)
		if err != nil {
			return done, err
		}
		done.tally(removed, &done.images, i.Bytes)
	}
	freed, err := gateway.PruneCache(p.packages, keep.packages)
	done.bytes += freed
	(&agent.Memory{Dir: p.memory}).Forget(func(key string) bool { _, ok := store.Find(key); return ok })
	return done, errors.Join(err, store.Sweep(now), roots.Sweep(now))
}

// division says what stays and what goes.
type division struct {
	packages  int64 // bytes of them that may stay
	oldLayers []install.Kept
	oldImages []image.Kept
}

// split finds out what is too old to stay below max bytes.
func split(layers []install.Kept, images []image.Kept, files []gateway.Used, max int64) division {
	type item struct {
		gateway.Used
		settle func(k *division, stays bool)
	}
	var all []item
	for _, f := range files {
		all = append(all, item{f, func(k *division, stays bool) {
			if stays {
				k.packages += f.Bytes
			}
		}})
	}
	for _, l := range layers {
		all = append(all, item{gateway.Used{Bytes: l.Bytes, At: l.Used}, func(k *division, stays bool) {
			if !stays {
				k.oldLayers = append(k.oldLayers, l)
			}
		}})
	}
	for _, i := range images {
		all = append(all, item{gateway.Used{Bytes: i.Bytes, At: i.Used}, func(k *division, stays bool) {
			if !stays {
				k.oldImages = append(k.oldImages, i)
			}
		}})
	}
	slices.SortStableFunc(all, func(a, b item) int { return b.At.Compare(a.At) })
	var out division
	var total int64
	for _, it := range all {
		total += it.Bytes
		it.settle(&out, total <= max)
	}
	return out
}
