package gateway

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The gem command installs from an index in this process: a gem that it built
// itself, with the files that it makes of it.
func TestGemClient(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gem"); err != nil {
		t.Skip("no gem command here")
	}
	o, dir := newOrigin(t), t.TempDir()
	file := buildGem(t, dir)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o.text("/gem/versions", "text/plain", "created_at: 2024-01-01T00:00:00Z\n---\nkin-2gold 1.0.0 0123456789abcdef0123456789abcdef\n")
	o.text("/gem/info/kin-2gold", "text/plain", "---\n1.0.0 |checksum:"+sha(string(data))+"\n")
	files := http.StripPrefix("/gem", http.FileServer(http.Dir(dir)))
	for _, path := range []string{"/gem/gems/kin-2gold-1.0.0.gem", "/gem/quick/Marshal.4.8/kin-2gold-1.0.0.gemspec.rz", "/gem/specs.4.8.gz"} {
		o.on(path, files.ServeHTTP)
	}
	m := open(t, Options{Upstreams: []Upstream{o.upstream("gem")}})
	home := t.TempDir()
	m.runsWith(t, "gem", home, []string{"GEM_HOME=" + home + "/gems"}, "gem", "install", "kin-2gold")
	if got, _ := filepath.Glob(home + "/gems/gems/kin-2gold-1.0.0/lib/gold.rb"); len(got) != 1 {
		t.Error("the gem is not there")
	}
	m.mustHave(t, false, "kin-2gold-1.0.0.gem")
	for _, e := range m.entries() {
		if strings.HasSuffix(e.Artefact, ".gem") && (e.Name != "kin-2gold" || e.Version != "1.0.0") {
			t.Errorf("%+v", e)
		}
	}
}

// buildGem makes a gem, and an index of it, in dir.
func buildGem(t *testing.T, dir string) string {
	t.Helper()
	write(t, dir+"/src/lib/gold.rb", "puts 1\n")
	write(t, dir+"/src/kin.gemspec", `Gem::Specification.new do |s|
  s.name, s.version, s.summary, s.authors, s.files = "kin-2gold", "1.0.0", "x", ["x"], ["lib/gold.rb"]
end
`)
	env := append(nowhere(dir), "GEM_HOME="+dir+"/home")
	run(t, dir+"/src", env, "gem", "build", "kin.gemspec")
	if err := os.MkdirAll(dir+"/gems", 0o755); err != nil {
		t.Fatal(err)
	}
	file := dir + "/gems/kin-2gold-1.0.0.gem"
	if err := os.Rename(dir+"/src/kin-2gold-1.0.0.gem", file); err != nil {
		t.Fatal(err)
	}
	run(t, dir, env, "gem", "generate_index", "--directory", dir)
	return file
}

func TestGemIndex(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	sums := map[string]string{"1.0.0": sha("plain"), "1.0.0-x86_64-linux": sha("native"), "2.0.0.pre1": sha("pre")}
	info := "---\n"
	for version, hex := range sums {
		info += fmt.Sprintf("%s dep:>= 1&< 2,other:= 3|checksum:%s,ruby:>= 2.5,rubygems:> 1\n", version, hex)
	}
	o.text("/gem/info/my-gem", "text/plain", info)
	m := open(t, Options{Upstreams: []Upstream{o.upstream("gem")}})
	for version, content := range map[string]string{"1.0.0": "plain", "1.0.0-x86_64-linux": "native", "2.0.0.pre1": "pre"} {
		o.text("/gem/gems/my-gem-"+version+".gem", "", content)
		if status, body := m.get(t, "/gem/gems/my-gem-"+version+".gem"); status != 200 || body != content {
			t.Errorf("%s: %d %s", version, status, body)
		}
	}
	if e := m.last(t, 3); e.Name != "my-gem" || e.Verified != "sha256" {
		t.Errorf("%+v", e)
	}
	mustRefuse(t, m, "/gem/gems/my-gem-3.0.0.gem", statusAbsent, "no my-gem-3.0.0")
	mustRefuse(t, m, "/gem/quick/Marshal.4.8/my-gem-3.0.0.gemspec.rz", statusAbsent, "no my-gem-3.0.0")
}
