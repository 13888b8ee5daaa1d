// Package picture turns image files into something that a terminal shows: half
// blocks, which every terminal has, or the sequences of the Kitty, iTerm2 and
// Sixel protocols.
//
// The files come out of a sandbox and are hostile. Their size in pixels and
// bytes is bounded before anything is decoded, only the first frame of an
// animation is, and what reaches the terminal is encoded anew: no byte of a
// file does.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/gif"  // decoders
	_ "image/jpeg" // decoders
	_ "image/png"  // decoders
	"strings"

	_ "golang.org/x/image/bmp" // decoders
	xdraw "golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decoders
)

// The bounds of what is decoded.
const (
	MaxBytes  = 16 << 20 // of a file
	maxPixels = 9 << 20  // of an image; a 4K screen has 8.3 million
	maxSide   = 32 << 10 // of either side, in pixels
	// keepW and keepH bound the copy that is kept, in pixels: about what the
	// largest pane of a usual screen has.
	keepW, keepH = 1200, 900
)

// Picture is a decoded image, scaled down to what a screen can show.
type Picture struct {
	*image.NRGBA
	// Width and Height are those of the file, in pixels.
	Width, Height int
}

// Shows says that files of a media type can be decoded.
func Shows(media string) bool {
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp":
		return true
	}
	return false
}

// Decode reads a file. Its error is a few words for the user.
func Decode(data []byte) (*Picture, error) {
	if len(data) > MaxBytes {
		return nil, errors.New("too large")
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return nil, errors.New("not an image")
	}
	if c.Width > maxSide || c.Height > maxSide || c.Width*c.Height > maxPixels {
		return nil, fmt.Errorf("too large: %d×%d", c.Width, c.Height)
	}
	img, err := decode(data)
	if err != nil {
		return nil, err
	}
	p := &Picture{Width: c.Width, Height: c.Height}
	p.NRGBA = scaled(img, keepW, keepH)
	return p, nil
}

// decode makes a fault of a decoder an error.
func decode(data []byte) (img image.Image, err error) {
	defer func() {
		if recover() != nil {
			img, err = nil, errors.New("not an image")
		}
	}()
	if img, _, err = image.Decode(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("damaged: %s", strings.ToValidUTF8(err.Error(), "?"))
	}
	return img, nil
}

// scaled is a copy of an image that fits into w x h pixels; it is never
// enlarged.
func scaled(img image.Image, w, h int) *image.NRGBA {
	size := img.Bounds().Size()
	part := min(1, float64(w)/float64(size.X), float64(h)/float64(size.Y))
	return stretched(img, max(int(float64(size.X)*part), 1), max(int(float64(size.Y)*part), 1))
}

// stretched is a copy of exactly w x h pixels.
func stretched(img image.Image, w, h int) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	if size := img.Bounds().Size(); size.X == w && size.Y == h {
		draw.Draw(out, out.Rect, img, img.Bounds().Min, draw.Src)
		return out
	}
	xdraw.CatmullRom.Scale(out, out.Rect, img, img.Bounds(), draw.Src, nil)
	return out
}

// Fit is how many columns and rows of cells a picture takes, at most maxCols
// and maxRows, in cells of cellW x cellH pixels. A small picture is not
// enlarged.
func (p *Picture) Fit(maxCols, maxRows, cellW, cellH int) (cols, rows int) {
	maxCols, maxRows = max(maxCols, 1), max(maxRows, 1)
	w, h := float64(p.Width)/float64(cellW), float64(p.Height)/float64(cellH)
	part := min(1, float64(maxCols)/w, float64(maxRows)/h)
	return clamp(int(w*part+0.5), 1, maxCols), clamp(int(h*part+0.5), 1, maxRows)
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }
