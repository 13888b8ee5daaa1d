package picture

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/iterm2"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/ansi/sixel"

	"kintsugi/ui/internal/cell"
)

// Protocol is how a terminal takes pictures.
type Protocol int

// The protocols. None is half blocks.
const (
	None Protocol = iota
	Kitty
	ITerm
	Sixel
)

// The bounds of what is sent, in pixels. Sixel has no compression worth the
// name.
const (
	sendW, sendH   = 1600, 1200
	sixelW, sixelH = 960, 640
)

// Room is how many columns and rows of cells a picture may take by a protocol.
func Room(by Protocol, cellW, cellH int) (cols, rows int) {
	if by == Sixel {
		return max(sixelW/cellW, 1), max(sixelH/cellH, 1)
	}
	return 256, 256 // Kitty has so many marks for cells
}

// The identifiers of pictures in a Kitty terminal. They are also the colours
// of the palette by which cells name them, of which the first sixteen can be
// taken for others.
const (
	FirstID = 16
	LastID  = 255
)

// KittySend is the sequence that gives a picture to a Kitty terminal, to be
// shown where cells name it.
func (p *Picture) KittySend(id, cols, rows, cellW, cellH int) (string, error) {
	var b bytes.Buffer
	img := scaled(p, min(cols*cellW, sendW), min(rows*cellH, sendH))
	err := kitty.EncodeGraphics(&b, img, &kitty.Options{
		Action: kitty.TransmitAndPut, Transmission: kitty.Direct, Format: kitty.PNG, Quiet: 2, Chunk: true,
		ID: id, VirtualPlacement: true, Columns: cols, Rows: rows,
	})
	return b.String(), err
}

// KittyForget is the sequence that makes a Kitty terminal drop a picture.
func KittyForget(id int) string {
	return ansi.KittyGraphics(nil, "q=2", "a=d", "d=I", "i="+strconv.Itoa(id))
}

// KittyAsk is the question whether the terminal takes pictures by the Kitty
// protocol. The answer names the same id.
func KittyAsk(id int) string {
	return ansi.KittyGraphics([]byte("AAAA"), "i="+strconv.Itoa(id), "s=1", "v=1", "a=q", "t=d", "f=24")
}

// KittyCells are the cells that stand for a picture.
func KittyCells(id, cols, rows int) []cell.Row {
	style := cell.NewStyle("38;5;"+strconv.Itoa(id), "", 0).Mark()
	out := make([]cell.Row, rows)
	for y := range out {
		var b strings.Builder
		for x := range cols {
			b.WriteRune(kitty.Placeholder)
			b.WriteRune(kitty.Diacritic(y))
			b.WriteRune(kitty.Diacritic(x))
		}
		out[y] = cell.Row{{Style: style, Text: b.String()}}
	}
	return out
}

// Paint is the sequence that draws a picture over cols x rows cells, the first
// of which is at a column and row from 0, by a protocol that draws where the
// cursor is.
func (p *Picture) Paint(by Protocol, x, y, cols, rows, cellW, cellH int, g Ground) (string, error) {
	var body string
	var err error
	switch by {
	case ITerm:
		body, err = p.iterm(cols, rows, cellW, cellH)
	case Sixel:
		body, err = p.sixel(cols, rows, cellW, cellH, g)
	default:
		return "", nil
	}
	return ansi.SaveCursor + ansi.CursorPosition(x+1, y+1) + body + ansi.RestoreCursor, err
}

func (p *Picture) iterm(cols, rows, cellW, cellH int) (string, error) {
	var data bytes.Buffer
	if err := png.Encode(&data, scaled(p, min(cols*cellW, sendW), min(rows*cellH, sendH))); err != nil {
		return "", err
	}
	return ansi.ITerm2(iterm2.File{
		Size: int64(data.Len()), Width: iterm2.Cells(cols), Height: iterm2.Cells(rows), IgnoreAspectRatio: true,
		Inline: true, DoNotMoveCursor: true, Content: base64.StdEncoding.AppendEncode(nil, data.Bytes()),
	}), nil
}

func (p *Picture) sixel(cols, rows, cellW, cellH int, g Ground) (string, error) {
	var data bytes.Buffer
	if err := (&sixel.Encoder{}).Encode(&data, flat(stretched(p, cols*cellW, rows*cellH), g)); err != nil {
		return "", err
	}
	return ansi.SixelGraphics(0, 1, 0, data.Bytes()), nil
}

// flat lays a picture onto the ground.
func flat(img *image.NRGBA, g Ground) *image.NRGBA {
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			img.SetNRGBA(x, y, g.over(img.NRGBAAt(x, y)))
		}
	}
	return img
}
