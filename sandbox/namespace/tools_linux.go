package namespace

import (
	"path/filepath"
	"sort"
	"strings"
)

// toolTrees maps the place of a PATH entry below the home to the directories,
// below the home too, that the tools there need. Only what is listed becomes
// visible: no credentials, no registries' settings, no caches.
var toolTrees = []struct {
	prefix string
	trees  []string
}{
	{".pyenv", []string{".pyenv"}},
	{".nvm", []string{".nvm"}},
	{".cargo/bin", []string{".cargo/bin", ".rustup"}},
	{"miniconda3", []string{"miniconda3"}},
	{"miniconda", []string{"miniconda"}},
	{"anaconda3", []string{"anaconda3"}},
	{"miniforge3", []string{"miniforge3"}},
	{"mambaforge", []string{"mambaforge"}},
	{"micromamba", []string{"micromamba"}},
	{".conda", []string{".conda/envs"}},
	{"go", []string{"go/bin", "go/pkg/mod/golang.org/toolchain@"}},
	{".local", []string{".local/bin", ".local/lib", ".local/share/uv", ".local/share/pipx", ".local/share/mise", ".local/share/fnm", ".local/share/pnpm", ".local/go"}},
	{".rbenv", []string{".rbenv"}},
	{".asdf", []string{".asdf"}},
	{".volta", []string{".volta"}},
	{".deno", []string{".deno/bin"}},
	{".bun", []string{".bun/bin", ".bun/install"}},
	{".sdkman", []string{".sdkman/candidates"}},
	{".juliaup", []string{".juliaup", ".julia/juliaup"}},
	{".ghcup", []string{".ghcup"}},
	{".nodenv", []string{".nodenv"}},
	{".goenv", []string{".goenv"}},
	{".jenv", []string{".jenv"}},
	{".opam", []string{".opam"}},
	{".nimble", []string{".nimble/bin"}},
	{".dotnet", []string{".dotnet"}},
	{".npm-global", []string{".npm-global"}},
	{".nix-profile", []string{".nix-profile"}},
	{".sdk", []string{".sdk"}},
	{"bin", []string{"bin"}},
}

// findTools returns the directories below home that the entries of path lead
// to, parents before children, no directory twice.
func findTools(home, path string, environ []string) []string {
	found := map[string]bool{}
	for _, dir := range filepath.SplitList(path) {
		rel, below := relative(home, dir)
		if !below {
			continue
		}
		for _, t := range toolTrees {
			if rel == t.prefix || strings.HasPrefix(rel, t.prefix+"/") {
				addDirs(found, home, t.trees)
			}
		}
	}
	if root := lookup(environ, "GOROOT"); root != "" {
		if rel, below := relative(home, root); below {
			addDirs(found, home, []string{rel})
		}
	}
	return withoutNested(found)
}

func relative(home, dir string) (string, bool) {
	rel, err := filepath.Rel(home, filepath.Clean(dir))
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", false
	}
	return rel, true
}

// addDirs notes the trees that exist; one that ends in "@" stands for all
// versions of it.
func addDirs(found map[string]bool, home string, trees []string) {
	for _, t := range trees {
		dirs := []string{filepath.Join(home, t)}
		if strings.HasSuffix(t, "@") {
			dirs, _ = filepath.Glob(dirs[0] + "*")
		}
		for _, dir := range dirs {
			if isDir(dir) {
				found[dir] = true
			}
		}
	}
}

func withoutNested(found map[string]bool) []string {
	var all, out []string
	for dir := range found {
		all = append(all, dir)
	}
	sort.Strings(all)
	for _, dir := range all {
		if n := len(out); n == 0 || !strings.HasPrefix(dir, out[n-1]+"/") {
			out = append(out, dir)
		}
	}
	return out
}
