package install

import (
	"context"
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

func TestInstallMavenFile(t *testing.T) {
	in, env := realInstaller(t), withTool(t, "mvn")
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
		if a.Hash == "" || !strings.HasSuffix(a.File, ".jar") || strings.Contains(a.Name, "plugin") {
			t.Errorf("artefact %+v, want the program's own JAR files with hashes", a)
		}
	}
}

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

// TestInstallMavenProject adds a package to a project, which is then built and
// tested in boxes that have no way out.
func TestInstallMavenProject(t *testing.T) {
	in, env := realInstaller(t), withTool(t, "mvn")
	w := folder(t, map[string]string{
		"pom.xml": pomStart + `  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.13.2</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
`,
		"src/main/java/Main.java":     gsonMain,
		"src/test/java/MainTest.java": "public class MainTest { @org.junit.Test public void fires() { org.junit.Assert.assertEquals(4, 2 + 2); } }\n",
	})
	l, err := in.Install(context.Background(), Request{
		Manager: "maven", Packages: []string{"com.google.code.gson:gson"}, Env: env, Workspace: w, Dir: w.Path,
	})
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
}
