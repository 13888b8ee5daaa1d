package gateway

import (
	"io"
	"net/http"
	"time"
)

// Progress is how far a download is.
type Progress struct {
	Ecosystem, Name, Version, File string
	// Got and Total are bytes; Total is -1 when the upstream does not say.
	Got, Total int64
}

// progressEvery is the time between two reports of one download.
const progressEvery = 500 * time.Millisecond

// told is the response's body, reporting what goes through.
func (g *Gateway) told(a artefact, resp *http.Response) io.Reader {
	if g.opts.OnProgress == nil {
		return resp.Body
	}
	return &telling{
		src: resp.Body, tell: g.opts.OnProgress, now: g.opts.Now,
		p: Progress{Ecosystem: a.eco, Name: a.name, Version: a.version, File: a.file, Total: resp.ContentLength},
	}
}

type telling struct {
	src  io.Reader
	tell func(Progress)
	now  func() time.Time
	next time.Time
	p    Progress
}

func (t *telling) Read(buf []byte) (int, error) {
	n, err := t.src.Read(buf)
	t.p.Got += int64(n)
	if now := t.now(); !now.Before(t.next) {
		t.next = now.Add(progressEvery)
		t.tell(t.p)
	}
	return n, err
}
