package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/sandbox"
)

// mavenBench is an engine in a Maven project that names these packages.
func mavenBench(t *testing.T, named ...string) bench {
	t.Helper()
	b := newBench(t, python(func(sandbox.Spec) reply { return reply{} }))
	dir := t.TempDir()
	b.Project = Project{Path: dir, Source: dir, Dir: dir}
	list := ""
	for _, name := range named {
		group, artifact, _ := strings.Cut(name, ":")
		list += "<dependency><groupId>" + group + "</groupId><artifactId>" + artifact + "</artifactId><version>1</version></dependency>"
	}
	for name, text := range map[string]string{
		"pom.xml":                "<project><dependencies>" + list + "</dependencies></project>",
		"src/main/java/Pot.java": "import com.google.gson.Gson;\nclass Pot {}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// What a project's packages bring is not known before they are there, so what
// its code imports is added at once only where it names none.
func TestImportsOfAMavenProject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ named, want []string }{
		{nil, []string{"com.google.code.gson:gson", "org.apache.maven.plugins:maven-jar-plugin"}},
		{[]string{"org.springframework.boot:spring-boot-starter-web"}, []string{"org.apache.maven.plugins:maven-jar-plugin"}},
	} {
		b := mavenBench(t, c.named...)
		r := &run{argv: []string{"mvn", "compile"}}
		s := b.readSource(r)
		r.source = &s
		for _, name := range append(c.named, "com.google.gson.Gson") {
			if !slices.Contains(s.own, name) {
				t.Errorf("the project's sources do not name %s: %v", name, s.own)
			}
		}
		m := heal.Remedy{Action: "install", Manager: "maven", Packages: []string{"org.apache.maven.plugins:maven-jar-plugin"}}
		if got := b.together(context.Background(), r, heal.Diagnosis{Ecosystem: "java"}, m).Packages; !slices.Equal(got, c.want) {
			t.Errorf("a project that names %v: %v, want %v", c.named, got, c.want)
		}
	}
}

// The words of an installer that found no such package explain more than those
// of the program that lacks it.
func TestAPackageThatDoesNotExistIsExplained(t *testing.T) {
	t.Parallel()
	b := mavenBench(t)
	for text, want := range map[string]string{
		"[ERROR] Could not resolve: Could not find artifact com.zorg:glaze:jar:1.0 in gateway (http://127.0.0.1)": "com.zorg:glaze:jar:1.0",
		"[ERROR] the disk is full": "",
	} {
		r := &run{}
		b.learn(r, heal.Remedy{Manager: "maven"}, &install.Error{Reason: "the index has none", Output: text})
		switch {
		case want == "" && r.better != nil, want != "" && r.better == nil:
			t.Errorf("%s: %+v", text, r.better)
		case want != "" && (r.better.Subject != want || !slices.Contains(r.better.Evidence, "the index has none")):
			t.Errorf("%s: %+v", text, r.better)
		}
	}
}

// A program of a Maven project is run by Maven, and that is said.
func TestAProjectsRunnerIsTold(t *testing.T) {
	t.Parallel()
	b := mavenBench(t)
	for file, word := range map[string]string{"pom.xml": "the program runs", "src/main/java/Pot.java": "Pot runs"} {
		r := &run{call: Call{File: file}}
		if err := b.resolve(r); err != nil {
			t.Fatal(err)
		}
		if !heal.RunsMaven(r.argv) || !strings.Contains(r.chose, "Maven project") || !strings.Contains(r.chose, word) {
			t.Errorf("%s: %v, told as %q", file, r.argv, r.chose)
		}
	}
}

// Arguments that a remedy adds go to what builds the program, not to the
// program.
func TestAddedArgumentsReachTheCompiler(t *testing.T) {
	t.Parallel()
	b := mavenBench(t)
	r := &run{call: Call{File: "pom.xml", Args: []string{"mine"}}}
	if err := b.resolve(r); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(r.argv)
	r.append([]string{"-Dx=8"})
	if !strings.Contains(r.argv[2], `'-Dx=8' && exec`) || !slices.Equal(before[3:], r.argv[3:]) {
		t.Errorf("got %v", r.argv)
	}
	plain := &run{argv: []string{"mvn", "compile"}}
	if plain.append([]string{"-Dx=8"}); !slices.Equal(plain.argv, []string{"mvn", "compile", "-Dx=8"}) {
		t.Errorf("got %v", plain.argv)
	}
}
