package gateway

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // what clients compare; the files are checked by the strongest hash there is
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"kintsugi/sandbox/lazyregexp"
)

// maven serves a repository of Java packages in Maven's layout:
//
//	GROUP/AS/FOLDERS/ARTIFACT/maven-metadata.xml     the versions
//	GROUP/AS/FOLDERS/maven-metadata.xml              the plugins of a group
//	…/ARTIFACT/VERSION/ARTIFACT-VERSION[-WORD].EXT   a file, by the checksum beside it
//	(any of them).sha1
//
// Its packages are called "group:artifact".
type maven struct {
	g  *Gateway
	up Upstream
	// Slots for the checksums that are asked for ahead.
	asking, waiting chan struct{}
}

var (
	mavenGroup   = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,79}$`) // one folder of it
	mavenName    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,119}$`)
	mavenVersion = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._+-]{0,79}$`)
	mavenRest    = lazyregexp.New(`^(?:-[A-Za-z0-9][A-Za-z0-9._+-]{0,79})?\.[A-Za-z0-9][A-Za-z0-9.]{0,14}$`)
)

const mavenMetadata = "maven-metadata.xml"

// mavenFolders bounds how deep a group may lie.
const mavenFolders = 12

func (m *maven) serve(ctx context.Context, r *request) (answer, error) {
	p := r.path
	if len(p) < 2 || len(p) > mavenFolders+3 {
		return notOurs(r)
	}
	for _, dir := range p[:len(p)-1] {
		if !mavenName.MatchString(dir) && !mavenVersion.MatchString(dir) {
			return answer{}, refuse(statusGrammar, "%.80q is no folder of a Maven repository", dir)
		}
	}
	file, hashed := strings.CutSuffix(p[len(p)-1], ".sha1")
	if file == mavenMetadata {
		return m.metadata(ctx, r, p[:len(p)-1], hashed)
	}
	if len(p) < 4 {
		return notOurs(r)
	}
	f, err := m.file(p[:len(p)-1], file)
	if err != nil {
		return answer{}, err
	}
	if hashed {
		return m.sidecar(ctx, r, f)
	}
	return m.artefact(ctx, r, f)
}

// mavenFile is one file of a version.
type mavenFile struct{ name, version, file, path string }

// file reads GROUP…/ARTIFACT/VERSION/FILE.
func (m *maven) file(dirs []string, file string) (mavenFile, error) {
	group, artifact, version := dirs[:len(dirs)-2], dirs[len(dirs)-2], dirs[len(dirs)-1]
	rest, ok := strings.CutPrefix(file, artifact+"-"+version)
	for _, g := range group {
		ok = ok && mavenGroup.MatchString(g)
	}
	switch {
	case strings.HasSuffix(version, "-SNAPSHOT"):
		return mavenFile{}, refuse(statusAbsent, "%s %s is a snapshot, which changes: only releases are served", artifact, version)
	case !ok || !mavenName.MatchString(artifact) || !mavenVersion.MatchString(version) || !mavenRest.MatchString(rest):
		return mavenFile{}, refuse(statusGrammar, "%.100q is no file of a Maven package", file)
	}
	return mavenFile{
		name: strings.Join(group, ".") + ":" + artifact, version: version, file: file,
		path: strings.Join(dirs, "/") + "/" + file,
	}, nil
}

// metadata serves the list of versions, or of a group's plugins. Its hash is
// that of what is served: the upstream may have a newer one by now.
func (m *maven) metadata(ctx context.Context, r *request, dirs []string, hashed bool) (answer, error) {
	name := strings.Join(dirs, ".")
	if n := len(dirs) - 1; n > 0 {
		name = strings.Join(dirs[:n], ".") + ":" + dirs[n]
	}
	if err := r.tell(name, "", ""); err != nil {
		return answer{}, err
	}
	pg, err := m.page(ctx, name, strings.Join(dirs, "/")+"/"+mavenMetadata, false)
	if err != nil {
		return answer{}, err
	}
	if hashed {
		h := sha1.Sum(pg.body) //nolint:gosec // see the import
		return bytesAnswer("text/plain", []byte(hex.EncodeToString(h[:]))), nil
	}
	return pageAnswer(pg, r.entry), nil
}

func (m *maven) page(ctx context.Context, name, path string, anyAge bool) (*page, error) {
	pg, err := m.g.page(ctx, wanted{eco: "maven", name: name, url: m.up.join(path), up: &m.up, anyAge: anyAge})
	if err != nil && unreachable(err) {
		return nil, m.g.absent("maven", name, err)
	}
	return pg, err
}

// sidecar serves the checksum of a file, which never changes.
func (m *maven) sidecar(ctx context.Context, r *request, f mavenFile) (answer, error) {
	if err := r.tell(f.name, f.version, ""); err != nil {
		return answer{}, err
	}
	pg, err := m.page(ctx, f.name+" "+f.version, f.path+".sha1", true)
	if err != nil {
		return answer{}, err
	}
	return pageAnswer(pg, r.entry), nil
}

func (m *maven) artefact(ctx context.Context, r *request, f mavenFile) (answer, error) {
	if err := r.tell(f.name, f.version, f.file); err != nil {
		return answer{}, err
	}
	s, at, err := m.sum(ctx, f)
	if err != nil {
		return answer{}, err
	}
	// What a package needs is said by its pom; what it is, by its other files.
	if v := r.sess.sieve("maven", f.name); !v.idle() && !strings.HasSuffix(f.file, ".pom") {
		if _, err = v.keep(release{version: f.version, file: f.file, sum: s, at: at}); err == nil {
			err = v.verdict(r.entry)
		}
		if err != nil {
			return answer{}, err
		}
	}
	a, err := m.g.artefact(ctx, artefact{
		eco: "maven", name: f.name, version: f.version, file: f.file, url: m.up.join(f.path), up: &m.up, sum: s, kind: mavenKind(f.file),
	}, r.entry)
	if err == nil && !r.entry.Hit && strings.HasSuffix(f.file, ".pom") {
		m.ahead(a.body)
		_, err = a.body.Seek(0, io.SeekStart)
	}
	return a, err
}

func mavenKind(file string) string {
	switch {
	case strings.HasSuffix(file, ".pom"), strings.HasSuffix(file, ".xml"):
		return "text/xml"
	case strings.HasSuffix(file, ".jar"):
		return "application/java-archive"
	}
	return ""
}

// mavenSums are the checksums that may lie beside a file, the strongest first.
var mavenSums = []string{"sha512", "sha256", "sha1"}

// sum is the strongest checksum that lies beside a file, and when it was put
// there, as far as the index tells. Once it is known it is good forever.
func (m *maven) sum(ctx context.Context, f mavenFile) (sum, time.Time, error) {
	w := m.decided(f)
	pg, ok := m.g.have(w)
	if !ok {
		v, err, _ := m.g.flight.Do("checksum\n"+w.url, func() (any, error) { return m.ask(m.g.life, f, w) })
		if err != nil {
			return sum{}, time.Time{}, err
		}
		pg = v.(*page)
	}
	algo, digits, _ := strings.Cut(string(pg.body), " ")
	if !isHex(digits, hashLength[algo]) {
		return sum{}, time.Time{}, m.gone(ctx, f, nil)
	}
	at, _ := http.ParseTime(pg.head.Modified)
	return sum{algo, digits}, at, ctx.Err()
}

// decided is where the strongest checksum of a file is kept.
func (m *maven) decided(f mavenFile) wanted {
	return wanted{eco: "maven", name: f.name + " " + f.version, url: m.up.join(f.path), accept: "checksum", up: &m.up}
}

// ask asks for all checksums of a file at once, and keeps the strongest.
func (m *maven) ask(ctx context.Context, f mavenFile, w wanted) (*page, error) {
	got, failed := make([]*page, len(mavenSums)), make([]error, len(mavenSums))
	var wg sync.WaitGroup
	for i, algo := range mavenSums {
		side := wanted{eco: "maven", name: w.name, url: m.up.join(f.path + "." + algo), up: &m.up, anyAge: true}
		wg.Go(func() { got[i], failed[i] = m.g.page(ctx, side) })
	}
	wg.Wait()
	for i, algo := range mavenSums {
		switch digits, ok := mavenSum(algo, got[i]); {
		case ok:
			p := &page{head: got[i].head, body: []byte(algo + " " + digits), checked: got[i].checked}
			return p, m.g.store.keepPage(w, p)
		case failed[i] != nil && unreachable(failed[i]):
			return nil, m.g.absent("maven", w.name, failed[i])
		case failed[i] != nil && asRefusal(failed[i]).status != statusAbsent:
			return nil, failed[i] // it may be there
		}
	}
	return nil, m.gone(ctx, f, failed[len(failed)-1])
}

// gone tells why a file cannot be had: it has no checksum, so that it is
// either not there or nobody vouches for it.
func (m *maven) gone(ctx context.Context, f mavenFile, err error) error {
	switch {
	case err == nil:
		return refuse(statusPolicy, "%s has no checksum that can be read", f.file)
	case asRefusal(err).status != statusAbsent:
		return err
	}
	all, _ := m.versions(ctx, f.name)
	if len(all) == 0 {
		return refuse(statusAbsent, "the index has no %s", f.name)
	}
	newest := mavenSorted(all)[0]
	if slices.Contains(all, f.version) {
		return refuse(statusAbsent, "the index has no file %s", f.file)
	}
	return refuse(statusAbsent, "the index has no %s %s; its newest release is %s", f.name, f.version, newest)
}

// mavenSum reads a checksum file: the digits, maybe with a name behind them.
func mavenSum(algo string, pg *page) (digits string, ok bool) {
	if pg == nil {
		return "", false
	}
	words := strings.Fields(string(pg.body[:min(len(pg.body), 1024)]))
	if len(words) == 0 {
		return "", false
	}
	digits = strings.ToLower(words[0])
	return digits, isHex(digits, hashLength[algo])
}

// versions lists the versions of a package that the index names, in its
// order, which is that of their appearance.
func (m *maven) versions(ctx context.Context, name string) ([]string, error) {
	group, artifact, ok := strings.Cut(name, ":")
	if !ok || !mavenName.MatchString(artifact) {
		return nil, refuse(statusGrammar, "%.100q is no name of a Maven package: it must be GROUP:ARTIFACT", name)
	}
	dirs := strings.Split(group, ".")
	for _, d := range dirs {
		if !mavenGroup.MatchString(d) || len(dirs) > mavenFolders {
			return nil, refuse(statusGrammar, "%.100q is no group of Maven packages", group)
		}
	}
	pg, err := m.page(ctx, name, strings.Join(dirs, "/")+"/"+artifact+"/"+mavenMetadata, false)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Versions []string `xml:"versioning>versions>version"`
	}
	if err := xml.NewDecoder(bytes.NewReader(pg.body)).Decode(&doc); err != nil {
		return nil, unreadable(name, err)
	}
	return doc.Versions, nil
}

// setup gives Maven settings in which the gateway stands for every repository,
// whatever a project names, and none of the user's.
func (m *maven) setup(base, dir string) Setup {
	path := dir + "/maven-settings.xml"
	return Setup{
		Env: []string{"MAVEN_SKIP_RC=1", "MAVEN_ARGS=", "MAVEN_OPTS="},
		Args: []string{
			"-s", path, "-gs", path, "-Dmaven.wagon.http.retryHandler.count=0", "-Daether.connector.http.retryHandler.count=0",
			fmt.Sprintf("-Dmaven.wagon.rto=%.0f", m.g.limits.FileTime.Seconds()*1000),
		},
		Files: []File{{Path: path, Data: []byte("<settings><mirrors><mirror><id>gateway</id><mirrorOf>*</mirrorOf><url>" +
			base + "/maven</url></mirror></mirrors></settings>\n")}},
	}
}
