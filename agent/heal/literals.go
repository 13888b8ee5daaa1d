package heal

import (
	"fmt"
	"strings"
)

// literals finds many fixed strings in one pass over a text. Rules name the
// strings their error lines contain, and only lines that have one are ever
// shown to a pattern.
//
// It is the Wu-Manber search: a table over blocks of three bytes says how far
// the window may jump, so most of the text is never looked at. Of a long word
// the six bytes are looked for that are rarest in ordinary output.
type literals struct {
	words  []string
	rare   []int // where in each word its rarest window begins
	ids    map[string]int
	window int     // the length of the shortest word
	shift  []uint8 // block hash → bytes that can be skipped
	bucket [][]int // block hash at the window's end → words
}

// minLiteral is the shortest literal that a rule may have: shorter ones would
// make every search slow.
const minLiteral = 6

const blockBits = 15

func newLiterals() *literals {
	return &literals{ids: map[string]int{}}
}

// add registers a word and returns its id.
func (l *literals) add(word string) (int, error) {
	if len(word) < minLiteral {
		return 0, fmt.Errorf("literal %q is too short: use %d bytes or more", word, minLiteral)
	}
	if id, ok := l.ids[word]; ok {
		return id, nil
	}
	id := len(l.words)
	l.words = append(l.words, word)
	l.ids[word] = id
	return id, nil
}

// build makes the tables, once every word has been added.
func (l *literals) build() {
	l.window = minLiteral
	l.shift = make([]uint8, 1<<blockBits)
	l.bucket = make([][]int, 1<<blockBits)
	for i := range l.shift {
		l.shift[i] = uint8(l.window - 2)
	}
	l.rare = make([]int, len(l.words))
	common := commonness()
	for id, word := range l.words {
		l.rare[id] = rarest(word, l.window, &common)
		w := word[l.rare[id]:]
		for end := 2; end < l.window; end++ {
			h := blockHash(w[end-2], w[end-1], w[end])
			l.shift[h] = min(l.shift[h], uint8(l.window-1-end))
		}
		h := blockHash(w[l.window-3], w[l.window-2], w[l.window-1])
		l.bucket[h] = append(l.bucket[h], id)
	}
}

// frequent are the bytes of ordinary output, the most frequent first.
const frequent = " etaoinsrlcdumpfgh.0yb1_wv2/-k3"

// commonness says of every byte how frequent it is in ordinary output.
func commonness() (c [256]uint8) {
	for i := range len(frequent) {
		c[frequent[i]] = uint8(len(frequent) - i)
	}
	return c
}

// rarest is where the window begins that is met least often in a text; its
// last block, which ends a jump, counts most.
func rarest(word string, window int, common *[256]uint8) int {
	best, least := 0, 1<<30
	for start := 0; start+window <= len(word); start++ {
		sum := 0
		for i := range window {
			weight := 1
			if i >= window-3 {
				weight = 4
			}
			sum += weight * int(common[word[start+i]])
		}
		if sum < least {
			best, least = start, sum
		}
	}
	return best
}

// blockHash mixes three bytes; the factor is 2^32 divided by the golden ratio.
func blockHash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1 >> (32 - blockBits)
}

// hits are the offsets at which each word was found, in order. Of a word that
// is everywhere, only the first and the last ones are kept.
type hits [][]int

const (
	keepFirst = 8
	keepLast  = 24
)

func (l *literals) find(text string) hits {
	found := make(hits, len(l.words))
	if len(l.words) == 0 {
		return found
	}
	for end := l.window - 1; end < len(text); {
		h := blockHash(text[end-2], text[end-1], text[end])
		if skip := l.shift[h]; skip > 0 {
			end += int(skip)
			continue
		}
		start := end - l.window + 1
		for _, id := range l.bucket[h] {
			if at := start - l.rare[id]; at >= 0 && strings.HasPrefix(text[at:], l.words[id]) {
				found.add(id, at)
			}
		}
		end++
	}
	return found
}

func (h hits) add(id, pos int) {
	h[id] = append(h[id], pos)
	if n := len(h[id]); n >= keepFirst+2*keepLast {
		h[id] = append(h[id][:keepFirst], h[id][n-keepLast:]...)
	}
}
