package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kintsugi/agent/heal/install"
	"kintsugi/sandbox/gateway"
	"kintsugi/sandbox/image"
)

// What was used last stays, whether it is a package or a layer.
func TestSplitCache(t *testing.T) {
	t.Parallel()
	at := func(hours int) time.Time { return time.Unix(0, 0).Add(time.Duration(hours) * time.Hour) }
	layers := []install.Kept{
		{Layer: install.Layer{Key: "young"}, Bytes: 100, Used: at(9)}, {Layer: install.Layer{Key: "old"}, Bytes: 100, Used: at(2)},
	}
	files := []gateway.Used{{Bytes: 50, At: at(8)}, {Bytes: 50, At: at(3)}, {Bytes: 50, At: at(1)}}
	images := []image.Kept{{Digest: "image", Bytes: 1000, Used: at(0)}}
	for max, want := range map[int64]struct {
		budget int64
		old    string
	}{
		0: {0, "young old image"}, 100: {0, "old image"}, 150: {50, "old image"}, 200: {100, "old image"}, 300: {100, "image"}, 350: {150, "image"}, 1350: {150, ""},
	} {
		got := split(layers, images, files, max)
		var keys []string
		for _, l := range got.oldLayers {
			keys = append(keys, l.Key)
		}
		for _, i := range got.oldImages {
			keys = append(keys, i.Digest)
		}
		if got.packages != want.budget || strings.Join(keys, " ") != want.old {
			t.Errorf("at most %d: %d bytes of packages stay and %q goes; want %d and %q", max, got.packages, keys, want.budget, want.old)
		}
	}
}

func TestNamesToWarm(t *testing.T) {
	t.Parallel()
	rules := loadRules(places{config: t.TempDir()})
	for file, c := range map[string]struct {
		text string
		want map[string][]string
	}{
		"requirements.txt": {
			"-r more.txt\npandas==2.3.3 \\\n    --hash=sha256:00\n\n# tables\nrich[jupyter]>=13 # colours\n",
			map[string][]string{"pip": {"pandas==2.3.3", "rich[jupyter]>=13"}},
		},
		"package.json": {`{"dependencies": {"express": "^4.0.0", "odd": "git+https://example.test/x", "two": "1 || 2"}}`, map[string][]string{"npm": {"express@^4.0.0", "odd", "two"}}},
		"plot.py":      {"import os, yaml\nfrom PIL import Image\n", map[string][]string{"pip": {"pillow", "pyyaml"}}},
		"app.js":       {`require("fs"); require("express")`, map[string][]string{"npm": {"express"}}},
	} {
		got, err := namesIn(file, []byte(c.text), rules)
		for _, list := range got {
			sortStrings(list)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", file, err, diff)
		}
	}
	for _, file := range []string{"x.tar.gz", "package.json"} {
		if _, err := namesIn(file, []byte("["), rules); err == nil {
			t.Errorf("%s: no error", file)
		}
	}
}

func sortStrings(list []string) {
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	slices.Sort(list)
}
