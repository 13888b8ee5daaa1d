package heal

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestLiteralsAreFoundWhereverTheyStand compares the search with a plain one,
// on texts made of pieces of the words.
func TestLiteralsAreFoundWhereverTheyStand(t *testing.T) {
	t.Parallel()
	words := []string{"abcdef", "abcdefg", "not found", "not found in PATH", "zzzzzzzz", "the end of QX", "QX the end"}
	l := newLiterals()
	for _, w := range words {
		if _, err := l.add(w); err != nil {
			t.Fatal(err)
		}
	}
	l.build()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var b strings.Builder
		for range r.IntN(12) {
			w := words[r.IntN(len(words))]
			b.WriteString(w[r.IntN(len(w)):][:1])
			b.WriteString(w[:r.IntN(len(w)+1)])
		}
		text := b.String()
		for id, got := range l.find(text) {
			if want := plainFind(text, words[id]); !slices.Equal(got, want) {
				t.Fatalf("%q in %q: found at %v, want %v", words[id], text, got, want)
			}
		}
	}
}

func plainFind(text, word string) (at []int) {
	for i := range text {
		if strings.HasPrefix(text[i:], word) {
			at = append(at, i)
		}
	}
	return at
}
