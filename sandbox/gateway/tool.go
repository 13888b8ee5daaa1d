package gateway

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"golang.org/x/mod/semver"
)

// Wheel opens the newest wheel of a Python project that fits, from the cache
// or fetched and checked: for tools that the host side itself needs. The
// caller closes the file. What the session may not see is not considered.
func (g *Gateway) Wheel(ctx context.Context, project string, s Session, fits func(file string) bool) (*os.File, Entry, error) {
	e := Entry{Time: g.opts.Now(), Session: s.ID, Ecosystem: "pip", Name: project}
	p, ok := g.adapters["pip"].(*pip)
	if !ok {
		return nil, e, fmt.Errorf("no index of Python packages is known")
	}
	r := &request{sess: &served{g: g, Session: s, names: map[string]bool{}, served: map[string]bool{}}, entry: &e}
	files, _, err := p.files(ctx, wanted{name: project})
	if err == nil {
		files, err = sifted(r, project, files)
	}
	if err != nil {
		return nil, e, err
	}
	f, ok := newest(files, fits)
	if !ok {
		return nil, e, fmt.Errorf("the index has no file of %s that fits", project)
	}
	e.Version, e.Artefact = pipVersion(f.Name), f.Name
	a, err := g.artefact(ctx, p.artefact(project, f), &e)
	e.Status = http.StatusOK
	if err != nil {
		e.Status, e.Refused = asRefusal(err).status, err.Error()
	}
	r.sess.done(e)
	if err != nil {
		return nil, e, err
	}
	file, ok := a.body.(*os.File)
	if !ok {
		return nil, e, fmt.Errorf("%s is not in the cache", f.Name)
	}
	return file, e, nil
}

// newest is the file of the highest final release that fits and that was not
// taken back.
func newest(files []pipFile, fits func(string) bool) (pipFile, bool) {
	var best pipFile
	for _, f := range files {
		v := "v" + pipVersion(f.Name)
		if f.Yanked != nil || f.Sum.none() || !semver.IsValid(v) || semver.Prerelease(v) != "" || !fits(f.Name) {
			continue
		}
		if best.Name == "" || semver.Compare(v, "v"+pipVersion(best.Name)) > 0 {
			best = f
		}
	}
	return best, best.Name != ""
}
