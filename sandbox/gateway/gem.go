package gateway

import (
	"context"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// gem serves the compact index of Ruby packages, and the older files that the
// gem command still reads:
//
//	versions, names, info/NAME      the index
//	gems/NAME-VERSION.gem           a package, by the checksum of the index
//	quick/Marshal.4.8/….gemspec.rz, specs.4.8.gz and its kin
type gem struct {
	g  *Gateway
	up Upstream
}

var (
	gemName  = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)
	gemFile  = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,200}\.gem$`)
	gemSpec  = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,200}\.gemspec\.rz$`)
	gemSpecs = lazyregexp.New(`^(?:latest_|prerelease_)?specs\.4\.8\.gz$`)
	gemSplit = lazyregexp.New(`-[0-9]`)
)

func (m *gem) serve(ctx context.Context, r *request) (answer, error) {
	p := r.path
	switch {
	case len(p) == 1 && (p[0] == "versions" || p[0] == "names" || gemSpecs.MatchString(p[0])):
		return m.index(ctx, r, p[0], p[0])
	case len(p) == 2 && p[0] == "info":
		if !gemName.MatchString(p[1]) {
			return answer{}, refuse(statusGrammar, "%.100q is no name of a gem", p[1])
		}
		if err := r.tell(p[1], "", ""); err != nil {
			return answer{}, err
		}
		return m.index(ctx, r, p[1], "info/"+p[1])
	case len(p) == 3 && p[0] == "quick" && p[1] == "Marshal.4.8" && gemSpec.MatchString(p[2]):
		return m.spec(ctx, r, p[2])
	case len(p) == 2 && p[0] == "gems" && gemFile.MatchString(p[1]):
		return m.file(ctx, r, p[1])
	}
	return notOurs(r)
}

func (m *gem) page(ctx context.Context, name, path string, renew, anyAge bool) (*page, error) {
	pg, err := m.g.page(ctx, wanted{eco: "gem", name: name, url: m.up.join(path), up: &m.up, renew: renew, anyAge: anyAge})
	if err != nil && unreachable(err) {
		return nil, m.g.absent("gem", name, err)
	}
	return pg, err
}

func (m *gem) index(ctx context.Context, r *request, name, path string) (answer, error) {
	pg, err := m.page(ctx, name, path, false, false)
	if err != nil {
		return answer{}, err
	}
	return pageAnswer(pg, r.entry), nil
}

// spec serves the description of one version, after the index confirmed that
// there is such a version.
func (m *gem) spec(ctx context.Context, r *request, file string) (answer, error) {
	full := strings.TrimSuffix(file, ".gemspec.rz")
	if _, err := m.find(ctx, r, full, ""); err != nil {
		return answer{}, err
	}
	return m.index(ctx, r, file, "quick/Marshal.4.8/"+file)
}

func (m *gem) file(ctx context.Context, r *request, file string) (answer, error) {
	a, err := m.find(ctx, r, strings.TrimSuffix(file, ".gem"), file)
	if err != nil {
		return answer{}, err
	}
	return m.g.artefact(ctx, a, r.entry)
}

// find splits NAME-VERSION[-PLATFORM] where the index knows the parts: names
// may have hyphens before digits themselves.
func (m *gem) find(ctx context.Context, r *request, full, file string) (artefact, error) {
	for _, at := range gemSplit.FindAllStringIndex(full, 3) {
		name, version := full[:at[0]], full[at[0]+1:]
		if !gemName.MatchString(name) {
			continue
		}
		if err := r.tell(name, version, file); err != nil {
			return artefact{}, err
		}
		hex, err := m.sum(ctx, name, version)
		if err != nil {
			return artefact{}, err
		}
		if hex != "" {
			return artefact{
				eco: "gem", name: name, version: version, file: file, url: m.up.join("gems", file), up: &m.up, sum: sum{"sha256", hex},
			}, nil
		}
	}
	return artefact{}, refuse(statusAbsent, "the index has no %s", full)
}

// sum gives the checksum of a version, or nothing when there is none.
func (m *gem) sum(ctx context.Context, name, version string) (string, error) {
	for _, renew := range []bool{false, true} {
		pg, err := m.page(ctx, name, "info/"+name, renew, !renew)
		if err != nil {
			if asRefusal(err).status == statusAbsent && !m.g.opts.Offline {
				return "", nil
			}
			return "", err
		}
		if hex := gemSum(string(pg.body), version); hex != "" || !pg.hit {
			return hex, nil
		}
	}
	return "", nil
}

// gemSum reads "VERSION dependencies|checksum:HEX,…".
func gemSum(info, version string) string {
	for _, line := range strings.Split(info, "\n") {
		rest, ok := strings.CutPrefix(line, version+" ")
		if !ok {
			continue
		}
		_, needs, _ := strings.Cut(rest, "|")
		for _, n := range strings.Split(needs, ",") {
			if hex, ok := strings.CutPrefix(n, "checksum:"); ok && isHex(hex, 64) {
				return hex
			}
		}
	}
	return ""
}

func (m *gem) setup(base, dir string) Setup {
	rc := dir + "/gateway.gemrc"
	source := base + "/gem/"
	return Setup{
		Env:   []string{"GEMRC=" + rc, "BUNDLE_MIRROR__ALL=" + source, "BUNDLE_DISABLE_VERSION_CHECK=true", "BUNDLE_RETRY=0"},
		Files: []File{{Path: rc, Data: []byte(":sources:\n- " + source + "\ninstall: --no-document\n")}},
	}
}
