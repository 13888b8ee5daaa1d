package heal

import "slices"

// Plan names the remedies that give a program what its imports need, in one
// go: one remedy for each manager and tier of trust. It takes what the source
// imports (PythonImports and its kin), what the environment already has, the
// names in the project (as Input.Files) and the interpreter's version. Names
// that nothing vouches for are left out: they have to fail first, and ask.
func (r *Rules) Plan(ecosystem string, imports []string, have func(module string) bool, local []string, pyver string) []Remedy {
	p := &planner{rules: r, in: Input{Exit: -1, Files: local, Imports: imports, Python: pyver}}
	for _, imp := range imports {
		switch ecosystem {
		case "python":
			p.python(imp, have)
		case "node":
			p.node(imp, have)
		case "go":
			p.golang(imp, have)
		case "rust":
			p.rust(imp, have)
		case "java":
			p.java(imp, have)
		}
	}
	return p.out
}

type planner struct {
	rules *Rules
	in    Input
	out   []Remedy
}

func (p *planner) python(module string, have func(string) bool) {
	s := &scan{rules: p.rules, in: p.in}
	m := &match{rule: &rule{}, vars: map[string]string{"module": module}}
	switch s.pythonModule(m) {
	case "known", "listed", "removed", "gone", "tk", "split":
	default:
		return
	}
	if have(p.importable(module)) {
		return
	}
	p.add("pip", m, p.importable(module))
}

// importable is the part of a dotted name that a package gives: all of it
// where the map or a shared name says so, the first part otherwise.
func (p *planner) importable(module string) string {
	if w, ok := p.rules.importRow(module); ok && w.columns["tag"] != "namespace" {
		return w.key
	} else if ok {
		return module
	}
	return changed(module, "root")
}

func (p *planner) node(spec string, have func(string) bool) {
	s := &scan{rules: p.rules, in: p.in}
	m := &match{rule: &rule{}, vars: map[string]string{"module": spec}}
	if s.nodeModule(m) != "known" || have(m.vars["package"]) {
		return
	}
	p.add("npm", m, m.vars["package"])
}

func (p *planner) golang(path string, have func(string) bool) {
	v := p.rules.Vouch("go", path)
	if v.Trust != Unknown && !have(path) {
		p.add("go", &match{vars: map[string]string{"packages": path}, trust: v.Trust}, path)
	}
}

func (p *planner) rust(crate string, have func(string) bool) {
	s := &scan{rules: p.rules, in: p.in}
	m := &match{rule: &rule{}, vars: map[string]string{"crate": crate}}
	if s.rustCrate(m) == "known" && !have(crate) {
		p.add("cargo", m, crate)
	}
}

func (p *planner) java(class string, have func(string) bool) {
	s := &scan{rules: p.rules, in: p.in}
	m := &match{rule: &rule{Lookup: "jar", Key: "{package}"}, vars: map[string]string{"package": class}}
	if s.javaPackage(m) != "known" || m.vars["jars"] == "" || have(class) {
		return
	}
	m.vars["packages"] = m.vars["jars"]
	p.add("maven", m, class)
}

// add puts the packages of a match into the remedy for their manager and
// trust.
func (p *planner) add(manager string, m *match, verify string) {
	for _, pkg := range expandWords([]string{m.vars["packages"]}, nil) {
		mgr, name := splitManager(pkg, manager)
		rem := p.remedy(mgr, m.trust)
		if !slices.Contains(rem.Packages, name) {
			rem.Packages = append(rem.Packages, name)
		}
		if mgr == manager && !slices.Contains(rem.Verify, verify) {
			rem.Verify = append(rem.Verify, verify)
		}
		rem.Command = p.rules.installCommand(mgr, rem.Packages)
	}
}

func (p *planner) remedy(manager string, trust Trust) *Remedy {
	for i := range p.out {
		if p.out[i].Manager == manager && p.out[i].Trust == trust {
			return &p.out[i]
		}
	}
	p.out = append(p.out, Remedy{
		Action: "install", Manager: manager, Trust: trust, Origin: "the program's own imports",
	})
	return &p.out[len(p.out)-1]
}
