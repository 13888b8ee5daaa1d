package heal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJavaImports(t *testing.T) {
	t.Parallel()
	const src = `package pots;
import java.util.List;
import javax.swing.JFrame;
import com.google.gson.Gson;
import static org.junit.Assert.*;
  import com.google.gson.Gson;
// import com.nobody.Nothing;
class Pots {}
`
	if d := cmp.Diff([]string{"com.google.gson.Gson", "org.junit.Assert"}, JavaImports([]byte(src))); d != "" {
		t.Error(d)
	}
}

// A group has one owner, so a name of a known group is as good as listed.
func TestVouchMaven(t *testing.T) {
	t.Parallel()
	r := load(t)
	for name, want := range map[string]Trust{
		"com.google.code.gson:gson":                 Known,
		"com.google.code.gson:gson:2.10.1":          Known,
		"com.google.code.gson:gson-extras":          Listed,
		"org.apache.maven.plugins:maven-jar-plugin": Known,
		"com.zorgblubber:zorg-glaze":                Unknown,
		"com.google.code.gsom:gson":                 Unknown,
	} {
		if v := r.Vouch("maven", name); v.Trust != want {
			t.Errorf("%s: %s, want %s", name, v.Trust, want)
		}
	}
	if v := r.Vouch("maven", "com.google.code.gsom:gson"); len(v.DidYouMean) == 0 || v.DidYouMean[0] != "com.google.code.gson:gson" {
		t.Errorf("a slip: %+v", v)
	}
}

func TestProjectsAndTheirPrograms(t *testing.T) {
	t.Parallel()
	r := load(t)
	has := func(names ...string) func(string) bool {
		return func(n string) bool {
			for _, name := range names {
				if n == name {
					return true
				}
			}
			return false
		}
	}
	if file, ok := r.ProjectFile(has("pom.xml", "Makefile")); !ok || file != "pom.xml" {
		t.Errorf("project %q", file)
	}
	if file, ok := r.ProjectFile(has("Makefile")); ok {
		t.Errorf("%s is the file of no project", file)
	}
	for _, c := range []struct{ file, pom, project, main string }{
		{"src/main/java/app/Main.java", "pom.xml", "pom.xml", "app.Main"},
		{"core/src/main/java/Main.java", "core/pom.xml", "core/pom.xml", "Main"},
		{"app/src/main/java/Main.java", "app/pom.xml pom.xml", "app/pom.xml", "Main"},
		{"/w/src/main/java/Main.java", "/w/pom.xml", "/w/pom.xml", "Main"},
		{"src/main/java/app/Main.java", "other/pom.xml", "", ""},
		{"Main.java", "pom.xml", "", ""},
		{"src/main/java/notes.txt", "pom.xml", "", ""},
	} {
		project, run, ok := r.PartOf(c.file, has(strings.Fields(c.pom)...))
		if project != c.project && ok || ok != (c.project != "") || run.Main != c.main && ok {
			t.Errorf("%s with %s: %s of %s (%v)", c.file, c.pom, run.Main, project, ok)
		}
		if ok {
			build, argv, _ := run.Commands(project, "/tmp/x", []string{"arg"}, func(string) bool { return true })
			if c.file[0] == 'a' && (build[4] != "pom.xml" || build[6] != "app") {
				t.Errorf("%s is built by %v", c.file, build)
			}
			if !RunsMaven(build) || argv[len(argv)-1] != "arg" || argv[len(argv)-2] != c.main {
				t.Errorf("%s: %v, then %v", c.file, build, argv)
			}
		}
	}
}
