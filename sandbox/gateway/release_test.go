package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// aged is a page of a Python project whose wheels have the ages given, in days.
func (o *origin) aged(project string, now time.Time, ages map[string]int) {
	var files []string
	for version, days := range ages {
		file := fmt.Sprintf("%s-%s-py3-none-any.whl", strings.ReplaceAll(project, "-", "_"), version)
		o.text("/files/"+file, "application/octet-stream", file)
		files = append(files, fmt.Sprintf(`{"filename":%q,"url":"../../files/%s","hashes":{"sha256":%q},"upload-time":%q}`,
			file, file, sha(file), now.AddDate(0, 0, -days).Format("2006-01-02T15:04:05.000000Z")))
	}
	o.text("/pip/"+project+"/", pipJSON, `{"meta":{"api-version":"1.1"},"name":"`+project+`","files":[`+strings.Join(files, ",")+`]}`)
}

var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

func cooled(days int, exempt ...string) Options {
	return Options{
		Cooldown: time.Duration(days) * 24 * time.Hour, Exempt: exempt, Now: func() time.Time { return noon },
	}
}

func TestCooldownOfWheels(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.aged("pots", noon, map[string]int{"1.0": 400, "1.1": 8, "2.0": 3})
	o.aged("brand-new", noon, map[string]int{"1": 0, "2": -2})
	file := "/pip/files/pots/pots-2.0-py3-none-any.whl"
	for name, want := range map[string]struct {
		o     Options
		young bool
	}{
		"seven days": {cooled(7), false}, "off": {cooled(0), true}, "two days": {cooled(2), true}, "exempt": {cooled(7, "Pots"), true},
	} {
		want.o.Upstreams = []Upstream{o.upstream("pip")}
		m := open(t, want.o)
		for _, kind := range []string{pipJSON, "text/html"} {
			_, body := m.get(t, "/pip/simple/pots/", "Accept", kind)
			if !strings.Contains(body, "pots-1.1-") || strings.Contains(body, "pots-2.0-") != want.young {
				t.Errorf("%s: the page is %s", name, body)
			}
		}
		if e := m.entries()[0]; (len(e.Withheld) == 0) != want.young || !want.young && e.Withheld[0] != "2.0 (3 days old)" {
			t.Errorf("%s: the record says %q", name, e.Withheld)
		}
		if status, _ := m.get(t, file); (status == 200) != want.young {
			t.Errorf("%s: the young file: %d", name, status)
		}
	}
	week := cooled(7)
	week.Upstreams = []Upstream{o.upstream("pip")}
	m := open(t, week)
	mustRefuse(t, m, "/pip/simple/brand-new/", statusAbsent, "every release of brand-new is younger than 7 days")
	mustRefuse(t, m, "/pip/simple/brand-new/", statusAbsent, "--cooldown-exempt brand-new")
	mustRefuse(t, m, "/pip/simple/brand-new/", statusAbsent, "from the future, by this machine's clock")
}

// An index that tells no times is served whole.
func TestCooldownNeedsTimes(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	file := o.wheel("six", "1.0", "x")
	week := cooled(7)
	week.Upstreams = []Upstream{o.upstream("pip")}
	if _, body := open(t, week).get(t, "/pip/simple/six/"); !strings.Contains(body, file) {
		t.Error(body)
	}
}

// shelf publishes a Node package whose versions have the ages given, in days.
func (o *origin) shelf(name, latest string, ages map[string]int) {
	versions, times, newest := []string{}, []string{`"created":"2020-01-01T00:00:00.000Z"`}, 1<<20
	for v, days := range ages {
		file := name + "-" + v + ".tgz"
		o.text("/files/"+file, "", "hello")
		versions = append(versions, fmt.Sprintf(`%q:{"name":%q,"version":%q,"dist":{"tarball":"%s/files/%s","shasum":"aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"}}`,
			v, name, v, o.URL, file))
		times = append(times, fmt.Sprintf(`%q:%q`, v, noon.AddDate(0, 0, -days).Format("2006-01-02T15:04:05.000Z")))
		newest = min(newest, days)
	}
	modified := fmt.Sprintf(`"modified":%q`, noon.AddDate(0, 0, -newest).Format("2006-01-02T15:04:05.000Z"))
	start := fmt.Sprintf(`{"name":%q,"dist-tags":{"latest":%q,"next":"9.0.0-rc.1"},"versions":{%s}`, name, latest, strings.Join(versions, ","))
	o.on("/npm/"+name, forms(start+","+modified+"}", start+`,"time":{`+strings.Join(append(times, modified), ",")+"}}"))
}

func TestCooldownOfNodePackages(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.shelf("pots", "2.1.0", map[string]int{"1.9.0": 300, "2.0.0": 20, "2.0.1-beta.1": 15, "2.1.0": 2, "3.0.0": 90})
	o.shelf("old", "1.0.0", map[string]int{"1.0.0": 200})
	o.shelf("fresh", "1.0.0", map[string]int{"1.0.0": 1})
	week := cooled(7)
	week.Upstreams = []Upstream{o.upstream("npm")}
	m := open(t, week)
	for _, accept := range []string{npmShort, npmLong} {
		_, body := m.get(t, "/npm/pots", "Accept", accept)
		if strings.Contains(body, `"2.1.0":{`) || !strings.Contains(body, `"latest":"2.0.0"`) || !strings.Contains(body, `"3.0.0":{`) {
			t.Errorf("%s: %s", accept, body)
		}
	}
	if e := m.last(t, 2); len(e.Withheld) != 1 || e.Withheld[0] != "2.1.0 (2 days old)" {
		t.Errorf("the record says %q", e.Withheld)
	}
	if status, _ := m.get(t, "/npm/old", "Accept", npmShort); status != 200 || o.asked("/npm/old") != 1 {
		t.Errorf("status %d; the page of a package that rests was asked for %d times, want once", status, o.asked("/npm/old"))
	}
	mustRefuse(t, m, "/npm/fresh", statusAbsent, "every release of fresh is younger than 7 days: 1.0.0 (a day old)")
	off := cooled(0)
	off.Upstreams = week.Upstreams
	if _, body := open(t, off).get(t, "/npm/pots", "Accept", npmShort); !strings.Contains(body, `"latest":"2.1.0"`) {
		t.Error(body)
	}
}

// A session with pins sees the releases of its lock and nothing else.
func TestPins(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.aged("pots", noon, map[string]int{"1.0": 400, "2.0": 1})
	o.aged("glue", noon, map[string]int{"1.0": 400})
	o.shelf("bowl", "2.0.0", map[string]int{"1.0.0": 300, "2.0.0": 100})
	wheel := "pots-2.0-py3-none-any.whl"
	week := cooled(7)
	week.Upstreams = []Upstream{o.upstream("pip"), o.upstream("npm")}
	pins := []Pin{
		{"pip", "Pots", "2.0", map[string]string{wheel: "sha256:" + sha(wheel)}},
		{"npm", "bowl", "1.0.0", map[string]string{"bowl-1.0.0.tgz": "sha1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"}},
	}
	m := openSession(t, week, Session{Pins: pins})
	if _, body := m.get(t, "/pip/simple/pots/"); strings.Contains(body, "pots-1.0-") || !strings.Contains(body, wheel) {
		t.Errorf("the lock's release, and only it: %s", body)
	}
	if status, _ := m.get(t, "/pip/files/pots/"+wheel); status != 200 {
		t.Errorf("the lock's file: %d", status)
	}
	if _, body := m.get(t, "/npm/bowl"); strings.Contains(body, `"2.0.0":{`) || !strings.Contains(body, `"latest":"1.0.0"`) {
		t.Errorf("the lock's version, and only it: %s", body)
	}
	mustRefuse(t, m, "/pip/simple/glue/", statusAbsent, "glue is not in the lock")
	mustRefuse(t, m, "/pip/files/pots/pots-1.0-py3-none-any.whl", statusAbsent, "the lock names")
	mustRefuse(t, m, "/npm/bowl/-/bowl-2.0.0.tgz", statusAbsent, "the lock names")
	loose := openSession(t, week, Session{Pins: pins, Unpinned: true})
	if status, _ := loose.get(t, "/pip/simple/glue/"); status != 200 {
		t.Errorf("an unpinned package: %d", status)
	}
	pins[0].Files, pins[1].Files = map[string]string{wheel: "sha256:" + sha("x")}, map[string]string{"bowl-1.0.0.tgz": "sha1:" + strings.Repeat("0", 40)}
	wrong := openSession(t, week, Session{Pins: pins})
	mustRefuse(t, wrong, "/pip/simple/pots/", statusPolicy, "is not what the lock says")
	mustRefuse(t, wrong, "/pip/files/pots/"+wheel, statusPolicy, "is not what the lock says")
	mustRefuse(t, wrong, "/npm/bowl", statusPolicy, "is not what the lock says")
	mustRefuse(t, wrong, "/npm/bowl/-/bowl-1.0.0.tgz", statusPolicy, "is not what the lock says")
}

func TestRelease(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.aged("pots", noon, map[string]int{"1.0": 400, "2.0": 1})
	o.shelf("bowl", "1.0.0", map[string]int{"1.0.0": 300})
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip"), o.upstream("npm")}})
	wheel := "pots-2.0-py3-none-any.whl"
	pin, err := m.Release(t.Context(), "pip", "Pots", "2.0")
	if err != nil || len(pin.Files) != 1 || pin.Files[wheel] != "sha256:"+sha(wheel) {
		t.Errorf("%+v, %v", pin, err)
	}
	pin, err = m.Release(t.Context(), "npm", "bowl", "1.0.0")
	if err != nil || pin.Files["bowl-1.0.0.tgz"] != "sha1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d" {
		t.Errorf("%+v, %v", pin, err)
	}
	for _, eco := range []string{"pip", "npm", "apt"} {
		if _, err := m.Release(t.Context(), eco, "pots", "7.0"); err == nil {
			t.Errorf("%s: a release that does not exist", eco)
		}
	}
}

// forms answers with the short or the long form of a page, as asked for.
func forms(short, long string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(r.Header.Get("Accept"), npmShort) {
			_, _ = io.WriteString(w, short)
			return
		}
		_, _ = io.WriteString(w, long)
	}
}

func TestAbout(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.aged("pots", noon, map[string]int{"1.0": 400, "2.0": 1})
	o.shelf("bowl", "1.0.0", map[string]int{"1.0.0": 300, "2.0.0": 2})
	o.wheel("timeless", "1.0", "x")
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip"), o.upstream("npm")}})
	for _, c := range []struct {
		eco, name string
		want      About
	}{
		{"pip", "Pots", About{2, noon.AddDate(0, 0, -400)}}, {"pip", "timeless", About{Releases: 1}},
		{"npm", "bowl", About{2, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}},
	} {
		if got, err := m.About(t.Context(), c.eco, c.name); err != nil || got.Releases != c.want.Releases || !got.First.Equal(c.want.First) {
			t.Errorf("%s %s: %+v, %v; want %+v", c.eco, c.name, got, err, c.want)
		}
		if _, err := m.About(t.Context(), c.eco, "no-such-name"); !Absent(err) {
			t.Errorf("%s: %v, want that there is none", c.eco, err)
		}
	}
	if _, err := m.About(t.Context(), "apt", "x"); err == nil || Absent(err) {
		t.Errorf("%v", err)
	}
}

// crates publishes versions of the crate "glaze" with their ages in days.
func (o *origin) crates(ages map[string]int) {
	var lines string
	for v, days := range ages {
		at := noon.AddDate(0, 0, -days).Format(time.RFC3339)
		lines += `{"name":"glaze","vers":"` + v + `","cksum":"` + sha(v) + `","pubtime":"` + at + "\"}\n"
		o.text("/files/glaze-"+v, "", v)
	}
	o.text("/cargo/config.json", "", `{"dl":"`+o.URL+`/files/{crate}-{version}"}`)
	o.text("/cargo/gl/az/glaze", "", lines)
}

func TestCratesObeyLocksAndTheCoolDown(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.crates(map[string]int{"1.0.0": 300, "1.1.0": 100, "2.0.0": 2})
	week := cooled(7)
	week.Upstreams = []Upstream{o.upstream("cargo")}
	m := open(t, week)
	if _, body := m.get(t, "/cargo/gl/az/glaze"); !strings.Contains(body, `"1.1.0"`) || strings.Contains(body, `"2.0.0"`) {
		t.Errorf("the index is %s", body)
	}
	mustRefuse(t, m, "/cargo/dl/glaze/2.0.0/download", statusAbsent, "younger than 7 days")
	pin := Pin{"cargo", "glaze", "1.0.0", map[string]string{"glaze-1.0.0.crate": "sha256:" + sha("1.0.0")}}
	locked := openSession(t, week, Session{Pins: []Pin{pin}})
	if _, body := locked.get(t, "/cargo/gl/az/glaze"); !strings.Contains(body, `"1.0.0"`) || strings.Contains(body, `"1.1.0"`) {
		t.Errorf("the lock's version, and only it: %s", body)
	}
	if status, _ := locked.get(t, "/cargo/dl/glaze/1.0.0/download"); status != 200 {
		t.Errorf("the lock's file: %d", status)
	}
	mustRefuse(t, locked, "/cargo/dl/glaze/1.1.0/download", statusAbsent, "the lock names")
	pin.Files = map[string]string{"glaze-1.0.0.crate": "sha256:" + sha("x")}
	mustRefuse(t, openSession(t, week, Session{Pins: []Pin{pin}}), "/cargo/gl/az/glaze", statusPolicy, "is not what the lock says")
}

// TestForbiddenModulesAreAbsent: the go command asks for every parent of a
// path, and proxies may forbid what they do not have.
func TestForbiddenModulesAreAbsent(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.on("/go/example.test/@v/list", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	up := o.upstream("go")
	mustRefuse(t, open(t, Options{Upstreams: []Upstream{up}}), "/go/example.test/@v/list", statusAbsent, "does not let us have it")
	up.Auth = "Basic x"
	mustRefuse(t, open(t, Options{Upstreams: []Upstream{up}}), "/go/example.test/@v/list", statusFailed, "check the credentials")
}
