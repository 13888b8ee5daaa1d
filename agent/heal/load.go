package heal

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

//go:embed manifests/*.toml maps/*.tsv lists/*.txt lang/*.toml
var embedded embed.FS

// Rules are all manifests, maps and lists, ready to diagnose. They are
// read-only after Load and safe for concurrent use.
type Rules struct {
	rules     []*rule
	byID      map[string]*rule
	manifests []*manifest
	managers  map[string]string
	literals  *literals
	maps      map[string]func() *table
	lists     map[string]func() *nameList
	texts     map[string]string
	lang      string
}

// Load reads the embedded rules and lays the overrides over them, in order. An
// override holds manifests/NAME.toml (replaces the embedded manifest of that
// name, or adds one), maps/NAME.tsv (its rows are added to that map and win)
// and lang/TAG.toml. A rule whose id exists already replaces that rule.
// Explanations are in English; LoadLang gives another language.
func Load(overrides ...fs.FS) (*Rules, error) { return LoadLang("", overrides...) }

// LoadLang is Load with explanations in the language of tag ("hi", "de-AT"),
// where its file has them, and in English elsewhere.
func LoadLang(tag string, overrides ...fs.FS) (*Rules, error) {
	r, sources := names(overrides)
	if err := r.loadManifests(sources); err != nil {
		return nil, err
	}
	if err := r.index(); err != nil {
		return nil, err
	}
	if err := r.check(len(overrides) > 0); err != nil {
		return nil, err
	}
	texts, err := loadTexts(tag, sources)
	r.texts, r.lang = texts, tag
	return r, err
}

// LoadNames is Load without the rules: with maps and lists only, which takes a
// fraction of the time. Its plans are those of Load, except that the commands
// in them are general.
func LoadNames(overrides ...fs.FS) *Rules {
	r, _ := names(overrides)
	return r
}

func names(overrides []fs.FS) (*Rules, []fs.FS) {
	sources := append([]fs.FS{embedded}, overrides...)
	r := &Rules{
		byID: map[string]*rule{}, managers: map[string]string{}, literals: newLiterals(),
		maps: map[string]func() *table{}, lists: map[string]func() *nameList{},
	}
	r.loadMaps(sources)
	r.loadLists(sources)
	return r, sources
}

// loadManifests parses every manifest; a later source's file of the same name
// stands in for the earlier one, and its rules count after the embedded ones.
func (r *Rules) loadManifests(sources []fs.FS) error {
	from := map[string]int{}
	for i, src := range sources {
		for _, name := range baseNames([]fs.FS{src}, "manifests/*.toml") {
			from[name] = i
		}
	}
	names := sortedKeys(from)
	sort.SliceStable(names, func(i, j int) bool { return from[names[i]] < from[names[j]] })
	parsed := make([]*manifest, len(names))
	var all errgroup.Group // each takes milliseconds, and a user waits
	for i, name := range names {
		all.Go(func() (err error) {
			parsed[i], err = readManifest(sources[from[name]], name+".toml")
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, m := range parsed {
		r.adopt(m)
	}
	return nil
}

func readManifest(source fs.FS, name string) (*manifest, error) {
	data, err := fs.ReadFile(source, "manifests/"+name)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", name, err)
	}
	return parseManifest(name, data)
}

// adopt takes over the rules of a manifest.
func (r *Rules) adopt(m *manifest) {
	r.manifests = append(r.manifests, m)
	for manager, command := range m.Managers {
		r.managers[manager] = command
	}
	for _, rl := range m.Rules {
		if old, ok := r.byID[rl.ID]; ok {
			r.drop(old)
		}
		r.byID[rl.ID] = rl
		r.rules = append(r.rules, rl)
	}
}

func (r *Rules) drop(old *rule) {
	for i, rl := range r.rules {
		if rl == old {
			r.rules = append(r.rules[:i], r.rules[i+1:]...)
			return
		}
	}
}

// index registers the literals of all rules with the searcher.
func (r *Rules) index() error {
	var errs []error
	for i, rl := range r.rules {
		rl.order = i
		for _, set := range []struct {
			words []string
			ids   *[]int
		}{{rl.Any, &rl.anyIDs}, {rl.With, &rl.withIDs}, {rl.Without, &rl.notIDs}} {
			*set.ids = nil
			for _, w := range set.words {
				id, err := r.literals.add(w)
				if err != nil {
					errs = append(errs, fmt.Errorf("rule %q: %w", rl.ID, err))
				}
				*set.ids = append(*set.ids, id)
			}
		}
	}
	for _, w := range pythonMarks {
		if _, err := r.literals.add(w); err != nil {
			return err
		}
	}
	r.literals.build()
	return errors.Join(errs...)
}

// check finds references to maps, lists and resolvers that do not exist. With
// patterns, every pattern is compiled too, which takes some milliseconds and
// is only needed for rules that a user wrote.
func (r *Rules) check(withPatterns bool) error {
	var errs []error
	for _, rl := range r.rules {
		if rl.Lookup != "" && r.maps[rl.Lookup] == nil {
			errs = append(errs, fmt.Errorf("rule %q: no map %q", rl.ID, rl.Lookup))
		}
		if rl.List != "" && !r.hasList(rl.List) {
			errs = append(errs, fmt.Errorf("rule %q: no list %q", rl.ID, rl.List))
		}
		if rl.Resolve != "" && resolverFor(rl.Resolve) == nil {
			errs = append(errs, fmt.Errorf("rule %q: no resolver %q", rl.ID, rl.Resolve))
		}
		if withPatterns {
			if _, err := rl.compiled(); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// hasList tells whether any list vouches for names of a manager.
func (r *Rules) hasList(manager string) bool {
	return r.lists[listOf(manager)] != nil || r.lists[manager+"-known"] != nil || r.lists["curated "+manager] != nil
}

func (r *Rules) loadMaps(sources []fs.FS) {
	for _, name := range baseNames(sources, "maps/*.tsv") {
		r.maps[name] = sync.OnceValue(func() *table { return readTable(sources, "maps/"+name+".tsv") })
	}
}

func (r *Rules) loadLists(sources []fs.FS) {
	for _, name := range baseNames(sources, "lists/*.txt") {
		r.lists[name] = sync.OnceValue(func() *nameList { return readList(sources, "lists/"+name+".txt") })
	}
	r.lists["curated apt"] = sync.OnceValue(r.readCuratedApt)
	r.lists["curated pip"] = sync.OnceValue(r.readCurated)
	r.lists["curated maven"] = sync.OnceValue(r.readCuratedMaven)
	r.lists["maven groups"] = sync.OnceValue(r.readMavenGroups)
}

// baseNames lists the files that match pattern in any source, without folder
// and extension, each once.
func baseNames(sources []fs.FS, pattern string) []string {
	seen := map[string]bool{}
	for _, src := range sources {
		names, _ := fs.Glob(src, pattern)
		for _, n := range names {
			seen[strings.TrimSuffix(path.Base(n), path.Ext(n))] = true
		}
	}
	return sortedKeys(seen)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// table returns the map of that name; an unknown name gives an empty one.
func (r *Rules) table(name string) *table {
	if get := r.maps[name]; get != nil {
		return get()
	}
	return &table{}
}

// list returns the list of that name; an unknown name gives an empty one.
func (r *Rules) list(name string) *nameList {
	if get := r.lists[name]; get != nil {
		return get()
	}
	return &nameList{}
}
