package envs

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"kintsugi/agent/heal"
	"kintsugi/sandbox/lazyregexp"
)

//go:embed words.toml
var wordsTOML string

// Unknown is a word that no rule knows.
type Unknown struct {
	Word string
	Near []string // known names that may have been meant
}

// Lookup finds the package that a word stands for; *heal.Rules is one.
type Lookup interface {
	Word(word string, node bool) (found heal.Found, ok bool, near []string)
}

// dictionary is words.toml.
type dictionary struct {
	Phrases map[string][]string
	Filler  struct{ Words []string }
}

func loadDictionary() dictionary {
	var d dictionary
	if _, err := toml.Decode(wordsTOML, &d); err != nil {
		panic("words.toml: " + err.Error()) // embedded, and checked by a test
	}
	return d
}

// longest is how many words a phrase has at most.
const longest = 3

// maxWords bounds a wish.
const maxWords = 200

// wish is a text being read.
type wish struct {
	dictionary
	rules   Lookup
	node    bool
	words   []string
	m       Manifest
	unknown []Unknown
	manager string // the manager that the words before named
}

// Read makes a manifest of a wish in plain language, and gives the words that
// the rules do not know. The manifest's name is made of what it holds.
func Read(text string, rules Lookup) (Manifest, []Unknown) {
	w := wish{dictionary: loadDictionary(), rules: rules, words: split(text)}
	w.m.About = strings.Join(strings.Fields(text), " ")
	w.node = slices.Contains(w.words, "node") && !slices.Contains(w.words, "python")
	for len(w.words) > 0 {
		w.words = w.words[w.take():]
	}
	w.m.Name = w.name()
	return w.m, w.unknown
}

var separators = lazyregexp.New(`[\s,;&"'()]+|\.\s|\.$`)

// split gives the words in lower case. "python3.12" is two of them.
func split(text string) []string {
	var out []string
	for _, word := range separators.Split(text, maxWords+1) {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" || len(out) >= maxWords {
			continue
		}
		if m := glued.FindStringSubmatch(word); m != nil {
			out = append(out, m[1], m[2])
			continue
		}
		out = append(out, word)
	}
	return out
}

var glued = lazyregexp.New(`^(python|node|nodejs)-?v?(\d[\d.]*)$`)

// take reads what comes next and gives how many words it took.
func (w *wish) take() int {
	word := w.words[0]
	if n := w.language(word); n > 0 {
		return n
	}
	switch word {
	case "pip", "npm", "apt":
		w.manager = word
		return 1
	case "install", "apt-get":
		return 1
	}
	if manager, name, ok := strings.Cut(word, ":"); ok && slices.Contains([]string{"pip", "npm", "apt"}, manager) && name != "" {
		w.m.add(manager, name)
		return 1
	}
	for n := min(longest, len(w.words)); n > 0; n-- {
		if list, ok := w.Phrases[strings.Join(w.words[:n], " ")]; ok {
			for _, p := range list {
				manager, name, _ := strings.Cut(p, ":")
				w.m.add(manager, name)
			}
			return n
		}
	}
	if slices.Contains(w.Filler.Words, word) {
		return 1
	}
	w.look(word)
	return 1
}

// language reads "python 3.12" and "node 20".
func (w *wish) language(word string) int {
	version := map[string]*string{"python": &w.m.Python, "python3": &w.m.Python, "node": &w.m.Node, "nodejs": &w.m.Node, "node.js": &w.m.Node}[word]
	if version == nil {
		return 0
	}
	w.manager = ""
	if len(w.words) > 1 {
		if v := strings.TrimPrefix(w.words[1], "v"); versionForm.MatchString(v) {
			*version = v
			return 2
		}
	}
	return 1
}

var versioned = lazyregexp.New(`^([a-z0-9@/._-]+?)([<>=!~]=?.*)$`)

// look asks the rules about a word, which may carry a version.
func (w *wish) look(word string) {
	name, version := word, ""
	if m := versioned.FindStringSubmatch(word); m != nil {
		name, version = m[1], m[2]
	}
	found, ok, near := w.rules.Word(name, w.node || w.manager == "npm")
	switch {
	case ok && (w.manager == "" || w.manager == found.Manager):
		w.m.add(found.Manager, found.Package+version)
	case w.manager != "":
		// The user said which manager and which name.
		w.m.add(w.manager, word)
	default:
		w.unknown = append(w.unknown, Unknown{word, near})
	}
}

// name is made of the first things that the manifest asks for.
func (w *wish) name() string {
	var parts []string
	if w.m.Python != "" {
		parts = append(parts, "python"+w.m.Python)
	}
	if w.m.Node != "" {
		parts = append(parts, "node"+w.m.Node)
	}
	for _, p := range w.m.Parts() {
		for _, name := range p.Packages {
			parts = append(parts, strings.ToLower(nameOnly.FindString(name)))
		}
	}
	name := strings.Trim(notName.ReplaceAllString(strings.Join(parts[:min(len(parts), 4)], "-"), "-"), "-.")
	if name == "" {
		name = "environment"
	}
	return name[:min(len(name), 60)]
}

var (
	nameOnly = lazyregexp.New(`^[@A-Za-z0-9/._-]+`)
	notName  = lazyregexp.New(`[^a-z0-9._-]+`)
)
