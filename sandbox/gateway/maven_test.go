package gateway

import (
	"crypto/sha1" //nolint:gosec // what the protocol has
	"crypto/sha512"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// jar publishes a file of a Java package with checksums of these kinds.
func (o *origin) jar(path, content string, kinds ...string) {
	o.text("/maven/"+path, "", content)
	one, long := sha1.Sum([]byte(content)), sha512.Sum512([]byte(content)) //nolint:gosec // see the import
	sums := map[string]string{"sha1": hex.EncodeToString(one[:]), "sha256": sha(content), "sha512": hex.EncodeToString(long[:])}
	for _, kind := range kinds {
		o.text("/maven/"+path+"."+kind, "text/plain", sums[kind]+"  "+path)
	}
}

const (
	kiln    = "test/pots/kiln/1.0/kiln-1.0"
	kilnXML = `<metadata><versioning><versions><version>0.9</version><version>1.0</version><version>2.0-rc1</version></versions></versioning></metadata>`
)

func mavenMirror(t *testing.T, o *origin, s Session) *mirror {
	t.Helper()
	o.text("/maven/test/pots/kiln/maven-metadata.xml", "text/xml", kilnXML)
	return openSession(t, Options{Upstreams: []Upstream{o.upstream("maven")}}, s)
}

func TestMavenServesWhatItChecked(t *testing.T) {
	t.Parallel()
	for kind, kinds := range map[string][]string{
		"sha1": {"sha1"}, "sha256": {"sha1", "sha256"}, "sha512": {"sha1", "sha256", "sha512"},
	} {
		o := newOrigin(t)
		o.jar(kiln+".jar", "clay", kinds...)
		m := mavenMirror(t, o, Session{})
		for n := range 2 {
			if status, body := m.get(t, "/maven/"+kiln+".jar"); status != 200 || body != "clay" {
				t.Fatalf("%s: %d %q", kind, status, body)
			}
			if e := m.last(t, n+1); e.Verified != kind || e.Name != "test.pots:kiln" || e.Version != "1.0" || !strings.HasPrefix(e.Hash, kind+":") || e.Hit != (n > 0) {
				t.Errorf("%s, request %d: %+v", kind, n, e)
			}
		}
		if asked := o.asked("/maven/" + kiln + ".jar.sha512"); asked != 1 {
			t.Errorf("%s: the strongest checksum was asked for %d times, want once", kind, asked)
		}
		if _, body := m.get(t, "/maven/"+kiln+".jar.sha1"); !strings.HasPrefix(body, hex.EncodeToString(sha1Of("clay"))) {
			t.Errorf("checksum %q", body)
		}
	}
}

func sha1Of(s string) []byte {
	h := sha1.Sum([]byte(s)) //nolint:gosec // see the import
	return h[:]
}

func TestMavenRefuses(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.jar(kiln+".jar", "clay", "sha1")
	o.text("/maven/"+kiln+".jar.sha256", "", sha("glass")) // the stronger one counts
	o.jar(kiln+".pom", "<project/>")
	m := mavenMirror(t, o, Session{})
	mustRefuse(t, m, "/maven/"+kiln+".jar", statusPolicy, "not what the index says")
	mustRefuse(t, m, "/maven/"+kiln+".pom", statusAbsent, "no file kiln-1.0.pom")
	mustRefuse(t, m, "/maven/test/pots/kiln/9.9/kiln-9.9.pom", statusAbsent, "no test.pots:kiln 9.9; its newest release is 1.0")
	mustRefuse(t, m, "/maven/test/pots/none/9.9/none-9.9.pom", statusAbsent, "the index has no test.pots:none")
	mustRefuse(t, m, "/maven/test/pots/kiln/1.0/other-1.0.jar", statusGrammar, "no file of a Maven package")
	mustRefuse(t, m, "/maven/test/pots/kiln/1.0-SNAPSHOT/kiln-1.0-SNAPSHOT.jar", statusAbsent, "snapshot")
	mustRefuse(t, m, "/maven/te%20st/pots/kiln/1.0/kiln-1.0.jar", statusGrammar, "no package manager")
	mustRefuse(t, m, "/maven/-x/pots/kiln/1.0/kiln-1.0.jar", statusGrammar, "no folder")
	mustRefuse(t, m, "/maven/kiln-1.0.jar", statusAbsent, "no such path")
}

// A checksum that cannot be asked for is not one that is not there: a weaker
// one must not take its place.
func TestMavenTakesNoWeakerChecksum(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.jar(kiln+".jar", "clay", "sha1")
	o.on("/maven/"+kiln+".jar.sha512", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	m := mavenMirror(t, o, Session{})
	mustRefuse(t, m, "/maven/"+kiln+".jar", statusFailed, "502")
}

func TestMavenPins(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.jar(kiln+".jar", "clay", "sha256")
	o.jar(kiln+".pom", "<project/>", "sha1")
	pin := Pin{Ecosystem: "maven", Name: "test.pots:kiln", Version: "1.0", Files: map[string]string{"kiln-1.0.jar": "sha256:" + sha("other")}}
	m := mavenMirror(t, o, Session{Pins: []Pin{pin}})
	mustRefuse(t, m, "/maven/"+kiln+".jar", statusPolicy, "not what the lock says")
	if status, _ := m.get(t, "/maven/"+kiln+".pom"); status != 200 {
		t.Errorf("the pom of a pinned package: %d", status)
	}
}

// The hash of the list of versions is that of the list that is served, also
// when the upstream has a newer one.
func TestMavenMetadata(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	m := mavenMirror(t, o, Session{})
	_, body := m.get(t, "/maven/test/pots/kiln/maven-metadata.xml")
	o.text("/maven/test/pots/kiln/maven-metadata.xml", "text/xml", "<metadata/>")
	_, hash := m.get(t, "/maven/test/pots/kiln/maven-metadata.xml.sha1")
	if body != kilnXML || hash != hex.EncodeToString(sha1Of(kilnXML)) {
		t.Errorf("list %q, hash %q", body, hash)
	}
}

func TestNewestJavaRelease(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.jar("test/pots/kiln/0.9/kiln-0.9.jar", "old", "sha1")
	m := mavenMirror(t, o, Session{})
	if v, err := m.Newest(t.Context(), "maven", "test.pots:kiln"); err != nil || v != "0.9" {
		t.Errorf("got %q, %v; want the newest one that the index has the files of", v, err)
	}
	if _, err := m.Newest(t.Context(), "maven", "test.pots:none"); !Absent(err) {
		t.Errorf("a package that does not exist: %v", err)
	}
	a, err := m.About(t.Context(), "maven", "test.pots:kiln")
	if err != nil || a.Releases != 3 {
		t.Errorf("about %+v, %v", a, err)
	}
}

// A release that is too young by the time of its checksum is left out.
func TestJavaCooldown(t *testing.T) {
	t.Parallel()
	o, now := newOrigin(t), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	o.jar("test/pots/kiln/0.9/kiln-0.9.jar", "old", "sha1")
	o.jar(kiln+".jar", "clay")
	o.on("/maven/"+kiln+".jar.sha1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", now.Add(-48*time.Hour).Format(http.TimeFormat))
		_, _ = w.Write([]byte(hex.EncodeToString(sha1Of("clay"))))
	})
	o.text("/maven/test/pots/kiln/maven-metadata.xml", "text/xml", kilnXML)
	m := open(t, Options{Upstreams: []Upstream{o.upstream("maven")}, Cooldown: 7 * 24 * time.Hour, Now: func() time.Time { return now }})
	if v, err := m.Newest(t.Context(), "maven", "test.pots:kiln"); err != nil || v != "0.9" {
		t.Errorf("got %q, %v; want the one that is old enough", v, err)
	}
	mustRefuse(t, m, "/maven/"+kiln+".jar", statusAbsent, "2 days old")
}

func TestJavaVersionsInOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"1.9 1.10 1.2", "1.10 1.9 1.2"},
		{"33.0.0-android 33.0.0-jre 32.1.3-jre", "33.0.0-jre 32.1.3-jre"},
		{"20040616 2.6 1.0-beta-2", "2.6 20040616"},
		{"13.6.2.jre8 13.6.2.jre11", "13.6.2.jre11 13.6.2.jre8"},
		{"5.0.0.Final 5.0.0.CR1 5.0.0.Beta3", "5.0.0.Final"},
		{"2.0.0-M1 2.0.0-RC1", "2.0.0-RC1 2.0.0-M1"},
	} {
		if got := mavenSorted(strings.Fields(c.in)); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: got %v, want %s", c.in, got, c.want)
		}
	}
}
