package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"runtime"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/ui/internal/cell"
)

// square is a picture of one colour.
func square(w, h int, c color.Color) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		img.Set(i%w, i/w, c)
	}
	return img
}

func pngOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var red = color.NRGBA{200, 30, 40, 255}

func TestFilesOfEveryKindAreRead(t *testing.T) {
	t.Parallel()
	img := square(40, 20, red)
	var asJPEG, asGIF bytes.Buffer
	if err := jpeg.Encode(&asJPEG, img, nil); err != nil {
		t.Fatal(err)
	}
	pal := func(c color.Color) *image.Paletted {
		p := image.NewPaletted(image.Rect(0, 0, 40, 20), color.Palette{c})
		return p
	}
	moving := &gif.GIF{Image: []*image.Paletted{pal(red), pal(color.NRGBA{0, 0, 255, 255})}, Delay: []int{1, 1}}
	if err := gif.EncodeAll(&asGIF, moving); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"png": pngOf(t, img), "jpeg": asJPEG.Bytes(), "animated gif": asGIF.Bytes()} {
		p, err := Decode(data)
		if err != nil || p.Width != 40 || p.Height != 20 {
			t.Errorf("%s: %v, %+v", name, err, p)
			continue
		}
		if c := p.NRGBAAt(5, 5); c.R < 180 || c.B > 80 {
			t.Errorf("%s: the first pixel is %v", name, c)
		}
	}
}

// claims is the head of a PNG file that claims a size.
func claims(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n")
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), w), h)
	head = append(head, 16, 6, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, 13)
	b = append(b, head...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(head))
}

func TestHostileFilesAreRefusedBeforeTheyCostMemory(t *testing.T) {
	t.Parallel()
	whole := pngOf(t, square(300, 300, red))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"huge claim":  {claims(1<<14, 1<<14), "too large"},
		"thin claim":  {claims(1<<20, 8), "too large"},
		"large claim": {claims(5000, 5000), "too large"},
		"long":        {make([]byte, MaxBytes+1), "too large"},
		"empty":       {nil, "not an image"},
		"text":        {[]byte("<svg onload=alert(1)>"), "not an image"},
		"cut":         {whole[:len(whole)/2], "damaged"},
		"head alone":  {claims(30, 30), "damaged"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(c.data)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: cost %d bytes", name, n)
		}
	}
}

func TestPicturesFitIntoCells(t *testing.T) {
	t.Parallel()
	p, err := Decode(pngOf(t, square(640, 400, red)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][4]int{{40, 100, 40, 13}, {200, 100, 80, 25}, {200, 10, 32, 10}, {1, 1, 1, 1}, {0, 0, 1, 1}} {
		if cols, rows := p.Fit(c[0], c[1], 8, 16); cols != c[2] || rows != c[3] {
			t.Errorf("into %dx%d: %dx%d, want %dx%d", c[0], c[1], cols, rows, c[2], c[3])
		}
	}
}

func TestBlocksShowBothHalvesOfACell(t *testing.T) {
	t.Parallel()
	img := image.NewNRGBA(image.Rect(0, 0, 2, 2))
	img.Set(0, 0, red)
	img.Set(1, 0, color.NRGBA{0, 0, 0, 0})
	img.Set(0, 1, color.NRGBA{1, 2, 3, 255})
	img.Set(1, 1, color.NRGBA{255, 255, 255, 128})
	p := &Picture{NRGBA: img, Width: 2, Height: 2}
	ground := Ground{10, 20, 30}
	row := p.Blocks(2, 1, ground, Upper)[0]
	want := []string{"\x1b[0;38;2;200;30;40;48;2;1;2;3m", "\x1b[0;38;2;10;20;30;48;2;133;138;143m"}
	for i, s := range row {
		if s.Text != "▀" || s.Style.Seq() != want[i] {
			t.Errorf("cell %d is %q in %q, want %q", i, s.Text, s.Style.Seq(), want[i])
		}
	}
	low := p.Blocks(2, 1, ground, Lower)[0]
	if low[0].Text != "▄" || low[0].Style.Seq() != "\x1b[0;38;2;1;2;3;48;2;200;30;40m" {
		t.Errorf("turned over: %q in %q", low[0].Text, low[0].Style.Seq())
	}
}

func TestShadesGoFromTheGroundToTheText(t *testing.T) {
	t.Parallel()
	img := image.NewNRGBA(image.Rect(0, 0, 5, 1))
	for x := range 5 {
		img.Set(x, 0, color.Gray{uint8(x * 63)})
	}
	p := &Picture{NRGBA: img, Width: 5, Height: 1}
	for _, c := range []struct {
		ground Ground
		ascii  bool
		want   string
	}{{Ground{}, false, " ░▒▓█"}, {Ground{255, 255, 255}, false, "█▓▒░ "}, {Ground{}, true, " :=#@"}} {
		if got := p.Shades(5, 1, c.ground, cell.NewStyle("39", "49", 0), c.ascii)[0][0].Text; got != c.want {
			t.Errorf("on %v: %q, want %q", c.ground, got, c.want)
		}
	}
}

// Nothing of the file itself reaches the terminal: every sequence is made here
// and holds only its own letters.
func TestSequencesAreWhole(t *testing.T) {
	t.Parallel()
	p, err := Decode(pngOf(t, square(64, 48, red)))
	if err != nil {
		t.Fatal(err)
	}
	send, err := p.KittySend(17, 8, 3, 8, 16)
	if err != nil || !strings.HasPrefix(send, "\x1b_Gf=100,q=2,i=17") || !strings.Contains(send, "U=1") || !strings.Contains(send, "c=8,r=3") {
		t.Errorf("Kitty: %.80q, %v", send, err)
	}
	iterm, err := p.Paint(ITerm, 4, 2, 8, 3, 8, 16, Ground{})
	if err != nil || !strings.HasPrefix(iterm, "\x1b7\x1b[3;5H\x1b]1337;File=size=") || !strings.HasSuffix(iterm, "\x07\x1b8") {
		t.Errorf("iTerm2: %.80q, %v", iterm, err)
	}
	six, err := p.Paint(Sixel, 0, 0, 8, 3, 8, 16, Ground{})
	if err != nil || !strings.HasPrefix(six, "\x1b7\x1b[H\x1bP0;1q\"1;1;64;48") || !strings.HasSuffix(six, "\x1b\\\x1b8") {
		t.Errorf("Sixel: %.80q, %v", six, err)
	}
	for name, seq := range map[string]string{"Kitty": send, "iTerm2": iterm, "Sixel": six} {
		if got := ansi.Strip(seq); got != "" {
			t.Errorf("%s leaves text on the screen: %.40q", name, got)
		}
	}
}

func TestKittyCellsAreOneCellEach(t *testing.T) {
	t.Parallel()
	rows := KittyCells(200, 250, 3)
	for y, r := range rows {
		if w := r.Width(); w != 250 {
			t.Errorf("row %d is %d cells wide by code points", y, w)
		}
		if w := ansi.StringWidth(r[0].Text); w != 250 {
			t.Errorf("row %d is %d cells wide by clusters", y, w)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(pngOf(f, square(3, 3, red)))
	f.Add(claims(3, 3))
	f.Add([]byte("GIF89a\x01\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil {
			return
		}
		if cols, rows := p.Fit(80, 24, 8, 16); len(p.Blocks(cols, rows, Ground{}, Upper)) != rows {
			t.Error("rows are missing")
		}
	})
}
