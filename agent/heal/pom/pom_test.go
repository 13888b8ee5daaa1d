package pom

import (
	"strings"
	"testing"
)

const some = `<?xml version="1.0" encoding="ISO-8859-1"?>
<project xmlns="http://example.test/POM/4.0.0">
	<parent><groupId>org.school</groupId><artifactId>all</artifactId><version>3</version></parent>
	<artifactId>pots</artifactId> <!-- <dependencies> of ours: -->
	<properties><gson.version>2.10</gson.version></properties>
	<dependencies>
		<!-- for the glaze -->
		<dependency><groupId>com.google.code.gson</groupId><artifactId>gson</artifactId><version>${gson.version}</version></dependency>
		<dependency>
			<groupId>${project.groupId}</groupId><artifactId>own</artifactId><version>${project.version}</version>
		</dependency>
	</dependencies>
	<build>
		<plugins><plugin><artifactId>maven-antrun-plugin</artifactId><executions><execution><goals><goal>run</goal></goals></execution></executions></plugin></plugins>
	</build>
</project>
`

func TestNames(t *testing.T) {
	t.Parallel()
	got := strings.Join(Names(some), " ")
	if got != "com.google.code.gson:gson org.apache.maven.plugins:maven-antrun-plugin" {
		t.Errorf("got %s", got)
	}
	p, err := Read(some)
	if err != nil || p.Dependencies()[0].Version != "2.10" {
		t.Errorf("%+v, %v: want the version of the property", p.Dependencies(), err)
	}
	for _, bad := range []string{"", "<project>", "<html></html>", "no xml", "<project><dependencies></project>"} {
		if _, err := Read(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// An addition changes nothing but the lines that it adds.
func TestWithKeepsTheRest(t *testing.T) {
	t.Parallel()
	add := []Dependency{{Group: "com.google.code.gson", Artifact: "gson", Version: "9"}, {Group: "junit", Artifact: "junit", Version: "4.13.2", Scope: "test"}}
	const entry = "<dependency>\n\t\t\t<groupId>junit</groupId>\n\t\t\t<artifactId>junit</artifactId>\n\t\t\t<version>4.13.2</version>\n\t\t\t<scope>test</scope>\n\t\t</dependency>"
	windows := strings.ReplaceAll(some, "\n", "\r\n")
	for name, c := range map[string]struct{ in, added string }{
		"a list":       {some, "\n\t\t" + entry},
		"windows":      {windows, "\r\n\t\t" + strings.ReplaceAll(entry, "\n", "\r\n")},
		"an empty one": {"<project>\n\t<dependencies>\n\t</dependencies>\n</project>\n", ""},
		"a short one":  {"<project>\n\t<dependencies/>\n</project>\n", ""},
		"none":         {"<project>\n\t<name>x</name>\n\t<build/>\n</project>\n", ""},
	} {
		p, err := Read(c.in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := p.With(add)
		if c.added != "" && strings.Replace(got, c.added, "", 1) != c.in {
			t.Errorf("%s: more than the entry was changed:\n%s", name, got)
		}
		q, err := Read(got)
		if err != nil || !q.Has("junit:junit") || !q.Has("com.google.code.gson:gson") {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		if again := q.With(add); again != got {
			t.Errorf("%s: added twice:\n%s", name, again)
		}
		if c.added == "" && (strings.Contains(got, "\n\n") || !strings.Contains(got, "\n\t\t<dependency>\n\t\t\t<groupId>junit")) {
			t.Errorf("%s: badly laid out:\n%s", name, got)
		}
	}
}

func TestManagedVersionsStay(t *testing.T) {
	t.Parallel()
	p, err := Read("<project><dependencyManagement><dependencies><dependency><groupId>a</groupId><artifactId>b</artifactId><version>1</version></dependency></dependencies></dependencyManagement></project>")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.With([]Dependency{{Group: "a", Artifact: "b", Version: "2"}}); strings.Contains(got, "<version>2</version>") {
		t.Errorf("a version of its own:\n%s", got)
	}
}

func TestWithoutExecutions(t *testing.T) {
	t.Parallel()
	p, err := Read(some)
	if err != nil {
		t.Fatal(err)
	}
	got := p.WithoutExecutions()
	if strings.Contains(got, "execution") || !strings.Contains(got, "maven-antrun-plugin</artifactId></plugin>") {
		t.Errorf("got:\n%s", got)
	}
}

func FuzzWith(f *testing.F) {
	f.Add(some)
	f.Add("<project><dependencies><!-- x --></dependencies></project>")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Read(text)
		if err != nil {
			return
		}
		got := p.With([]Dependency{{Group: "g", Artifact: "a", Version: "1"}})
		if q, err := Read(got); err != nil || !q.Has("g:a") && q.values["project.groupId"] != "g" {
			t.Errorf("%v: from %q came %q", err, text, got)
		}
	})
}

func TestPluginVersion(t *testing.T) {
	t.Parallel()
	parent, err1 := Read("<project><properties><v>3.1</v></properties><build><pluginManagement><plugins><plugin><artifactId>maven-jar-plugin</artifactId><version>2.4</version></plugin></plugins></pluginManagement></build></project>")
	child, err2 := Read("<project><build><plugins><plugin><groupId>g</groupId><artifactId>x-maven-plugin</artifactId><version>${v}</version></plugin></plugins></build></project>")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for _, c := range []struct {
		in         *Project
		name, want string
	}{
		{parent, "org.apache.maven.plugins:maven-jar-plugin", "2.4"}, {child, "g:x-maven-plugin", "3.1"}, {child, "g:y-maven-plugin", ""},
	} {
		if got := c.in.PluginVersion(c.name, parent, child); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
