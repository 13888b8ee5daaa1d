// Package scroll shows a window of a long list of items without ever moving
// what the reader looks at.
//
// The place of a window is an item and a row in it, not a number of lines from
// the top. So whatever is added at the end or dropped at the beginning, the
// rows under the reader's eyes stay where they are. Only a window that follows
// the end moves, and says so.
package scroll

// ID names an item. IDs grow from the first item to the last, with gaps.
type ID int64

// Source is a list of items. First and Last are false when it is empty. Next
// and Prev find the neighbour of an ID that need not exist any more.
type Source interface {
	First() (ID, bool)
	Last() (ID, bool)
	Next(ID) (ID, bool)
	Prev(ID) (ID, bool)
	// Rows are the rendered rows of an item, none for one that is hidden or
	// gone.
	Rows(ID) []string
}

// View is a window. The zero View follows the end.
type View struct {
	top    ID
	row    int
	paused bool
}

// Placed is a row in a window and the item it belongs to.
type Placed struct {
	ID   ID
	Row  int
	Text string
}

// Following says that the window stays at the end.
func (v *View) Following() bool { return !v.paused }

// Follow goes to the end and stays there.
func (v *View) Follow() { *v = View{} }

// Window is the visible part of src, at most h rows.
func (v *View) Window(src Source, h int) []Placed {
	if h <= 0 {
		return nil
	}
	if !v.paused {
		return tail(src, h)
	}
	rows := forward(src, v.top, v.row, h)
	if len(rows) < h {
		return tail(src, h) // no blank rows while there is something above
	}
	return rows
}

// tail collects the last h rows.
func tail(src Source, h int) []Placed {
	out := make([]Placed, h)
	at := h
	for id, ok := src.Last(); ok && at > 0; id, ok = src.Prev(id) {
		rows := src.Rows(id)
		for i := len(rows) - 1; i >= 0 && at > 0; i-- {
			at--
			out[at] = Placed{id, i, rows[i]}
		}
	}
	return out[at:]
}

// forward collects h rows from a place on.
func forward(src Source, id ID, skip, h int) []Placed {
	out := make([]Placed, 0, h)
	rows := src.Rows(id)
	for i := skip; i < len(rows) && len(out) < h; i++ {
		out = append(out, Placed{id, i, rows[i]})
	}
	for id, ok := src.Next(id); ok && len(out) < h; id, ok = src.Next(id) {
		for i, text := range src.Rows(id) {
			if len(out) == h {
				break
			}
			out = append(out, Placed{id, i, text})
		}
	}
	return out
}

// By moves the window n rows down, or up when n is negative. Moving down past
// the end follows it again.
func (v *View) By(src Source, h, n int) {
	if n == 0 || h <= 0 {
		return
	}
	if !v.paused {
		if n > 0 {
			return
		}
		v.pin(src, h)
	}
	if n < 0 {
		v.up(src, -n)
		return
	}
	v.down(src, n)
	if len(forward(src, v.top, v.row, h+1)) <= h {
		v.Follow()
	}
}

// pin stops following at the rows that are visible now.
func (v *View) pin(src Source, h int) {
	rows := tail(src, h)
	v.paused = true
	if len(rows) > 0 {
		v.top, v.row = rows[0].ID, rows[0].Row
	}
}

// Pause stops following; what is visible stays.
func (v *View) Pause(src Source, h int) {
	if !v.paused {
		v.pin(src, h)
	}
}

func (v *View) up(src Source, n int) {
	for n > v.row {
		n -= v.row
		v.row = 0
		id, ok := src.Prev(v.top)
		if !ok {
			return
		}
		v.top, v.row = id, len(src.Rows(id))
	}
	v.row -= n
}

func (v *View) down(src Source, n int) {
	for {
		left := len(src.Rows(v.top)) - v.row
		if n < left {
			v.row += n
			return
		}
		id, ok := src.Next(v.top)
		if !ok {
			return
		}
		n -= max(left, 0)
		v.top, v.row = id, 0
	}
}

// Home goes to the first row.
func (v *View) Home(src Source) {
	id, ok := src.First()
	if !ok {
		return
	}
	*v = View{top: id, paused: true}
}

// At puts an item at the top of the window, or follows when the end would
// then be visible anyway and follow is set.
func (v *View) At(src Source, h int, id ID, follow bool) {
	*v = View{top: id, paused: true}
	if follow && len(forward(src, id, 0, h+1)) <= h {
		v.Follow()
	}
}

// Reveal moves the window as little as needed to show the whole item, its
// first row at least.
func (v *View) Reveal(src Source, h int, id ID) {
	rows := v.Window(src, h)
	first, last := -1, -1
	for i, r := range rows {
		if r.ID == id {
			if first < 0 {
				first = i - r.Row
			}
			last = i
		}
	}
	size := len(src.Rows(id))
	if first >= 0 && last-first+1 >= min(size, h) {
		return
	}
	if len(rows) > 0 && id > rows[0].ID && first != 0 {
		*v = View{top: id, paused: true}
		v.up(src, max(h-size, 0))
		return
	}
	*v = View{top: id, paused: true}
}
