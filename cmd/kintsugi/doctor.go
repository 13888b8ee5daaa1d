package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"kintsugi/sandbox"
	"kintsugi/sandbox/gateway"
)

// checkup is what kintsugi doctor found.
type checkup struct {
	Version  string           `json:"version"`
	Runtimes []runtimeCheckup `json:"runtimes"`
	// Auto is the runtime that is taken when none is asked for: the first that
	// works.
	Auto    string         `json:"auto,omitempty"`
	Tools   []toolCheckup  `json:"tools"`
	Indexes []indexCheckup `json:"indexes"`
	Places  []placeCheckup `json:"places"`
}

type runtimeCheckup struct {
	Name   string         `json:"name"`
	OK     bool           `json:"ok"`
	Reason string         `json:"reason,omitempty"`
	Remedy string         `json:"remedy,omitempty"`
	Kept   sandbox.Report `json:"promises,omitempty"`
}

type toolCheckup struct {
	Name string `json:"name"`
	For  string `json:"for"`
	Path string `json:"path,omitempty"`
}

type placeCheckup struct {
	What  string `json:"what"`
	Path  string `json:"path"`
	Error string `json:"error,omitempty"`
}

// indexCheckup is where packages of an ecosystem come from, as its own client
// says. Credentials are never part of it.
type indexCheckup struct {
	Ecosystem string `json:"ecosystem"`
	URL       string `json:"url,omitempty"`
	Origin    string `json:"origin,omitempty"`
	Private   bool   `json:"private,omitempty"`
	Login     bool   `json:"with_credentials,omitempty"`
	Note      string `json:"note,omitempty"`
}

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what works on this machine, and what would make the rest work",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := examine(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				err = enc.Encode(c)
			} else {
				c.print(cmd.OutOrStdout())
			}
			if err == nil && !c.works() {
				err = exitError{code: 1}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

func examine(cmd *cobra.Command) (checkup, error) {
	c := checkup{Version: version}
	for _, rt := range runtimes(boxOptions{}) {
		a := rt.Probe(cmd.Context())
		closeRuntime(rt)
		c.Runtimes = append(c.Runtimes, runtimeCheckup{rt.Name(), a.OK, a.Reason, a.Remedy, a.Report})
		if c.Auto == "" && a.OK {
			c.Auto = rt.Name()
		}
	}
	for _, t := range []toolCheckup{
		{Name: "python3", For: "Python programs"}, {Name: "node", For: "JavaScript programs"},
		{Name: "npm", For: "JavaScript packages"}, {Name: "mvn", For: "Java packages"},
		{Name: "apt-get", For: "commands and system libraries"},
		{Name: "uv", For: "Python packages, faster; optional"}, {Name: "ollama", For: "a local model (optional)"},
	} {
		t.Path, _ = exec.LookPath(t.Name)
		c.Tools = append(c.Tools, t)
	}
	c.Indexes = indexes(gateway.Learn(cmd.Context(), gateway.HostProber{Environ: os.Environ()}))
	p, err := findPlaces()
	if err != nil {
		return c, err
	}
	c.Places = []placeCheckup{{What: "sessions", Path: p.sessions}, {What: "layers", Path: p.layers}, {What: "packages", Path: p.packages}}
	for i := range c.Places {
		if err := os.MkdirAll(c.Places[i].Path, 0o700); err != nil {
			c.Places[i].Error = err.Error()
		}
	}
	return c, nil
}

// indexes are what the package managers told about themselves.
func indexes(l gateway.Learned) []indexCheckup {
	var out []indexCheckup
	for _, u := range l.Upstreams {
		out = append(out, indexCheckup{Ecosystem: u.Ecosystem, URL: u.URL, Origin: u.Origin, Private: u.Private, Login: u.Auth != ""})
	}
	for _, n := range l.Notes {
		out = append(out, indexCheckup{Ecosystem: n.Ecosystem, Note: n.Text})
	}
	return out
}

func (i indexCheckup) print(w io.Writer) {
	if i.URL == "" {
		fmt.Fprintf(w, "  – %-5s %s\n", i.Ecosystem, i.Note)
		return
	}
	what := "from " + i.Origin
	if i.Private {
		what += ", a private address"
	}
	if i.Login {
		what += ", with credentials"
	}
	fmt.Fprintf(w, "  ✓ %-5s %s (%s)\n", i.Ecosystem, i.URL, what)
}

func (c checkup) works() bool {
	for _, rt := range c.Runtimes {
		if rt.OK {
			return true
		}
	}
	return false
}

func (c checkup) print(w io.Writer) {
	fmt.Fprintf(w, "Kintsugi %s\n", c.Version)
	for _, rt := range c.Runtimes {
		rt.print(w)
	}
	if c.Auto != "" {
		fmt.Fprintf(w, "\n--runtime auto takes %s: the first of these that works\n", c.Auto)
	}
	fmt.Fprintln(w, "\nPrograms")
	for _, t := range c.Tools {
		mark, path := "✓", t.Path
		if path == "" {
			mark, path = "–", "not found"
		}
		fmt.Fprintf(w, "  %s %-8s %s (for %s)\n", mark, t.Name, path, t.For)
	}
	fmt.Fprintln(w, "\nPackage indexes, as their own clients name them")
	for _, i := range c.Indexes {
		i.print(w)
	}
	fmt.Fprintln(w, "\nFolders")
	for _, p := range c.Places {
		if p.Error != "" {
			fmt.Fprintf(w, "  ✗ %-8s %s\n", p.What, p.Error)
			continue
		}
		fmt.Fprintf(w, "  ✓ %-8s %s\n", p.What, p.Path)
	}
}

func (rt runtimeCheckup) print(w io.Writer) {
	if !rt.OK {
		fmt.Fprintf(w, "\n✗ %s: %s\n", rt.Name, rt.Reason)
		if rt.Remedy != "" {
			fmt.Fprintf(w, "  to make it available: %s\n", rt.Remedy)
		}
		return
	}
	fmt.Fprintf(w, "\n✓ %s works\n", rt.Name)
	if rt.Reason != "" {
		fmt.Fprintf(w, "  ✗ left out: %s\n", rt.Reason)
	}
	for _, k := range rt.Kept {
		mark := map[sandbox.Strength]string{sandbox.KernelEnforced: "✓", sandbox.Watched: "~", sandbox.NotKept: "✗"}[k.Strength]
		fmt.Fprintf(w, "  %s %-24s %-8s %s\n", mark, k.Promise, k.Strength, k.Mechanism)
	}
}
