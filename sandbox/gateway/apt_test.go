package gateway

import (
	"strings"
	"testing"
)

// archive is the origin as an archive with a suite.
func (o *origin) archive(suite string) Upstream {
	up := o.upstream("apt")
	up.Source = []Field{{"Suites", suite}, {"Components", "main"}}
	return up
}

func TestAptFiles(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	m := open(t, Options{Upstreams: []Upstream{o.upstream("apt")}})
	id := "/apt/" + aptID(o.upstream("apt"))
	const deb = "/pool/main/h/hello_2.10-3_amd64.deb"
	o.text("/apt"+deb, "", "<html>Please log in")
	mustRefuse(t, m, id+deb, statusFailed, "log in")
	o.text("/apt"+deb, "", "!<arch>\nbroken")
	if status, body := m.get(t, id+deb); status != 200 || !strings.Contains(body, "broken") {
		t.Errorf("%d %s", status, body)
	}
	// A part is no complaint; the whole again is one.
	o.text("/apt"+deb, "", "!<arch>\nmended")
	if status, body := m.get(t, id+deb, "Range", "bytes=8-"); status != 206 || body != "broken" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := m.get(t, id+deb); status != 200 || !strings.Contains(body, "mended") {
		t.Errorf("%d %s", status, body)
	}
	other := open(t, Options{CacheDir: m.store.dir, Upstreams: m.opts.Upstreams})
	if status, _ := other.get(t, id+deb); status != 200 || o.asked("/apt"+deb) != 3 {
		t.Errorf("%d, asked %d times", status, o.asked("/apt"+deb))
	}
	if e := other.last(t, 1); e.Name != "hello" || e.Version != "2.10-3" || !e.Hit {
		t.Errorf("%+v", e)
	}
}

// Indexes other than the release files are confirmed each time, so that they
// fit the release file.
func TestAptIndexes(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	m := open(t, Options{Upstreams: []Upstream{o.archive("stable")}})
	dists := "/apt/" + aptID(o.upstream("apt")) + "/dists/stable"
	mustRefuse(t, m, strings.Replace(dists, "stable", "c2VjcmV0", 1)+"/InRelease", statusPolicy, "no such suite")
	o.text("/apt/dists/stable/InRelease", "", "<!DOCTYPE html>")
	mustRefuse(t, m, dists+"/InRelease", statusFailed, "log in")
	o.text("/apt/dists/stable/InRelease", "", "signed")
	o.text("/apt/dists/stable/main/binary-amd64/Packages.xz", "", "list")
	for range 3 {
		for path, want := range map[string]string{"/InRelease": "signed", "/main/binary-amd64/Packages.xz": "list"} {
			if status, body := m.get(t, dists+path); status != 200 || body != want {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
	}
	if a, b := o.asked("/apt/dists/stable/InRelease"), o.asked("/apt/dists/stable/main/binary-amd64/Packages.xz"); a != 2 || b != 3 {
		t.Errorf("asked %d and %d times", a, b)
	}
}
