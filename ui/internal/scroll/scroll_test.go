package scroll

import (
	"fmt"
	"strings"
	"testing"
)

// book is a source of items first to end-1, each with some rows.
type book struct {
	first, end int
	rows       func(n int) int
}

func (b *book) First() (ID, bool) { return ID(b.first), b.first < b.end }
func (b *book) Last() (ID, bool)  { return ID(b.end - 1), b.first < b.end }
func (b *book) Next(id ID) (ID, bool) {
	n := max(int(id)+1, b.first)
	return ID(n), n < b.end
}
func (b *book) Prev(id ID) (ID, bool) {
	n := min(int(id), b.end) - 1
	return ID(n), n >= b.first
}
func (b *book) Rows(id ID) []string {
	if int(id) < b.first || int(id) >= b.end {
		return nil
	}
	var out []string
	for i := range b.rows(int(id)) {
		out = append(out, fmt.Sprintf("%d.%d", id, i))
	}
	return out
}

func flat(n int) *book { return &book{end: n, rows: func(int) int { return 1 }} }

func shown(v *View, b *book, h int) string {
	var out []string
	for _, p := range v.Window(b, h) {
		out = append(out, p.Text)
	}
	return strings.Join(out, " ")
}

func expect(t *testing.T, v *View, b *book, h int, want string) {
	t.Helper()
	if got := shown(v, b, h); got != want {
		t.Errorf("shows %q, want %q", got, want)
	}
}

func TestFollowsTheEnd(t *testing.T) {
	t.Parallel()
	b, v := flat(10), &View{}
	expect(t, v, b, 3, "7.0 8.0 9.0")
	b.end = 12
	expect(t, v, b, 3, "9.0 10.0 11.0")
	expect(t, v, flat(0), 3, "")
	expect(t, v, b, 0, "")
}

// What the reader looks at stays, whatever comes or goes.
func TestScrollIsNeverStolen(t *testing.T) {
	t.Parallel()
	b, v := flat(100), &View{}
	v.By(b, 3, -5)
	expect(t, v, b, 3, "92.0 93.0 94.0")
	b.end = 1000
	expect(t, v, b, 3, "92.0 93.0 94.0")
	b.first = 90
	expect(t, v, b, 3, "92.0 93.0 94.0")
	if v.Following() {
		t.Error("it follows after scrolling up")
	}
	b.first = 500 // what it looked at is gone
	expect(t, v, b, 3, "500.0 501.0 502.0")
	v.Follow()
	expect(t, v, b, 3, "997.0 998.0 999.0")
}

func TestScrollingDownToTheEndFollowsAgain(t *testing.T) {
	t.Parallel()
	b, v := flat(10), &View{}
	v.By(b, 3, -4)
	v.By(b, 3, 3)
	if v.Following() {
		t.Error("one row is still below")
	}
	v.By(b, 3, 1)
	if !v.Following() {
		t.Error("the end is reached")
	}
	v.By(b, 3, 5)
	expect(t, v, b, 3, "7.0 8.0 9.0")
}

func TestItemsOfSeveralRows(t *testing.T) {
	t.Parallel()
	b, v := &book{end: 5, rows: func(n int) int { return n }}, &View{}
	expect(t, v, b, 5, "3.2 4.0 4.1 4.2 4.3")
	v.By(b, 5, -2)
	expect(t, v, b, 5, "3.0 3.1 3.2 4.0 4.1")
	v.By(b, 5, -1)
	expect(t, v, b, 5, "2.1 3.0 3.1 3.2 4.0")
	v.By(b, 5, -100)
	expect(t, v, b, 5, "1.0 2.0 2.1 3.0 3.1")
	v.By(b, 5, 3)
	expect(t, v, b, 5, "3.0 3.1 3.2 4.0 4.1")
	v.Home(b)
	expect(t, v, b, 5, "1.0 2.0 2.1 3.0 3.1")
}

func TestNothingIsLeftBlank(t *testing.T) {
	t.Parallel()
	b, v := flat(10), &View{}
	v.At(b, 3, 9, false)
	expect(t, v, b, 5, "5.0 6.0 7.0 8.0 9.0")
}

func TestReveal(t *testing.T) {
	t.Parallel()
	b, v := flat(100), &View{}
	v.At(b, 5, 50, false)
	v.Reveal(b, 5, 52)
	expect(t, v, b, 5, "50.0 51.0 52.0 53.0 54.0")
	v.Reveal(b, 5, 55)
	expect(t, v, b, 5, "51.0 52.0 53.0 54.0 55.0")
	v.Reveal(b, 5, 20)
	expect(t, v, b, 5, "20.0 21.0 22.0 23.0 24.0")
}

func TestPauseKeepsTheView(t *testing.T) {
	t.Parallel()
	b, v := flat(10), &View{}
	v.Pause(b, 3)
	b.end = 20
	expect(t, v, b, 3, "7.0 8.0 9.0")
}
