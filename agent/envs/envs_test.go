package envs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kintsugi/agent/heal"
	"kintsugi/agent/model"
)

func rules(t *testing.T) *heal.Rules {
	t.Helper()
	r, err := heal.Load()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// show writes a manifest in one line.
func show(m Manifest) string {
	out := ""
	if m.Python != "" {
		out += " python=" + m.Python
	}
	if m.Node != "" {
		out += " node=" + m.Node
	}
	for _, p := range m.Parts() {
		out += fmt.Sprintf(" %s:%s", p.Manager, strings.Join(p.Packages, ","))
	}
	return strings.TrimSpace(out)
}

func TestRead(t *testing.T) {
	t.Parallel()
	r := rules(t)
	for text, want := range map[string]string{
		"Python 3.12 with pandas and ffmpeg":            "python=3.12 apt:ffmpeg pip:pandas",
		"python3.11, numpy, matplotlib":                 "python=3.11 pip:numpy,matplotlib",
		"Node 20 with lodash":                           "node=20 npm:lodash",
		"node v18 and express, axios":                   "node=18 npm:express,axios",
		"I need the pandas library and also git please": "apt:git pip:pandas",
		"beautiful soup and requests":                   "pip:beautifulsoup4,requests",
		"opencv":                                        "pip:opencv-python-headless",
		"cv2":                                           "pip:opencv-python-headless",
		"pandas<3 and numpy==1.26.4":                    "pip:pandas<3,numpy==1.26.4",
		"pip install flask":                             "pip:flask",
		"npm install lodash":                            "npm:lodash",
		"apt:jq pip:some-private-thing":                 "apt:jq pip:some-private-thing",
		"LaTeX and graphviz":                            "apt:texlive-latex-base,texlive-latex-recommended,graphviz pip:graphviz",
		"data science":                                  "pip:numpy,pandas,matplotlib,scikit-learn",
		"":                                              "",
	} {
		m, unknown := Read(text, r)
		if got := show(m); got != want || len(unknown) > 0 {
			t.Errorf("%q: %s, unknown %v; want %s", text, got, unknown, want)
		}
		if err := m.Check(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWordsThatNobodyKnows(t *testing.T) {
	t.Parallel()
	m, unknown := Read("Python with pandsa and zq-invented-thing", rules(t))
	if len(unknown) != 2 || !strings.Contains(strings.Join(unknown[0].Near, " "), "pandas") || !m.Empty() {
		t.Errorf("%+v, unknown %+v", m, unknown)
	}
	m, unknown = Read(strings.Repeat("zq-x ", 10_000), rules(t))
	if len(unknown) > maxWords || m.Check() != nil {
		t.Errorf("%d unknown, %v", len(unknown), m.Check())
	}
}

func TestManifestsAreKept(t *testing.T) {
	t.Parallel()
	f := Folder{filepath.Join(t.TempDir(), "environments")}
	m, _ := Read("Python 3.12 with pandas and ffmpeg", rules(t))
	if m.Name != "python3.12-ffmpeg-pandas" {
		t.Errorf("named %q", m.Name)
	}
	if err := f.Save(m); err != nil {
		t.Fatal(err)
	}
	back, err := f.Load(m.Name)
	if err != nil || show(back) != show(m) || back.About != m.About {
		t.Errorf("%+v, %v", back, err)
	}
	if list, err := f.List(); err != nil || len(list) != 1 || list[0] != m.Name {
		t.Errorf("%v, %v", list, err)
	}
	if err := f.Remove(m.Name); err != nil {
		t.Error(err)
	}
	if _, err := f.Load(m.Name); err == nil || !strings.Contains(err.Error(), "kintsugi env list") {
		t.Errorf("after removal: %v", err)
	}
}

func TestBadManifestsAreRefused(t *testing.T) {
	t.Parallel()
	f := Folder{t.TempDir()}
	for name, text := range map[string]string{
		"option":  `pip = ["--index-url=http://x"]`,
		"newline": `pip = ["a\nb"]`,
		"version": `python = "3.12; rm"`,
		"unknown": `colour = "gold"`,
		"broken":  `pip = [`,
	} {
		if err := os.WriteFile(filepath.Join(f.Dir, name+".toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := f.Load(name); err == nil {
			t.Errorf("%s is accepted: %+v", name, m)
		}
	}
	for _, name := range []string{"../x", "", "a/b", "A", ".x"} {
		if _, err := f.Load(name); err == nil {
			t.Errorf("the name %q is accepted", name)
		}
	}
}

func TestAModelIsAskedAboutTheRest(t *testing.T) {
	t.Parallel()
	r := rules(t)
	m, unknown := Read("Python with pandas, a zq-plotter and a zq-thing", r)
	answer := `{"packages":[{"word":"zq-plotter","manager":"pip","name":"matplotlib"},{"word":"zq-thing","manager":"pip","name":"zq-invented"},{"word":"sneaked-in","manager":"pip","name":"requests"}]}`
	p := &model.Script{Replies: []model.Scripted{{Text: answer}, {Text: "no JSON"}, {Err: &model.Error{Kind: model.Absent, Text: "gone"}}}}
	m, rest, err := Ask(t.Context(), p, "tiny", m, unknown, r)
	if err != nil || show(m) != "pip:pandas,matplotlib" || len(rest) != 1 || rest[0].Word != "zq-thing" {
		t.Errorf("%s, rest %v, %v", show(m), rest, err)
	}
	if _, rest, err := Ask(t.Context(), p, "tiny", m, rest, r); err != nil || len(rest) != 1 {
		t.Errorf("garbled: rest %v, %v", rest, err)
	}
	if _, rest, err := Ask(t.Context(), p, "tiny", m, rest, r); err == nil || len(rest) != 1 {
		t.Errorf("gone: rest %v, %v", rest, err)
	}
}

func TestImageOfAnEnvironment(t *testing.T) {
	t.Parallel()
	f := Folder{Dir: t.TempDir()}
	m := Manifest{Name: "lab", Image: "registry.example.test:5000/class/python:3.12"}
	if m.Empty() {
		t.Error("an image alone is something to ask for")
	}
	if err := f.Save(m); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Load("lab"); err != nil || got.Image != m.Image {
		t.Errorf("got %+v, %v", got, err)
	}
	m.Image = "--rm; true"
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), "no name of an image") {
		t.Errorf("got %v", err)
	}
}
