package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// answers is a Prober that knows what each program prints.
type answers map[string]string

func (a answers) Run(_ context.Context, argv, _ []string) (string, error) {
	for word, out := range a {
		if strings.Contains(strings.Join(argv, " "), word) {
			return out, nil
		}
	}
	return "", errors.New(argv[0] + ": not found")
}

func learner(a answers) Learner {
	return Learner{Prober: a, LocalNets: noNets, Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
		if strings.HasSuffix(host, ".school.test") {
			return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("203.0.113.7")}, nil
	}}
}

// mavenSays is the error of a Maven that has no network.
func mavenSays(id, url string) string {
	return "[ERROR] Cannot access " + id + " (" + url + ") in offline mode and the artifact probe:probe-maven-plugin:jar:1 has not been downloaded from it before.\n"
}

func TestLearnFromAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		eco string
		out answers
		url string // of the first upstream; empty for none
		// words of the report, and flags
		words            string
		isDefault, inner bool
		auth             string
	}{
		{"pip", answers{"pip": "https://own.test/simple\n"}, "https://own.test/simple", "pip's own default", true, false, ""},
		{"pip", answers{"pip": "https://own.test/simple\nglobal.index-url='https://mirror.school.test/simple/'\n"},
			"https://mirror.school.test/simple", "global.index-url private", false, true, ""},
		{"pip", answers{"pip": "https://own.test/simple\n:env:.index-url='http://u:p@127.0.0.1:3141/x'\nglobal.index-url='https://other.test'\n"},
			"http://127.0.0.1:3141/x", "PIP_INDEX_URL private credentials", false, true, "Basic dTpw"},
		{"pip", answers{"pip": "https://own.test/simple\n:env:.extra-index-url='https://more.test'\n"}, "https://own.test/simple", "extra-index-url mixed", true, false, ""},
		{"pip", answers{"pip": "https://own.test/simple\n:env:.no-index='1'\n"}, "", "PIP_NO_INDEX", false, false, ""},
		{"pip", answers{}, "", "PIP_INDEX_URL", false, false, ""},
		{"pip", answers{"pip": "https://captured.school.test/simple\n"}, "https://captured.school.test/simple", "default", true, false, ""},
		{"npm", answers{"npm": "https://reg.test/\nhttps://reg.test/\n"}, "https://reg.test", "npm's own default", true, false, ""},
		{"npm", answers{"npm": "https://npm.school.test/a/\nhttps://reg.test/\n//npm.school.test/:_authToken=tok\n@me:registry=https://x.test\n"},
			"https://npm.school.test/a", "private credentials @me:registry", false, true, "Bearer tok"},
		{"npm", answers{"npm": "https://npm.school.test/a/\nhttps://reg.test/\n//other.test/:_authToken=tok\n//npm.school.test/:_auth=${TOKEN}\n"},
			"https://npm.school.test/a", "private", false, true, ""},
		{"go", answers{"go env": "https://proxy.test,direct\nsum.test\n\n\nhttps://proxy.test,direct\nsum.test\n"},
			"https://proxy.test", "go's own default sum.test", true, false, ""},
		{"go", answers{"go env": "http://goproxy.school.test|https://proxy.test,off\nsum.test+key https://sum.school.test\n\nexample.test\nhttps://proxy.test,direct\nsum.test\n"},
			"http://goproxy.school.test", "GOPRIVATE private sum.test", false, true, ""},
		{"go", answers{"go env": "off\nsum.test\n\n\nhttps://proxy.test,direct\nsum.test\n"}, "", "GOPROXY", false, false, ""},
		{"cargo", answers{"cargo": "error: x\n  failed to download from `https://index.test/config.json`\n#end\n"},
			"https://index.test", "cargo's own default", true, false, ""},
		{"cargo", answers{"cargo": "DEBUG network::fetch: url=\"https://index.test/config.json\"\nerror: failed to get `probed`\n#end\n"},
			"https://index.test", "cargo's own default", true, false, ""},
		{"cargo", answers{"cargo": "failed from `https://crates.school.test/i/config.json`\n#end\nfailed from `https://index.test/config.json`\n#end\n"},
			"https://crates.school.test/i", "config.toml private", false, true, ""},
		{"cargo", answers{"cargo": "error: something else\n#end\n"}, "", "sparse", false, false, ""},
		{"gem", answers{"Gem": "https://gems.test/\nhttps://u:p@more.test/\n\nhttps://gems.test/\n"}, "https://gems.test", "default https://more.test/", true, false, ""},
		{"gem", answers{"Gem": "https://gems.school.test/\n\nhttps://gems.test/\n"}, "https://gems.school.test", "gem sources private", false, true, ""},
		{"maven", answers{"mvn": mavenSays("central", "https://repo.test/m2") + "#end\n" + mavenSays("central", "https://repo.test/m2") + "#end\n"},
			"https://repo.test/m2", "Maven's own default", true, false, ""},
		{"maven", answers{"mvn": mavenSays("school", "https://m2.school.test/all") + "#end\n" + mavenSays("central", "https://repo.test/m2") +
			"#end\n<settings><servers><server><id>school</id><username>u</username><password>p</password></server></servers></settings>"},
			"https://m2.school.test/all", "school private credentials", false, true, "Basic dTpw"},
		{"maven", answers{"mvn": mavenSays("school", "https://m2.school.test/all") + "#end\n" + mavenSays("central", "https://repo.test/m2") +
			"#end\n<settings><servers><server><id>school</id><username>u</username><password>{x=}</password></server></servers></settings>"},
			"https://m2.school.test/all", "encrypted", false, true, ""},
		{"maven", answers{"mvn": "Error: JAVA_HOME\n#end\n#end\n"}, "", "validate", false, false, ""},
		{"maven", answers{}, "", "settings.xml", false, false, ""},
		{"apt", answers{}, "", "no apt", false, false, ""},
	} {
		got := learner(c.out).Learn(t.Context(), c.eco)
		report := strings.Join(got.Report(), "\n")
		for _, w := range strings.Fields(c.words) {
			if !strings.Contains(report, w) {
				t.Errorf("%s, %v: no %q in the report:\n%s", c.eco, c.out, w, report)
			}
		}
		if c.url == "" {
			if len(got.Upstreams) > 0 {
				t.Errorf("%s, %v: learned %+v", c.eco, c.out, got.Upstreams)
			}
			continue
		}
		if len(got.Upstreams) == 0 {
			t.Errorf("%s, %v: learned nothing:\n%s", c.eco, c.out, report)
			continue
		}
		if u := got.Upstreams[0]; u.URL != c.url || u.Default != c.isDefault || u.Private != c.inner || u.Auth != c.auth {
			t.Errorf("%s, %v: learned %+v", c.eco, c.out, u)
		}
		if strings.Contains(report, "u:p") || strings.Contains(report, "dTpw") || strings.Contains(report, "tok\n") {
			t.Errorf("%s: credentials in the report:\n%s", c.eco, report)
		}
	}
}

func TestLearnApt(t *testing.T) {
	t.Parallel()
	out := `

#file /etc/apt/sources.list
# a comment
deb [arch=amd64,arm64 signed-by=/k.gpg trusted=yes] https://deb.test/debian stable main contrib # more
deb-src https://deb.test/debian stable main
deb cdrom:[x]/ stable main
deb http://flat.test/repo ./


#file /etc/apt/sources.list.d/a.sources
Types: deb deb-src
URIs: http://deb.school.test/debian
  http://second.test/debian
Suites: stable stable-updates
# between
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
Enabled: no
URIs: http://off.test/debian
Suites: x

Types: deb-src
URIs: http://src.test/debian
Suites: x


#auth /etc/apt/auth.conf
machine deb.test/debian login me password pw
machine http://second.test login you password pw2
`
	got := learner(answers{"apt": out}).Learn(t.Context(), "apt")
	var urls []string
	for _, u := range got.Upstreams {
		urls = append(urls, fmt.Sprint(u.URL, u.Private, u.Auth != ""))
	}
	want := "[https://deb.test/debian false true http://flat.test/repo false false http://deb.school.test/debian true false http://second.test/debian false true]"
	if s := strings.NewReplacer("debianfalse", "debian false", "debiantrue", "debian true", "repofalse", "repo false").Replace(fmt.Sprint(urls)); s != want {
		t.Errorf("learned %s\nwant    %s", s, want)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0].Text, "cdrom") {
		t.Errorf("notes %v", got.Notes)
	}
	g, err := New(Options{CacheDir: t.TempDir(), Upstreams: got.Upstreams, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.Setup("apt", "http://127.0.0.1:3128/", "/kintsugi/apt/")
	if err != nil {
		t.Fatal(err)
	}
	list := string(s.Files[0].Data)
	for _, w := range []string{
		"Architectures: amd64 arm64\nSigned-by: /k.gpg\nTrusted: yes\nSuites: stable\nComponents: main contrib\n",
		"Suites: ./\n", "Suites: stable stable-updates\nComponents: main\nSigned-By: \n -----BEGIN PGP", "\n .\n abc\n",
		"URIs: http://127.0.0.1:3128/apt/" + aptID(got.Upstreams[0]) + "\n",
	} {
		if !strings.Contains(list, w) {
			t.Errorf("no %q in\n%s", w, list)
		}
	}
	if strings.Contains(list, ".test") {
		t.Errorf("an outside address in\n%s", list)
	}
}
