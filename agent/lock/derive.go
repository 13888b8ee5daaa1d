package lock

import (
	"cmp"
	"slices"
	"strings"

	"kintsugi/agent/event"
	"kintsugi/agent/heal/install"
)

// Reason is why a package was asked for.
type Reason struct{ Evidence, Rule string }

// Derived is what a session's log says about the packages it used.
type Derived struct {
	// Programs are the programs that ran with packages of remedies, in the
	// order of their last run: path on the host, or "" for commands.
	Programs []string
	// Layers are the keys of the layers of each program's last attempt.
	Layers map[string][]string
	// Reasons are those of the packages that the session asked for itself, by
	// manager and package: "pip pandas".
	Reasons map[string]Reason
}

// Derive reads a session's events.
func Derive(events []event.Event) Derived {
	d := deriver{
		Derived: Derived{Layers: map[string][]string{}, Reasons: map[string]Reason{}},
		program: map[int]string{}, failure: map[[2]int]event.Failure{},
	}
	for _, e := range events {
		d.add(e.Body)
	}
	return d.Derived
}

type deriver struct {
	Derived
	program map[int]string           // by step
	failure map[[2]int]event.Failure // by step and attempt
}

func (d *deriver) add(body event.Body) {
	switch b := body.(type) {
	case event.Call:
		d.program[b.Step] = b.File
	case event.Attempt:
		d.ran(d.program[b.Step], b.Layers)
	case event.Failure:
		d.failure[[2]int{b.Step, b.Attempt}] = b
	case event.Remedy:
		d.reason(b)
	}
}

func (d *deriver) ran(program string, layers []string) {
	d.Programs = slices.DeleteFunc(d.Programs, func(p string) bool { return p == program })
	delete(d.Layers, program)
	if len(layers) > 0 {
		d.Programs = append(d.Programs, program)
		d.Layers[program] = layers
	}
}

func (d *deriver) reason(r event.Remedy) {
	f, ok := d.failure[[2]int{r.Step, r.Attempt}]
	if r.Origin == "preflight" {
		f, ok = event.Failure{Evidence: []string{"the program imports it"}}, true
	}
	if !ok || r.Action != "install" {
		return
	}
	why := Reason{Rule: cmp.Or(r.Origin, f.Rule)}
	if len(f.Evidence) > 0 {
		why.Evidence = f.Evidence[len(f.Evidence)-1]
	}
	for _, p := range r.Packages {
		d.Reasons[r.Manager+" "+key(r.Manager, p)] = why
	}
	why.Evidence = "the program imports it as well"
	for _, p := range r.Along {
		d.Reasons[r.Manager+" "+key(r.Manager, p)] = why
	}
}

func key(manager, asked string) string {
	name := nameOf(manager, asked)
	if manager == "pip" {
		name = runs.ReplaceAllString(strings.ToLower(name), "-")
	}
	return name
}

// Set makes the set of a program. reason looks a package up ("pip pandas");
// kept is what was written down when the session ended, for layers that are
// gone since. What has no hash, such as a package that a lesson ships, is left
// out and named in skipped.
func (d Derived) Set(program string, find func(key string) (install.Layer, bool), reason func(string) Reason, kept File) (s Set, skipped []string) {
	for _, k := range d.Layers[program] {
		l, ok := find(k)
		if part, have := kept.layer(k); !ok && have {
			s.Parts = append(s.Parts, part)
			continue
		}
		if !ok {
			skipped = append(skipped, "layer "+k+" (it is gone; run the program again)")
			continue
		}
		part, left := partOf(l, reason)
		skipped = append(skipped, left...)
		if len(part.Packages) > 0 {
			s.Parts = append(s.Parts, part)
		}
	}
	return s, skipped
}

func partOf(l install.Layer, reason func(string) Reason) (p Part, skipped []string) {
	p = Part{Manager: l.Manager, For: l.For, Layer: l.Key}
	for _, a := range l.Artefacts {
		if a.Hash == "" {
			skipped = append(skipped, a.Name+" "+a.Version+" (no hash is known)")
			continue
		}
		why := reason(l.Manager + " " + key(l.Manager, a.Name))
		if len(a.Files) == 1 {
			a.Files = nil
		}
		p.Packages = append(p.Packages, Package{
			Name: a.Name, Version: a.Version, Evidence: why.Evidence, Rule: why.Rule, File: a.File, Hash: a.Hash, Files: a.Files,
		})
	}
	for _, asked := range l.Packages {
		if i := p.index(asked); i >= 0 {
			if why := reason(l.Manager + " " + key(l.Manager, asked)); p.Packages[i].Evidence == "" {
				p.Packages[i].Evidence, p.Packages[i].Rule = why.Evidence, why.Rule
			}
			if name := loosened(l.Manager, asked); !slices.Contains(p.Asked, name) {
				p.Asked = append(p.Asked, name)
			}
		} else {
			skipped = append(skipped, asked+" (no file of it was fetched)")
		}
	}
	slices.SortFunc(p.Packages, func(a, b Package) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
	})
	return p, skipped
}

// loosened takes an exact version off again: a layer made from a lock was
// asked for by versions, and the packages have them anyway.
func loosened(manager, asked string) string {
	if manager == "apt" {
		return nameOf(manager, asked)
	}
	if name, _, ok := strings.Cut(asked, "@"); ok && (manager == "go" || manager == "cargo") {
		return name
	}
	if name, _, ok := strings.Cut(asked, "=="); ok && manager == "pip" && !strings.ContainsAny(name, "<>~!,") {
		return name
	}
	return asked
}
