package demo

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"kintsugi/agent/event"
)

// means are the temperatures of the story, month by month.
var means = [12]float64{1.4, 2.9, 6.1, 10.2, 14.8, 18.0, 20.3, 19.6, 15.4, 10.7, 5.2, 2.3}

// File reads the files that the stories leave.
func File(a event.Artefact, _ int64) ([]byte, error) {
	switch a.Path {
	case "months.png":
		return Chart(), nil
	case "not.png":
		return []byte("<html>no picture at all</html>"), nil
	case "months.csv":
		return []byte("month,mean,warm\n1,1.4,no\n2,2.9,no\n3,6.1,no\n4,10.2,no\n5,14.8,no\n6,18.0,yes\n7,20.3,yes\n8,19.6,yes\n9,15.4,no\n10,10.7,no\n11,5.2,no\n12,2.3,no\n"), nil
	case "fit.txt":
		return []byte("       coef  std err\nslope  0.42     0.03\nconst  1.10     0.20\n"), nil
	}
	return nil, errors.New("no such file")
}

// Chart is a bar chart of the story's temperatures, as a PNG file.
func Chart() []byte {
	const w, h, left, low, bar, gap = 640, 400, 40, 360, 36, 12
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	fill := func(r image.Rectangle, c color.Color) {
		draw.Draw(img, r, image.NewUniform(c), image.Point{}, draw.Src)
	}
	fill(img.Rect, color.White)
	for t := 5; t <= 20; t += 5 {
		y := low - t*15
		fill(image.Rect(left, y, w-16, y+2), color.RGBA{225, 225, 225, 255})
	}
	for i, mean := range means {
		x, top := left+gap+i*(bar+gap), low-int(mean*15)
		c := color.RGBA{70, 120, 180, 255}
		if mean > 17 {
			c = color.RGBA{212, 160, 55, 255}
		}
		fill(image.Rect(x, top, x+bar, low), c)
	}
	fill(image.Rect(left-4, 30, left, low+4), color.RGBA{60, 60, 60, 255})
	fill(image.Rect(left-4, low, w-16, low+4), color.RGBA{60, 60, 60, 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}
