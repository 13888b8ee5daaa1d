package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Pin is a release that a lock names: the hash of each of its files, by the
// file's name ("sha256:…", as Entry.Hash has it).
type Pin struct {
	Ecosystem, Name, Version string
	Files                    map[string]string
}

// release is one file of a release, as an index page tells it.
type release struct {
	version, file string
	sum           sum
	at            time.Time // zero when the index does not say
}

// sieve decides which releases of one package a session gets to see.
type sieve struct {
	eco, name string
	pins      []Pin
	closed    bool          // there are pins, and none of them is for this name
	cooldown  time.Duration // 0: any age will do
	now       time.Time

	kept     int
	withheld []string // the versions that are too young
	youngest time.Time
}

// sieve makes the one for a package in this session.
func (s *served) sieve(eco, name string) *sieve {
	v := &sieve{eco: eco, name: name, cooldown: s.g.opts.Cooldown, now: s.g.opts.Now()}
	for _, p := range s.Pins {
		if p.Ecosystem == eco && sameName(p.Name, name) {
			v.pins = append(v.pins, p)
		}
	}
	v.closed = len(v.pins) == 0 && len(s.Pins) > 0 && !s.Unpinned
	exempt := slices.ContainsFunc(s.g.opts.Exempt, func(e string) bool { return sameName(e, name) })
	if exempt || len(v.pins) > 0 {
		v.cooldown = 0
	}
	return v
}

// sameName compares names as pip's index does, which is no stricter than any
// other.
func sameName(a, b string) bool { return plainName(a) == plainName(b) }

func plainName(n string) string { return pipSeps.ReplaceAllString(strings.ToLower(n), "-") }

// idle says that the sieve lets everything through.
func (v *sieve) idle() bool { return !v.closed && len(v.pins) == 0 && v.cooldown <= 0 }

// keep says whether a release may be seen. A file that is not what the lock
// says is an error: nothing of the package may be had.
func (v *sieve) keep(r release) (bool, error) {
	ok := v.cooldown <= 0 || r.at.IsZero() || v.now.Sub(r.at) >= v.cooldown
	if !ok {
		v.withhold(r)
	}
	if ok && (v.closed || len(v.pins) > 0) {
		var err error
		if ok, err = v.pinned(r); err != nil {
			return false, err
		}
	}
	if ok {
		v.kept++
	}
	return ok, nil
}

func (v *sieve) pinned(r release) (bool, error) {
	for _, p := range v.pins {
		if p.Version != r.version {
			continue
		}
		switch hash := p.Files[r.file]; hash {
		case "":
			continue
		case r.sum.String():
			return true, nil
		default:
			return false, refuse(statusPolicy, "%s is not what the lock says: the index gives %s, the lock %s", r.file, r.sum, hash)
		}
	}
	return false, nil
}

func (v *sieve) withhold(r release) {
	if r.at.After(v.youngest) {
		v.youngest = r.at
	}
	what := fmt.Sprintf("%s (%s)", r.version, age(v.now.Sub(r.at)))
	if !slices.ContainsFunc(v.withheld, func(w string) bool { return strings.HasPrefix(w, r.version+" ") }) {
		v.withheld = append(v.withheld, what)
	}
}

// age tells how long ago a release came.
func age(d time.Duration) string {
	switch days := int(d.Hours() / 24); {
	case d < 0:
		return "from the future, by this machine's clock"
	case days == 0:
		return "of today"
	case days == 1:
		return "a day old"
	default:
		return fmt.Sprintf("%d days old", days)
	}
}

// verdict explains, when nothing was kept, why. It notes in the record what
// was left out for its age.
func (v *sieve) verdict(e *Entry) error {
	e.Withheld = v.withheld
	switch {
	case v.kept > 0 || v.idle():
		return nil
	case v.closed:
		return refuse(statusAbsent, "%s is not in the lock", v.name)
	case len(v.pins) > 0:
		return refuse(statusAbsent, "the index no longer has %s %s, which the lock names", v.name, v.versions())
	case len(v.withheld) > 0:
		return refuse(statusAbsent, "every release of %s is younger than %s: %s; to take one all the same: --cooldown-exempt %s, or --cooldown 0",
			v.name, days(v.cooldown), strings.Join(v.withheld[:min(len(v.withheld), 5)], ", "), v.name)
	}
	return nil
}

func (v *sieve) versions() string {
	var out []string
	for _, p := range v.pins {
		out = append(out, p.Version)
	}
	return strings.Join(out, " or ")
}

func days(d time.Duration) string {
	if n := d.Hours() / 24; n == float64(int(n)) && n != 1 {
		return fmt.Sprintf("%d days", int(n))
	}
	return d.String()
}

// Release gives the files of a release and their hashes, as the index has
// them: what a lock must know to fetch the same release on another machine.
func (g *Gateway) Release(ctx context.Context, ecosystem, name, version string) (Pin, error) {
	pin := Pin{Ecosystem: ecosystem, Name: name, Version: version, Files: map[string]string{}}
	var err error
	switch a := g.adapters[ecosystem].(type) {
	case *pip:
		err = a.release(ctx, &pin)
	case *npm:
		err = a.release(ctx, &pin)
	default:
		err = fmt.Errorf("the index of %s does not list the files of a release", ecosystem)
	}
	if err == nil && len(pin.Files) == 0 {
		err = fmt.Errorf("the index has no hashes for %s %s", name, version)
	}
	return pin, err
}

func (p *pip) release(ctx context.Context, pin *Pin) error {
	files, _, err := p.files(ctx, wanted{name: plainName(pin.Name), anyAge: true})
	for _, f := range files {
		if pipVersion(f.Name) == pin.Version && !f.Sum.none() {
			pin.Files[f.Name] = f.Sum.String()
		}
	}
	return err
}

func (n *npm) release(ctx context.Context, pin *Pin) error {
	pg, err := n.page(ctx, pin.Name, npmEither, false)
	if err != nil {
		return err
	}
	var doc struct {
		Versions map[string]npmVersionDoc `json:"versions"`
	}
	if err := json.Unmarshal(pg.body, &doc); err != nil {
		return unreadable(pin.Name, err)
	}
	if v, ok := doc.Versions[pin.Version]; ok {
		if s, err := v.Dist.sum(); err == nil {
			pin.Files[npmFileOf(v.Dist.Tarball)] = s.String()
		}
	}
	return nil
}

// About is what an index tells of a package that somebody has to judge.
type About struct {
	Releases int
	First    time.Time // of the first release; zero when the index does not say
}

// About looks a package up in its index. A package that does not exist is an
// error that Absent recognises.
func (g *Gateway) About(ctx context.Context, ecosystem, name string) (About, error) {
	switch a := g.adapters[ecosystem].(type) {
	case *pip:
		return a.about(ctx, plainName(name))
	case *npm:
		return a.about(ctx, name)
	case *maven:
		versions, err := a.versions(ctx, name)
		return About{Releases: len(versions)}, err
	}
	return About{}, fmt.Errorf("the index of %s tells nothing about packages", ecosystem)
}

// Absent says whether an error means that the index has no such package.
func Absent(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == statusAbsent
}

func (p *pip) about(ctx context.Context, name string) (About, error) {
	files, _, err := p.files(ctx, wanted{name: name})
	if err != nil {
		return About{}, err
	}
	var a About
	versions := map[string]bool{}
	for _, f := range files {
		r := f.release()
		versions[r.version] = true
		a.see(r.at)
	}
	a.Releases = len(versions)
	return a, nil
}

func (n *npm) about(ctx context.Context, name string) (About, error) {
	pg, err := n.page(ctx, name, npmLong, false)
	if err != nil {
		return About{}, err
	}
	var doc struct {
		npmTimes
		Versions map[string]json.RawMessage `json:"versions"`
	}
	if err := json.Unmarshal(pg.body, &doc); err != nil {
		return About{}, unreadable(name, err)
	}
	a := About{Releases: len(doc.Versions)}
	for _, text := range doc.Time {
		at, _ := time.Parse(time.RFC3339, text)
		a.see(at)
	}
	return a, nil
}

// see takes the time of a release into account.
func (a *About) see(at time.Time) {
	if !at.IsZero() && (a.First.IsZero() || at.Before(a.First)) {
		a.First = at
	}
}
