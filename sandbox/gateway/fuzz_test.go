package gateway

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// No page of an index brings the gateway down, and no address of a tarball
// gets past the rewriting.
func FuzzPages(f *testing.F) {
	for _, seed := range []string{
		npmPage, pipPage("six", "a/six-1.0-py3-none-any.whl", sha("x")), `<base href="/x/"><a href="six-1.0.tar.gz#sha256=ab" data-yanked>x</a>`,
		`{"versions":{"1.0.0":{"dist":{"tarball":"http:\/\/a\\","tarball" : "x"}}},"dist-tags":{"latest":"1.0.0"}}`,
		"Types: deb\nURIs: http://a.test\nSuites: x\n y\n\n#c\n", "deb [a=b c=d] http://a.test x y\ndeb [", "1.0 |checksum:ab,\n",
	} {
		f.Add([]byte(seed))
	}
	home, _ := url.Parse("http://index.example.test/pip/six/")
	f.Fuzz(func(t *testing.T, page []byte) {
		for _, kind := range []string{pipJSON, "text/html"} {
			if out, err := shapePip("six", pageHead{URL: home.String(), Type: kind}, page); err == nil && !json.Valid(out) {
				t.Errorf("%q", out)
			}
		}
		rewritten := npmRewrite(page, "http://gateway.test/")
		if json.Valid(page) {
			checkRewritten(t, rewritten)
		}
		npmFind(page, "ms", "1.0.0", "ms-1.0.0.tgz")
		_, _ = npmOnly(page, func(npmVersionDoc) bool { return true })
		gemSum(string(page), "1.0")
		var l Learned
		l.deb822("x", string(page))
		l.oneLine("x", string(page))
		npmAuth(npmSettings(string(page)), "http://a.test/b/c")
		pipSettings(string(page))
	})
}

// checkRewritten looks at every version's address. Keys in an odd spelling
// (t\u0061rball) are left alone: their addresses lead nowhere from a box.
func checkRewritten(t *testing.T, page []byte) {
	t.Helper()
	var doc map[string]any
	if !json.Valid(page) {
		t.Fatalf("no longer JSON: %q", page)
	}
	if json.Unmarshal(page, &doc) != nil || bytes.Contains(page, []byte(`\u`)) {
		return
	}
	versions, _ := doc["versions"].(map[string]any)
	for v, x := range versions {
		fields, _ := x.(map[string]any)
		dist, _ := fields["dist"].(map[string]any)
		if a, ok := dist["tarball"].(string); ok && !strings.HasPrefix(a, "http://gateway.test/") {
			t.Errorf("%s still has %q in %q", v, a, page)
		}
	}
}
