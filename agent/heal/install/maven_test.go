package install

import (
	"context"
	"errors"
	"strings"
	"testing"
)

const gsonMain = `import com.google.gson.Gson;

public class Main {
    public static void main(String[] args) {
        System.out.println(new Gson().toJson(new int[] {4, 2}));
    }
}
`

const pomStart = `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>pots</groupId>
  <artifactId>pots</artifactId>
  <version>1.0</version>
  <!-- the glaze -->
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
`

// TestInstallMaven brings what a project lacks, which is then built and tested
// in boxes that have no way out; then what a single file lacks.
func TestInstallMaven(t *testing.T) {
	in, env := realInstaller(t), withTool(t, "mvn")
	w := folder(t, map[string]string{
		"pom.xml":                     pomStart + "</project>\n",
		"src/main/java/Main.java":     gsonMain,
		"src/test/java/MainTest.java": "public class MainTest { public void testFires() { assert 4 == 2 + 2; } }\n",
	})
	r := Request{Manager: "maven", Packages: []string{"com.google.code.gson:gson"}, Env: env, Workspace: w, Dir: w.Path}
	l, err := in.Install(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	out := inFolder(t, in, env, w, l, "mvn", "-B", "package")
	if !strings.Contains(out, "Tests run: 1, Failures: 0") || !strings.Contains(out, "BUILD SUCCESS") {
		t.Errorf("output:\n%s", out)
	}
	if got := inFolder(t, in, env, w, l, "cat", "pom.xml"); !strings.Contains(got, "<artifactId>gson</artifactId>") || !strings.Contains(got, "<!-- the glaze -->") {
		t.Errorf("pom.xml:\n%s", got)
	}
	for _, a := range l.Artefacts {
		if a.Hash == "" || !strings.HasSuffix(a.File, ".jar") {
			t.Errorf("artefact %+v, want JAR files with hashes", a)
		}
	}
	t.Run("wrong version", func(t *testing.T) { wrongJavaVersion(t, in, env) })
	t.Run("file", func(t *testing.T) { javaFile(t, in, env) })
}

// wrongJavaVersion: the error says what the index has instead, and Maven's
// words are kept for whoever explains them.
func wrongJavaVersion(t *testing.T, in *Installer, env []string) {
	w := folder(t, map[string]string{"pom.xml": pomStart + "<dependencies><dependency><groupId>com.google.code.gson</groupId>" +
		"<artifactId>gson</artifactId><version>99.9</version></dependency></dependencies></project>\n"})
	_, err := in.Install(context.Background(), Request{
		Manager: "maven", Packages: []string{"com.google.code.gson:gson"}, Env: env, Workspace: w, Dir: w.Path,
	})
	var failed *Error
	if !errors.As(err, &failed) || !strings.Contains(failed.Reason, "gson 99.9; its newest release is 2.") ||
		!strings.Contains(failed.Output, "Could not find artifact com.google.code.gson:gson:jar:99.9") {
		t.Errorf("got %v", err)
	}
}

func javaFile(t *testing.T, in *Installer, env []string) {
	w := folder(t, map[string]string{"Main.java": gsonMain})
	l, err := in.Install(context.Background(), Request{
		Manager: "maven", Packages: []string{"com.google.code.gson:gson"}, Argv0: "java", Env: env, Workspace: w, Dir: w.Path,
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := inFolder(t, in, env, w, l, "java", "Main.java"); out != "[4,2]\n" {
		t.Errorf("output %q", out)
	}
	for _, a := range l.Artefacts {
		if strings.Contains(a.Name, "plugin") || strings.Contains(a.Name, "maven") {
			t.Errorf("artefact %+v, want the program's own JAR files", a)
		}
	}
}

func TestMavenIsNotHere(t *testing.T) {
	in := realInstaller(t)
	_, err := in.Install(context.Background(), Request{
		Manager: "maven", Packages: []string{"com.google.code.gson:gson"}, Argv0: "java", Env: []string{"PATH=/nonexistent"}, Dir: "/tmp",
	})
	if err == nil || !strings.Contains(err.Error(), "mvn is not here") {
		t.Errorf("got %v", err)
	}
}

func TestMavenNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"com.google.code.gson:gson": true, "a:b:1.0-rc1": true, "gson": false, "a:b:c:d": false, "-x:y": false, "a:b -Dx": false, "a:b:${x}": false,
	} {
		if err := checkNames("maven", []string{name}); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMavenFailed: what Maven could not fetch is found also behind the colours
// that it writes now and then, and a test that fails is no such thing.
func TestMavenFailed(t *testing.T) {
	t.Parallel()
	m := mavenRun{got: &fetched{}}
	for _, out := range []string{
		"[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal on project pots: Could not resolve dependencies for project pots:pots\n",
		"[INFO] BUILD FAILURE\n\x1b[0m\x1b[0m[ERROR] Failed to execute goal on project pots: Could not resolve dependencies for project pots:pots\n\x1b[0m",
	} {
		var failed *Error
		if err := m.failed(out); !errors.As(err, &failed) || !strings.HasPrefix(failed.Reason, "Failed to execute goal") {
			t.Errorf("%q: %v", out, err)
		}
	}
	if err := m.failed("[ERROR] Tests run: 1, Failures: 1\n[INFO] Build failures were ignored.\n"); err != nil {
		t.Error(err)
	}
}
