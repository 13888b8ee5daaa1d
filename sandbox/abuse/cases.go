package abuse

import (
	"embed"
	"fmt"
	"io/fs"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"

	"kintsugi/sandbox"
)

//go:embed cases/*.toml
var files embed.FS

// Kind is the first word of an expectation.
type Kind string

// The kinds of expectations.
const (
	Holds         Kind = "holds"          // the probe runs, and must find the walls whole
	Shared        Kind = "shared"         // the probe runs; what it sees is shared by design
	NotApplicable Kind = "not applicable" // this runtime has nothing that could be attacked so
	Elsewhere     Kind = "elsewhere"      // a test of another part proves it
	Later         Kind = "later"          // the part that it is about does not exist yet
)

// Expectation is what a case must come to in one runtime. In the data it is
// "holds", or a kind, a colon and a note that says why, where or when.
type Expectation struct {
	Kind Kind
	Note string
}

// UnmarshalText reads the form of the data.
func (e *Expectation) UnmarshalText(text []byte) error {
	kind, note, _ := strings.Cut(string(text), ":")
	e.Kind, e.Note = Kind(kind), strings.TrimSpace(note)
	switch e.Kind {
	case Holds:
		return nil
	case Shared, NotApplicable, Elsewhere, Later:
		if e.Note == "" {
			return fmt.Errorf("expectation %q must say more after a colon", text)
		}
		return nil
	}
	return fmt.Errorf("unknown expectation %q", text)
}

// MarshalText writes the form of the data.
func (e Expectation) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

func (e Expectation) String() string {
	if e.Note == "" {
		return string(e.Kind)
	}
	return string(e.Kind) + ": " + e.Note
}

// Case is one line of the table.
type Case struct {
	Number  int    `toml:"number"`
	Title   string `toml:"title"`
	Chapter string `toml:"-"`
	// Wall says what must hold it.
	Wall string `toml:"wall"`
	// Probe names the plan that tries it, if one exists.
	Probe string `toml:"probe"`
	// Expect is what each runtime must come to, by the runtime's name.
	Expect map[string]Expectation `toml:"expect"`
	// Promise is the promise of sandbox.Report that the case tests. A runtime
	// that says itself that the kernel does not enforce it here is not blamed.
	Promise sandbox.Promise `toml:"promise"`
	// References are names of published issues and vulnerabilities.
	References []string `toml:"references"`
}

// Runtimes are the runtimes that every case says something about.
func Runtimes() []string { return []string{"namespace", "docker", "podman", "wasm", "microvm"} }

// Chapters are the parts of the table, in order.
func Chapters() []string {
	return []string{"resources", "lifetime", "filesystem", "workspace", "kernel", "network", "secrets", "terminal", "runtime"}
}

// chapter is one file of the data.
type chapter struct {
	// Default are the expectations of cases that do not say otherwise.
	Default map[string]Expectation `toml:"default"`
	Cases   []Case                 `toml:"case"`
}

// Cases reads the table, sorted by number.
func Cases() ([]Case, error) {
	var all []Case
	for _, name := range Chapters() {
		cases, err := readChapter(files, name)
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Number < all[j].Number })
	return all, check(all)
}

func readChapter(from fs.FS, name string) ([]Case, error) {
	var c chapter
	meta, err := toml.DecodeFS(from, "cases/"+name+".toml", &c)
	if err != nil {
		return nil, fmt.Errorf("abuse cases, chapter %s: %w", name, err)
	}
	if odd := meta.Undecoded(); len(odd) > 0 {
		return nil, fmt.Errorf("abuse cases, chapter %s: unknown key %s", name, odd[0])
	}
	for i := range c.Cases {
		c.Cases[i].Chapter = name
		c.Cases[i].inherit(c.Default)
	}
	return c.Cases, nil
}

func (c *Case) inherit(from map[string]Expectation) {
	expect := map[string]Expectation{}
	for runtime, e := range from {
		expect[runtime] = e
	}
	for runtime, e := range c.Expect {
		expect[runtime] = e
	}
	c.Expect = expect
}

// check finds mistakes in the data.
func check(cases []Case) error {
	seen := map[int]bool{}
	for _, c := range cases {
		if seen[c.Number] || c.Number < 1 {
			return fmt.Errorf("abuse case %d (%s): number is used twice", c.Number, c.Title)
		}
		seen[c.Number] = true
		if c.Title == "" || c.Wall == "" {
			return fmt.Errorf("abuse case %d: title or wall is missing", c.Number)
		}
		for _, name := range Runtimes() {
			if c.Expect[name].Kind == "" {
				return fmt.Errorf("abuse case %d: nothing said about %s", c.Number, name)
			}
		}
	}
	return nil
}
