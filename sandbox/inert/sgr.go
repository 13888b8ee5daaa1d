package inert

import "strconv"

// pen is the part of the SGR state that matters: whether anything is on, and
// the colours, to see when text would vanish into its background.
type pen struct {
	attrs  uint16 // one bit per attribute that is on
	fg, bg colour
}

// colour is 0 for the terminal's default, else 1<<24 | RGB.
type colour uint32

func (p *pen) open() bool { return p.attrs != 0 || p.fg != 0 || p.bg != 0 }

// attribute gives the pen bits that an attribute parameter sets and clears.
// Blink (5, 6), conceal (8), fonts (10 to 20) and frames are unknown to it: they
// are dropped.
func attribute(n int) (set, clear uint16, ok bool) {
	switch n {
	case 1, 2, 3, 4:
		return 1 << n, 0, true
	case 7, 9:
		return 1 << n, 0, true
	case 21: // double underline
		return 1 << 4, 0, true
	case 53: // overline
		return 1 << 10, 0, true
	case 22:
		return 0, 1<<1 | 1<<2, true
	case 23, 24, 27, 29:
		return 0, 1 << (n - 20), true
	case 55:
		return 0, 1 << 10, true
	}
	return 0, 0, false
}

// appendSGR appends the sequence with the given parameter bytes, rebuilt from
// the parameters that pass; nothing when none does.
func (p *pen) appendSGR(dst, params []byte) []byte {
	start := len(dst)
	dst = append(dst, "\x1b["...)
	body := len(dst)
	args := reader{rest: params}
	for args.next() {
		dst = p.appendParam(dst, &args)
	}
	if p.hidesText() {
		p.bg = 0
		dst = append(dst, "49;"...)
	}
	if len(dst) == body {
		return dst[:start]
	}
	dst[len(dst)-1] = 'm'
	return dst
}

// appendParam appends one parameter with a ';' behind it, or nothing.
func (p *pen) appendParam(dst []byte, args *reader) []byte {
	n := args.value
	switch {
	case n == 0:
		*p = pen{}
		return append(dst, "0;"...)
	case n == 4 && args.hasSub() && args.sub() == 0: // 4:0, underline off
		p.attrs &^= 1 << 4
		return append(dst, "24;"...)
	case n == 38 || n == 48:
		return p.appendColour(dst, n, args)
	case n == 58: // underline colour: old terminals read its arguments as blink
		args.colour()
		return dst
	}
	if c, which, ok := basic(n); ok {
		p.dip(which, c)
		return append(strconv.AppendInt(dst, int64(n), 10), ';')
	}
	set, clear, ok := attribute(n)
	if !ok {
		return dst
	}
	p.attrs = p.attrs&^clear | set
	return append(strconv.AppendInt(dst, int64(n), 10), ';')
}

// appendColour appends an extended colour in the form every terminal reads.
func (p *pen) appendColour(dst []byte, which int, args *reader) []byte {
	mode, v := args.colour()
	if mode == 0 {
		return dst
	}
	dst = strconv.AppendInt(dst, int64(which), 10)
	if mode == 5 {
		p.dip(which, indexed(v[0]))
		dst = append(dst, ";5;"...)
		return append(strconv.AppendInt(dst, int64(v[0]), 10), ';')
	}
	p.dip(which, rgb(v[0], v[1], v[2]))
	dst = append(dst, ";2;"...)
	for _, c := range v {
		dst = append(strconv.AppendInt(dst, int64(c), 10), ';')
	}
	return dst
}

func (p *pen) dip(which int, c colour) {
	if which == 38 {
		p.fg = c
	} else {
		p.bg = c
	}
}

// basic reads the sixteen-colour parameters and the two defaults. which is 38
// for the foreground and 48 for the background.
func basic(n int) (c colour, which int, ok bool) {
	switch {
	case n == 39 || n == 49:
		return 0, n - 1, true
	case n >= 30 && n <= 37:
		return indexed(n - 30), 38, true
	case n >= 40 && n <= 47:
		return indexed(n - 40), 48, true
	case n >= 90 && n <= 97:
		return indexed(n - 82), 38, true
	case n >= 100 && n <= 107:
		return indexed(n - 92), 48, true
	}
	return 0, 0, false
}

// minContrast is the smallest difference, in the most different of the three
// channels (0 to 255), at which text still stands out from its background.
const minContrast = 24

// hidesText says whether foreground and background, both set, look alike.
func (p *pen) hidesText() bool {
	if p.fg == 0 || p.bg == 0 {
		return false
	}
	for shift := 0; shift < 24; shift += 8 {
		d := int(p.fg>>shift&0xff) - int(p.bg>>shift&0xff)
		if d >= minContrast || -d >= minContrast {
			return false
		}
	}
	return true
}

func rgb(r, g, b int) colour { return colour(1<<24 | r<<16 | g<<8 | b) }

// indexed gives the colour of a 256-colour index: 16 named, a 6×6×6 cube, a
// ramp of 24 greys.
func indexed(n int) colour {
	switch {
	case n < 16:
		return named(n)
	case n < 232:
		n -= 16
		return rgb(level(n/36), level(n/6%6), level(n%6))
	}
	grey := 8 + 10*(n-232)
	return rgb(grey, grey, grey)
}

// named gives the colours 0 to 15 about as most terminals have them.
func named(n int) colour {
	if n == 8 {
		return rgb(127, 127, 127)
	}
	on := 205
	if n > 8 {
		on = 255
	}
	return rgb(n&1*on, n>>1&1*on, n>>2&1*on)
}

// level is the channel value of a cube coordinate.
func level(n int) int {
	if n == 0 {
		return 0
	}
	return 55 + 40*n
}
