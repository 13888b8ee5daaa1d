package lazyregexp

import (
	"regexp"
	"slices"
	"testing"
)

func TestSameAsRegexp(t *testing.T) {
	const pattern, text = `a(b+)`, "ab, abb"
	lazy, eager := New(pattern), regexp.MustCompile(pattern)
	if lazy.MatchString(text) != eager.MatchString(text) {
		t.Error("MatchString")
	}
	if lazy.FindString(text) != eager.FindString(text) {
		t.Error("FindString")
	}
	if !slices.Equal(lazy.FindStringSubmatch(text), eager.FindStringSubmatch(text)) {
		t.Error("FindStringSubmatch")
	}
	if !slices.EqualFunc(lazy.FindAllStringSubmatch(text, -1), eager.FindAllStringSubmatch(text, -1), slices.Equal) {
		t.Error("FindAllStringSubmatch")
	}
	if !slices.EqualFunc(lazy.FindAllStringIndex(text, -1), eager.FindAllStringIndex(text, -1), slices.Equal) {
		t.Error("FindAllStringIndex")
	}
	if lazy.ReplaceAllString(text, "$1") != eager.ReplaceAllString(text, "$1") {
		t.Error("ReplaceAllString")
	}
	if !slices.Equal(lazy.Split(text, -1), eager.Split(text, -1)) {
		t.Error("Split")
	}
}

func TestWrongPatternPanicsOnUse(t *testing.T) {
	wrong := New("(")
	defer func() {
		if recover() == nil {
			t.Error("a wrong pattern was accepted")
		}
	}()
	wrong.MatchString("")
}
