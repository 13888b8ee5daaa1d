package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// mavenTries is how many releases of a package are looked at, newest first: an
// index may name some that it does not have, or that are too young.
const mavenTries = 12

// Newest is the newest final release of a package whose files the index has and
// whose age is right; only Java packages can be asked for.
func (g *Gateway) Newest(ctx context.Context, ecosystem, name string) (string, error) {
	m, ok := g.adapters[ecosystem].(*maven)
	if !ok {
		return "", fmt.Errorf("the index of %s does not tell the newest release", ecosystem)
	}
	all, err := m.versions(ctx, name)
	if err != nil {
		return "", err
	}
	final := mavenSorted(all)
	sess := &served{g: g, Session: Session{}}
	v, e := sess.sieve(ecosystem, name), Entry{}
	for _, version := range final[:min(len(final), mavenTries)] {
		group, artifact, _ := strings.Cut(name, ":")
		f, err := m.file(append(strings.Split(group, "."), artifact, version), artifact+"-"+version+".jar")
		if err != nil {
			continue
		}
		s, at, err := m.sum(ctx, f)
		if err != nil && (asRefusal(err).status != statusAbsent || g.opts.Offline && len(final) == 1) {
			return "", err
		}
		if err != nil {
			continue
		}
		if ok, err := v.keep(release{version: version, file: f.file, sum: s, at: at}); ok || err != nil {
			return version, err
		}
	}
	if err := v.verdict(&e); err != nil {
		return "", err
	}
	return "", refuse(statusAbsent, "the index has no release of %s that can be had", name)
}

// mavenSorted are the final versions, or all when there are none, the newest
// first.
func mavenSorted(all []string) []string {
	final := slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !mavenFinal(v) })
	if len(final) == 0 {
		final = slices.Clone(all)
	}
	slices.SortStableFunc(final, func(a, b string) int { return mavenCompare(b, a) })
	return final
}

var mavenPre = lazyregexp.New(`(?i)(?:^|[-._])(?:alpha|beta|b|rc|cr|m|ea|pre|preview|snapshot|incubating|dev|milestone|android|jdk[56]|java[67])(?:[-._]?[0-9].*)?$`)

// mavenFinal says whether a version is for general use.
func mavenFinal(v string) bool { return !mavenPre.MatchString(v) }

// mavenCompare compares two final versions part by part, numbers as numbers. A
// date as a whole version ("20040616") is older than any other.
func mavenCompare(a, b string) int {
	x, y := mavenParts(a), mavenParts(b)
	if dated(x) != dated(y) {
		return map[bool]int{true: -1, false: 1}[dated(x)]
	}
	for i := range min(len(x), len(y)) {
		n, err1 := strconv.Atoi(x[i])
		k, err2 := strconv.Atoi(y[i])
		switch {
		case err1 == nil && err2 == nil && n != k:
			return cmp.Compare(n, k)
		case err1 == nil && err2 != nil:
			return 1
		case err1 != nil && err2 == nil:
			return -1
		case err1 != nil && x[i] != y[i]:
			return strings.Compare(x[i], y[i])
		}
	}
	return cmp.Compare(len(x), len(y))
}

var mavenWordNumber = lazyregexp.New(`([a-z])([0-9])`)

func mavenParts(v string) []string {
	v = mavenWordNumber.ReplaceAllString(strings.ToLower(v), "$1-$2") // jre11 comes after jre8
	return strings.FieldsFunc(v, func(r rune) bool { return r == '.' || r == '-' || r == '_' })
}

func dated(parts []string) bool { return len(parts) > 0 && len(parts[0]) == 8 }
