package install

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/sandbox"
)

// npmBase is where npm installs inside a remedy box. The result is shown as
// /node_modules, which both require and import reach from any folder.
const npmBase = "/kintsugi-npm"

func (in *Installer) npm(ctx context.Context, r Request) (Layer, error) {
	var version string
	id := in.identify(r, argv0(r, "node"))
	if id.load(&version) {
		if _, l, ok := in.find(&r, nodeOf(version)); ok {
			return l, nil
		}
	}
	version, _, err := in.ask(ctx, sandbox.Spec{
		Argv: []string{argv0(r, "node"), "-p", "process.versions.modules+' '+process.platform+' '+process.arch"},
		Dir:  "/tmp", Layers: r.Layers, Env: r.Env, Workspace: r.Workspace,
	})
	if err != nil {
		return Layer{}, &Error{Manager: "npm", Reason: "cannot ask node for its version: " + err.Error()}
	}
	id.save(version)
	return in.made(r, nodeOf(version), nil, func(r Request, b *build, l *Layer) error {
		var got fetched
		if err := in.runNpm(ctx, r, b, &got); err != nil {
			return err
		}
		modules := filepath.Join(b.tree, "node_modules")
		for _, name := range r.Verify {
			if _, err := os.Stat(filepath.Join(modules, filepath.FromSlash(name), "package.json")); err != nil {
				return &Error{Manager: "npm", Reason: "installed, but there is no package " + name}
			}
		}
		l.Path, l.Versions = []string{"/node_modules/.bin"}, nodeVersions(modules)
		l.Artefacts = in.releases(ctx, "npm", got.artefacts())
		return nil
	})
}

// nodeOf tells apart the Nodes that cannot share a layer.
func nodeOf(version string) string { return "node " + strings.TrimSpace(version) }

func (in *Installer) runNpm(ctx context.Context, r Request, b *build, got *fetched) error {
	work, cache := filepath.Join(b.dir, "npm"), filepath.Join(b.dir, "npm-cache")
	if err := errors.Join(os.Mkdir(work, 0o755), os.Mkdir(cache, 0o755)); err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	if err := os.WriteFile(filepath.Join(work, "package.json"), []byte("{}\n"), 0o644); err != nil {
		return err
	}
	argv := []string{
		"npm", "install", "--prefix", npmBase, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save",
		"--loglevel", "http", "--no-package-lock",
	}
	spec := sandbox.Spec{
		Argv: append(argv, r.Packages...), Dir: npmBase, Layers: r.Layers,
		Mounts: []sandbox.Mount{
			{Source: work, Target: npmBase, Writable: true},
			{Source: cache, Target: "/var/tmp/npm-cache", Writable: true},
		},
		Env: sandbox.MergeEnv(r.Env, "npm_config_cache=/var/tmp/npm-cache", "npm_config_update_notifier=false"),
	}
	if err := in.connect(ctx, r, &spec, filepath.Join(b.dir, "gateway"), got); err != nil {
		return err
	}
	r.Progress("resolving " + strings.Join(r.Packages, ", "))
	if err := in.run(ctx, "npm", spec, npmProgress(r), got); err != nil {
		return err
	}
	return os.Rename(filepath.Join(work, "node_modules"), filepath.Join(b.tree, "node_modules"))
}

// npmProgress names the packages that npm fetches.
func npmProgress(r Request) Request {
	show := r.Progress
	r.Progress = func(line string) {
		if strings.Contains(line, "http fetch") {
			show("fetching " + npmFetched(line))
		}
	}
	return r
}

// npmFetched names the package in a line of npm's http log.
func npmFetched(line string) string {
	for _, field := range strings.Fields(line) {
		if _, rest, ok := strings.Cut(field, "://"); ok {
			_, path, _ := strings.Cut(rest, "/npm/")
			return strings.ReplaceAll(path, "%2f", "/")
		}
	}
	return "packages"
}

// nodeVersions lists the packages at the top of a node_modules: "express 4.19".
func nodeVersions(modules string) []string {
	var out []string
	names, _ := filepath.Glob(filepath.Join(modules, "*", "package.json"))
	scoped, _ := filepath.Glob(filepath.Join(modules, "@*", "*", "package.json"))
	for _, file := range append(names, scoped...) {
		var p struct{ Name, Version string }
		if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &p) == nil && p.Name != "" {
			out = append(out, p.Name+" "+p.Version)
		}
	}
	slices.Sort(out)
	return out
}
