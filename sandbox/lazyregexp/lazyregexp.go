// Package lazyregexp compiles regular expressions when they are first used.
// Most runs need few of the patterns that the packages of a program declare,
// and compiling all of them takes longer than starting a box. It does nothing
// else.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression that is compiled on first use. It is safe
// for use by many goroutines.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns the expression. A pattern that is wrong panics on first use.
func New(pattern string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
}

// MatchString is that of [regexp.Regexp].
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindString is that of [regexp.Regexp].
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindAllStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// FindAllStringIndex is that of [regexp.Regexp].
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

// ReplaceAllString is that of [regexp.Regexp].
func (r *Regexp) ReplaceAllString(s, by string) string { return r.compiled().ReplaceAllString(s, by) }

// Split is that of [regexp.Regexp].
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }
