// Package look turns a theme into styles, glyphs and words.
//
// It owns what a status looks like: a glyph and a word each, so that colour
// never carries meaning alone. It draws no screens.
package look

import (
	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
)

// Look is everything a pane needs to draw: it is made once per theme and never
// changes.
type Look struct {
	Theme   themes.Theme
	Glyphs  Glyphs
	Palette cell.Palette // for program output
	// Gen tells looks apart in caches.
	Gen int

	Text, Muted, Faint, Accent, Bold cell.Style
	Gold, OK, Error, Warn, Info      cell.Style
	Running, Thinking, Code, Heading cell.Style
	Stderr, Border, BorderFocus      cell.Style
	Link, GoldText                   cell.Style
}

// New makes the look of a theme. ASCII avoids every glyph that a plain console
// lacks.
func New(t themes.Theme, ascii bool, gen int) *Look {
	l := &Look{Theme: t, Gen: gen, Glyphs: unicodeGlyphs()}
	if ascii {
		l.Glyphs = asciiGlyphs()
	}
	l.Text = l.Style(themes.Text)
	l.Bold = l.Text.With(cell.Bold)
	l.Muted = l.Style(themes.Muted)
	l.Accent = l.Style(themes.Accent)
	l.Link = l.Accent.With(cell.Underline)
	l.Gold = l.Style(themes.Gold)
	l.GoldText = cell.NewStyle(t.Color(themes.Gold).Foreground(), t.Color(themes.Background).BackgroundSGR(), 0)
	l.OK, l.Error = l.Style(themes.OK), l.Style(themes.Error)
	l.Warn, l.Info = l.Style(themes.Warn), l.Style(themes.Info)
	l.Running, l.Thinking = l.Style(themes.Running), l.Style(themes.Thinking)
	l.Code, l.Heading = l.Style(themes.Code), l.Style(themes.Heading)
	l.Stderr = l.Style(themes.Stderr)
	l.Border, l.BorderFocus = l.Style(themes.Border), l.Style(themes.BorderFocus)
	l.Faint = l.Border
	l.Palette = l.palette()
	return l
}

// weights are the attributes of tokens; a theme without colour leans on them.
func (l *Look) weight(k themes.Token) cell.Attr {
	bare := l.Theme.Color(k).IsDefault()
	switch k {
	case themes.Heading, themes.Gold, themes.GoldBright:
		return cell.Bold
	case themes.Error, themes.Accent, themes.BorderFocus, themes.Running, themes.OK:
		if bare {
			return cell.Bold
		}
	case themes.Border, themes.Thinking, themes.GoldDeep:
		if bare {
			return cell.Faint
		}
	}
	return 0
}

// Style is the style of a token on the screen's background.
func (l *Look) Style(k themes.Token) cell.Style { return l.On(themes.Background, k) }

// On is the style of a token on one of the other backgrounds. Where the theme
// has no colour for the selection, it is shown reversed.
func (l *Look) On(bg, k themes.Token) cell.Style {
	attr := l.weight(k)
	back := l.Theme.Color(bg)
	if bg == themes.Selection && back.IsDefault() {
		attr = attr&^cell.Faint | cell.Reverse
	}
	return cell.NewStyle(l.Theme.Color(k).Foreground(), back.BackgroundSGR(), attr)
}

// Mix is a line style part of the way between two tokens.
func (l *Look) Mix(a, b themes.Token, part float64) cell.Style {
	c := themes.Mix(l.Theme.Color(a), l.Theme.Color(b), part)
	return cell.NewStyle(c.Foreground(), l.Theme.Color(themes.Background).BackgroundSGR(), l.weight(a))
}

// palette gives the 16 colours that programs name the tokens of the theme, so
// that program output is readable on it too.
func (l *Look) palette() cell.Palette {
	p := cell.Palette{Base: l.Text, Plain: l.Theme.Color(themes.Error).IsDefault()}
	normal := [16]themes.Token{
		themes.Muted, themes.Error, themes.OK, themes.Gold, themes.Info, themes.Thinking, themes.Accent, themes.Text,
		themes.Muted, themes.Error, themes.OK, themes.Gold, themes.Running, themes.Thinking, themes.Accent, themes.Heading,
	}
	for i, k := range normal {
		p.ANSI[i] = l.Theme.Color(k).Foreground()
		back := themes.Mix(l.Theme.Color(themes.Background), l.Theme.Color(k), 0.25)
		p.ANSIBack[i] = back.BackgroundSGR()
	}
	return p
}

// Status is how something stands.
type Status int

// The statuses.
const (
	Idle Status = iota
	Running
	Worked
	Failed
	Mending
	Mended
	Asking
	Skipped
	Limited
	Noted
	Warned
	Saved
)

// Face is what a status looks like.
type Face struct {
	Glyph, Word string
	Style       cell.Style
}

// Face gives the glyph, the word and the style of a status.
func (l *Look) Face(s Status) Face {
	g := l.Glyphs
	switch s {
	case Running:
		return Face{g.Running, "running", l.Running}
	case Worked:
		return Face{g.OK, "worked", l.OK}
	case Failed:
		return Face{g.Failed, "failed", l.Error}
	case Mending:
		return Face{g.Remedy, "mending", l.Warn}
	case Mended:
		return Face{g.Seam, "mended", l.Gold}
	case Asking:
		return Face{g.Ask, "asks", l.Warn}
	case Skipped:
		return Face{g.Skip, "skipped", l.Muted}
	case Limited:
		return Face{g.Limit, "stopped", l.Error}
	case Noted:
		return Face{g.Note, "note", l.Info}
	case Warned:
		return Face{g.Warn, "warning", l.Warn}
	case Saved:
		return Face{g.Check, "checkpoint", l.Accent}
	}
	return Face{g.Idle, "idle", l.Muted}
}

// Statuses are all statuses.
func Statuses() []Status {
	return []Status{Idle, Running, Worked, Failed, Mending, Mended, Asking, Skipped, Limited, Noted, Warned, Saved}
}
