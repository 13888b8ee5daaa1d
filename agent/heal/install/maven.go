package install

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kintsugi/agent/heal/pom"
	"kintsugi/sandbox"
	"kintsugi/sandbox/lazyregexp"
)

// mavenBase is where Java layers live inside a box: a repository in which Maven
// finds all that a project needs, or the JAR files of a single program.
const mavenBase = "/kintsugi/maven"

// mavenWork is where projects are laid out for Maven while it fetches.
const mavenWork = "/kintsugi/maven-work"

// javaProject is what packages are added to: a Maven project, or none when a
// single file is run.
type javaProject struct {
	tools string            // "Apache Maven 3.8.7 … Java version: 17.0.15 …"
	top   string            // the folder of the topmost pom.xml inside the box; "" when there is none
	dir   string            // the folder of the nearest pom.xml, below top: "." or "core"
	poms  map[string]string // the project files by their path below top: "core/pom.xml"
}

// askMaven tells about the tools and about the project that a folder is part
// of: the nearest and the topmost folder that have a pom.xml, then each project
// file below that one behind a line with its path and length.
const askMaven = `command -v mvn >/dev/null || exit 3
echo $(mvn -B -v 2>/dev/null | grep -oE 'Apache Maven [0-9a-z.-]+|Java version: [^ ,]+')
[ "$1" = java ] && exit 0
near=$PWD
while [ ! -f "$near/pom.xml" ] && [ "$near" != / ]; do near=$(dirname "$near"); done
[ -f "$near/pom.xml" ] || exit 0
top=$near
while [ "$top" != / ] && [ -f "$(dirname "$top")/pom.xml" ]; do top=$(dirname "$top"); done
echo "$near"
cd "$top" && pwd
find . -name pom.xml -size -1024k -not -path '*/target/*' -not -path '*/.*/*' | head -200 | while read -r f; do
  echo "$f $(wc -c < "$f")"
  cat "$f"
done`

func (in *Installer) javaProject(ctx context.Context, r Request) (javaProject, error) {
	out, res, err := in.ask(ctx, sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", askMaven, "sh", argv0(r, "mvn")}, Dir: r.Dir, Layers: r.Layers, Workspace: r.Workspace,
		Env: sandbox.MergeEnv(r.Env, "MAVEN_OPTS=", "MAVEN_ARGS="),
	})
	part := strings.SplitN(out, "\n", 4)
	switch {
	case res.ExitCode == 3:
		return javaProject{}, &Error{Manager: "maven", Reason: "mvn is not here"}
	case err != nil || !strings.HasPrefix(part[0], "Apache Maven"):
		return javaProject{}, &Error{Manager: "maven", Reason: "Maven does not say what it is; is there a Java for it?"}
	case len(part) < 4:
		return javaProject{tools: part[0]}, nil
	}
	p := javaProject{tools: part[0], top: part[2], poms: map[string]string{}}
	if p.dir, err = filepath.Rel(part[2], part[1]); err != nil {
		return p, err
	}
	for rest := part[3]; rest != ""; {
		line, text, _ := strings.Cut(rest, "\n")
		name, length, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(length)
		if err != nil || n > len(text) || !filepath.IsLocal(name) {
			return p, &Error{Manager: "maven", Reason: "the project files cannot be read"}
		}
		p.poms[path.Clean(name)], rest = text[:n], text[n:]
	}
	return p, nil
}

// platform tells apart what cannot share a layer: tools, and projects.
func (p javaProject) platform() string {
	parts := []string{p.top, p.dir}
	for _, name := range slices.Sorted(maps.Keys(p.poms)) {
		parts = append(parts, name, p.poms[name])
	}
	return p.tools + " " + Key(parts...)[:12]
}

// own is the project file that dependencies are added to.
func (p javaProject) own() string { return path.Join(p.dir, "pom.xml") }

func (in *Installer) maven(ctx context.Context, r Request) (Layer, error) {
	p, err := in.javaProject(ctx, r)
	if err != nil {
		return Layer{}, err
	}
	if l, ok := in.Find(r.Layer); ok && l.Manager == "maven" && l.matches(r.Pins) && p.placed(l) {
		return l, nil
	}
	return in.made(r, p.platform(), nil, func(r Request, b *build, l *Layer) error {
		var got fetched
		m := mavenRun{in: in, r: r, b: b, got: &got}
		fill := m.single
		if p.top != "" {
			fill = m.project
		}
		if err := fill(ctx, p, l); err != nil {
			return err
		}
		for _, f := range l.Artefacts {
			l.Versions = append(l.Versions, f.Name+" "+f.Version)
		}
		return checkPinned(r, l.Artefacts)
	})
}

// placed says whether the project has the project file of a lock's layer by
// now, so that nothing is fetched anew.
func (p javaProject) placed(l Layer) bool {
	text, err := os.ReadFile(filepath.Join(l.Tree, filepath.FromSlash(mavenBase), "now", "pom.xml"))
	return err == nil && strings.HasPrefix(l.For, p.tools+" ") && len(p.poms) == 1 && string(text) == p.poms[p.own()]
}

// mavenRun is one installation.
type mavenRun struct {
	in  *Installer
	r   Request
	b   *build
	got *fetched
}

// released gives a package with a version: its own, or the newest.
func (m mavenRun) released(ctx context.Context, name string) (pom.Dependency, error) {
	d := pom.Parse(name)
	if d.Version != "" {
		return d, nil
	}
	if m.in.Mirror == nil {
		return d, &Error{Manager: "maven", Reason: "there is no way to the index"}
	}
	g, err := m.in.gateway(ctx, m.r)
	if err != nil {
		return d, err
	}
	if d.Version, err = g.Newest(ctx, "maven", name); err != nil {
		return d, &Error{Manager: "maven", Reason: err.Error()}
	}
	return d, nil
}

// mavenEmpty is a project that only names packages.
const mavenEmpty = "<project>\n  <modelVersion>4.0.0</modelVersion>\n  <groupId>sandbox</groupId>\n  <artifactId>sandbox</artifactId>\n  <version>1</version>\n</project>\n"

// copies is the goal that puts a project's packages into a folder; its version
// is the one that Maven itself chooses.
const copies = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"

// single brings the JAR files of a program in one file.
func (m mavenRun) single(ctx context.Context, p javaProject, l *Layer) error {
	text, err := m.naming(ctx, m.r.Packages)
	if err != nil {
		return err
	}
	if err := m.fetch(ctx, map[string]string{"pom.xml": text}, ".", copies, "-DincludeScope=runtime", "-DoutputDirectory="+mavenBase+"/lib"); err != nil {
		return err
	}
	base := filepath.Join(m.b.tree, filepath.FromSlash(mavenBase))
	for _, a := range m.got.artefacts() {
		if _, err := os.Stat(filepath.Join(base, "lib", a.File)); err == nil {
			l.Artefacts = append(l.Artefacts, a)
		}
	}
	l.Env = []string{"CLASSPATH=" + mavenBase + "/lib/*:."}
	return os.RemoveAll(filepath.Join(base, "repo"))
}

// naming is a project file that names packages and nothing else.
func (m mavenRun) naming(ctx context.Context, packages []string) (string, error) {
	empty, err := pom.Read(mavenEmpty)
	if err != nil {
		return "", err
	}
	var add []pom.Dependency
	for _, name := range packages {
		d, err := m.released(ctx, name)
		if err != nil {
			return "", err
		}
		add = append(add, d)
	}
	return empty.With(add), nil
}

// project brings all that a Maven project needs to be built and tested, and
// adds to it what it does not name yet. A package with a version that it does
// not name is brought and not added, and so is a plugin: Maven asked for it.
func (m mavenRun) project(ctx context.Context, p javaProject, l *Layer) error {
	own, err := pom.Read(p.poms[p.own()])
	if err != nil {
		return &Error{Manager: "maven", Reason: err.Error()}
	}
	var add []pom.Dependency
	var goals, extra []string
	for _, name := range m.r.Packages {
		d := pom.Parse(name)
		switch {
		case d.Plugin:
			goals = append(goals, p.help(name)...)
		case p.names(d.Name()):
		case d.Version != "" && len(m.r.Pins) == 0:
			extra = append(extra, name)
		default:
			if d, err = m.released(ctx, name); err != nil {
				return err
			}
			add = append(add, d)
		}
	}
	if err := m.takeOver(p, l); err != nil {
		return err
	}
	if add, err = m.managed(ctx, p, own, add); err != nil {
		return err
	}
	l.Packages = withVersions(m.r.Packages, add)
	text := own.With(add)
	if err := m.lifecycle(ctx, p, text, goals); err != nil {
		return err
	}
	if err := m.extras(ctx, extra); err != nil {
		return err
	}
	base := filepath.Join(m.b.tree, filepath.FromSlash(mavenBase))
	if err := writeFiles(base, map[string]string{"was/pom.xml": p.poms[p.own()], "now/pom.xml": text}); err != nil {
		return err
	}
	for _, a := range m.got.artefacts() {
		if strings.HasSuffix(a.File, ".jar") && !slices.ContainsFunc(l.Artefacts, func(o Artefact) bool { return o.Name == a.Name && o.File == a.File }) {
			l.Artefacts = append(l.Artefacts, a)
		}
	}
	l.Env = []string{"MAVEN_OPTS=-Dmaven.repo.local=" + mavenBase + "/repo"}
	l.Before = placing(mavenBase, path.Join(p.top, p.dir), "pom.xml")
	return settleRepository(filepath.Join(base, "repo"))
}

var unmanaged = lazyregexp.New(`'dependencies\.dependency\.version' for (\S+?):jar is missing`)

// managed takes the versions off packages to which the project's parent gives
// one that goes with its others.
func (m mavenRun) managed(ctx context.Context, p javaProject, own *pom.Project, add []pom.Dependency) ([]pom.Dependency, error) {
	if len(add) == 0 || !own.Inherits() {
		return add, nil
	}
	bare := slices.Clone(add)
	for i := range bare {
		bare[i].Version = ""
	}
	files := maps.Clone(p.poms)
	files[p.own()] = own.With(bare)
	out, _, err := m.mvn(ctx, files, p.dir, "validate")
	for _, lacking := range unmanaged.FindAllStringSubmatch(out, -1) {
		for i := range bare {
			if bare[i].Name() == lacking[1] {
				bare[i].Version = add[i].Version
			}
		}
	}
	return bare, err
}

// withVersions puts the versions that were chosen behind the names.
func withVersions(names []string, chosen []pom.Dependency) []string {
	out := slices.Clone(names)
	for i, name := range out {
		for _, d := range chosen {
			if d.Name() == name && d.Version != "" {
				out[i] = name + ":" + d.Version
			}
		}
	}
	return out
}

// takeOver begins with what the layer so far has, which was checked when it was
// fetched.
func (m mavenRun) takeOver(p javaProject, l *Layer) error {
	old, ok := m.in.Find(m.r.Since)
	if !ok || old.Manager != "maven" || len(m.r.Pins) > 0 || !strings.HasPrefix(old.For, p.tools+" ") {
		return nil
	}
	at := filepath.Join(filepath.FromSlash(mavenBase), "repo")
	if _, err := os.Stat(filepath.Join(old.Tree, at)); err != nil {
		return nil // it has the JAR files of a single program
	}
	l.Artefacts = slices.Clone(old.Artefacts)
	return os.CopyFS(filepath.Join(m.b.tree, at), os.DirFS(filepath.Join(old.Tree, at)))
}

// names says whether any project file names a package.
func (p javaProject) names(name string) bool {
	for _, text := range p.poms {
		if one, err := pom.Read(text); err == nil && one.Has(name) {
			return true
		}
	}
	return false
}

// Stand-ins for the user's code, so that Maven's compiler and test runner fetch
// what they need.
const (
	mavenMain = "src/main/java/KintsugiStandIn.java"
	mavenTest = "src/test/java/KintsugiStandInTest.java"
)

// lifecycle has Maven build the project without any of its code and without
// what its plugins are told to do on their own; it stops at nothing that does
// not keep packages from being fetched.
func (m mavenRun) lifecycle(ctx context.Context, p javaProject, text string, goals []string) error {
	files := map[string]string{}
	for name, was := range p.poms {
		if name == p.own() {
			was = text
		}
		one, err := pom.Read(was)
		if err != nil {
			return &Error{Manager: "maven", Reason: name + ": " + err.Error()}
		}
		files[name] = one.WithoutExecutions()
		if one.Packaging() != "pom" {
			files[path.Join(path.Dir(name), mavenMain)] = "class KintsugiStandIn {}\n"
			files[path.Join(path.Dir(name), mavenTest)] = "public class KintsugiStandInTest {}\n"
		}
	}
	return m.fetch(ctx, files, p.dir, append(append([]string{"-fn", "-Dsurefire.failIfNoSpecifiedTests=false"}, goals...), "package")...)
}

// help are the goals that make Maven fetch a plugin, at the versions that the
// project files give it: the plugin tells about itself, and does nothing.
func (p javaProject) help(name string) []string {
	var all []*pom.Project
	for _, file := range slices.Sorted(maps.Keys(p.poms)) {
		if one, err := pom.Read(p.poms[file]); err == nil {
			all = append(all, one)
		}
	}
	var out []string
	for _, one := range all {
		if v := one.PluginVersion(name, all...); v != "" {
			out = append(out, name+":"+v+":help")
		}
	}
	if len(out) == 0 {
		out = []string{name + ":help"}
	}
	return sorted(out)
}

// extras brings packages that Maven asked for beside those of the project. They
// are looked for one by one, because they need not go together.
func (m mavenRun) extras(ctx context.Context, names []string) error {
	for _, name := range names {
		text, err := m.naming(ctx, []string{name})
		if err != nil {
			return err
		}
		if err := m.fetch(ctx, map[string]string{"pom.xml": text, mavenTest: "class KintsugiStandInTest {}\n"}, ".", "-fn", "test-compile"); err != nil {
			return err
		}
	}
	return nil
}

// fetch has Maven fetch what goals need.
func (m mavenRun) fetch(ctx context.Context, files map[string]string, dir string, goals ...string) error {
	out, res, err := m.mvn(ctx, files, dir, goals...)
	if err == nil {
		err = m.failed(out)
	}
	if err == nil && res.ExitCode != 0 { // Maven itself came to nothing
		err = fail("maven", out, res)
	}
	return err
}

// mvn runs Maven on project files that lie in a folder of their own.
func (m mavenRun) mvn(ctx context.Context, files map[string]string, dir string, args ...string) (out string, res sandbox.Result, err error) {
	work, err := os.MkdirTemp(m.b.dir, "project-")
	if err != nil {
		return "", res, err
	}
	defer os.RemoveAll(work)
	base := filepath.Join(m.b.tree, filepath.FromSlash(mavenBase))
	if err := writeFiles(work, files); err != nil {
		return "", res, err
	}
	if err := os.MkdirAll(filepath.Join(base, "repo"), 0o755); err != nil {
		return "", res, err
	}
	spec := sandbox.Spec{
		Argv: []string{"mvn", "-B", "-Dstyle.color=never", "-Dmaven.repo.local=" + mavenBase + "/repo"}, Dir: path.Join(mavenWork, filepath.ToSlash(dir)), Layers: m.r.Layers,
		Mounts: []sandbox.Mount{
			{Source: base, Target: mavenBase, Writable: true}, {Source: work, Target: mavenWork, Writable: true},
		},
		Env: m.r.Env,
	}
	spec.Argv = append(spec.Argv, args...)
	r := m.r
	r.Unpinned = r.Unpinned || slices.Contains(args, copies) // the goal's own packages are not kept
	if err := m.in.connect(ctx, r, &spec, filepath.Join(m.b.dir, "gateway"), m.got); err != nil {
		return "", res, err
	}
	m.r.Progress("resolving " + strings.Join(m.r.Packages, ", "))
	res, out, err = m.in.box(ctx, spec, mavenProgress(m.r))
	if err == nil && res.Limit != sandbox.LimitNone {
		err = fail("maven", out, res)
	}
	return out, res, err
}

// unfetched marks the lines in which Maven says that something could not be
// fetched, or that there is nothing to build.
var unfetched = lazyregexp.New(`^\[(?:ERROR|FATAL)\] .*(?:could not be resolved|Could not resolve|Could not find artifact|Could not transfer|Non-resolvable|Non-parseable|Malformed POM|Unresolveable|No plugin found|Failed to read artifact descriptor|The build could not read|Child module)`)

// colour is what Maven's terminal library writes at times even when it shall
// write none, also in front of a line of another thread's.
var colour = lazyregexp.New(`\x1b\[[0-9;]*m`)

// failed gives the reason why packages could not be had: the gateway's words
// where it refused something, Maven's otherwise.
func (m mavenRun) failed(out string) error {
	for _, line := range strings.Split(colour.ReplaceAllString(out, ""), "\n") {
		if line = strings.TrimSpace(line); !unfetched.MatchString(line) {
			continue
		}
		reason := strings.TrimPrefix(line, "[ERROR] ")
		if why := m.got.refusal(); why != "" {
			reason = why
		}
		return &Error{Manager: "maven", Reason: reason, Output: out}
	}
	return nil
}

// settleRepository removes Maven's notes on where packages came from: with
// them it would ask the project's own repositories for each once more.
func settleRepository(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); !d.IsDir() && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, "resolver-status") ||
			strings.HasSuffix(name, ".lastUpdated") || strings.HasSuffix(name, ".sha1")) {
			return os.Remove(path)
		}
		return nil
	})
}

// mavenProgress shows what Maven fetches.
func mavenProgress(r Request) Request {
	show := r.Progress
	r.Progress = func(line string) {
		if _, rest, ok := strings.Cut(line, "Downloading from "); ok {
			show("downloading " + path.Base(rest))
		}
	}
	return r
}
