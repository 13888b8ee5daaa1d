package model

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// recording is a stream as a file below testdata/streams has it. Each line of
// Stream is a word and what follows it:
//
//	say TEXT      a chunk of text; ~ is a line break
//	think TEXT    a chunk of thought
//	call OBJECTS  a chunk with tool calls
//	end REASON    the last object
//	repeat N TEXT a chunk with the text N times
//	raw LINE      a line as it stands
//	bytes HEX     a line of any bytes
type recording struct {
	About  string
	Caps   []string
	Status int
	Drop   bool // the connection is reset after the stream
	// Escapes: texts hold JSON escapes, as they go over the wire.
	Escapes bool
	Stream  string
	Want    struct {
		Text, Thinking, Calls, IDs, Stop, Error string
		Leaked, Cut                             bool
		Count, Bytes                            *int // of calls and text, when they are too long to write down
	}
}

func (r recording) lines() []string {
	var out []string
	for line := range strings.Lines(r.Stream) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		text := quote(strings.ReplaceAll(rest, "~", "\n"))
		if r.Escapes {
			text = `"` + rest + `"`
		}
		switch word {
		case "say":
			out = append(out, message(`"content":`+text))
		case "think":
			out = append(out, message(`"content":"","thinking":`+text))
		case "call":
			out = append(out, toolCalls(rest))
		case "end":
			out = append(out, end(rest))
		case "repeat":
			n, text, _ := strings.Cut(rest, " ")
			times, _ := strconv.Atoi(n)
			out = append(out, content(strings.Repeat(text, times)))
		case "bytes":
			data, _ := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
			out = append(out, string(data))
		case "raw":
			out = append(out, rest)
		}
	}
	return out
}

// play serves the recording.
func (r recording) play(w http.ResponseWriter, _ *http.Request) {
	if r.Status != 0 {
		w.WriteHeader(r.Status)
	}
	lines(w, r.lines()...)
	if r.Drop {
		panic(http.ErrAbortHandler)
	}
}

func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/streams/*.toml")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d streams, %v; want at least 40", len(files), err)
	}
	for _, file := range files {
		var r recording
		if _, err := toml.DecodeFile(file, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".toml"), func(t *testing.T) {
			t.Parallel()
			r.check(t)
		})
	}
}

func (r recording) check(t *testing.T) {
	caps := `["completion","tools"]`
	if len(r.Caps) > 0 {
		caps = `["` + strings.Join(r.Caps, `","`) + `"]`
	}
	f := &fake{chat: r.play, caps: caps}
	var heard strings.Builder
	reply, err := f.start(t).Chat(t.Context(), ask(bench()...), func(c Chunk) {
		if c.Kind == Text || c.Kind == Thinking {
			heard.WriteString(c.Text)
		}
	})
	r.checkError(t, err)
	if reply.Thinking != r.Want.Thinking || string(reply.Stop) != r.Want.Stop || reply.Cut != r.Want.Cut || reply.Leaked != r.Want.Leaked {
		t.Errorf("%s: %+v", r.About, reply)
	}
	if r.Want.Count != nil {
		if len(reply.Calls) != *r.Want.Count {
			t.Errorf("%s: %d calls", r.About, len(reply.Calls))
		}
		if r.Want.Bytes != nil && len(reply.Text) != *r.Want.Bytes {
			t.Errorf("%s: %d bytes of text", r.About, len(reply.Text))
		}
		return
	}
	if reply.Text != r.Want.Text || showCalls(reply.Calls) != r.Want.Calls {
		t.Errorf("%s: text %q, calls %s", r.About, reply.Text, showCalls(reply.Calls))
	}
	if r.Want.IDs != "" && (len(reply.Calls) == 0 || reply.Calls[0].ID != r.Want.IDs) {
		t.Errorf("%s: ids of %+v", r.About, reply.Calls)
	}
	if !reply.Leaked && len(reply.Calls) == 0 && err == nil && len(heard.String()) < len(reply.Text) {
		t.Errorf("%s: only %q was heard as it came", r.About, heard.String())
	}
}

// checkError wants an error of the right kind, in one bounded line.
func (r recording) checkError(t *testing.T, err error) {
	if r.Want.Error == "" {
		if err != nil {
			t.Errorf("%s: %v", r.About, err)
		}
		return
	}
	var e *Error
	if !errors.As(err, &e) || string(e.Kind) != r.Want.Error {
		t.Errorf("%s: error %v, want kind %q", r.About, err, r.Want.Error)
		return
	}
	if text := fmt.Sprint(e); strings.ContainsAny(text, "\n\r\x1b") || len(text) > 300 {
		t.Errorf("%s: the message is not one plain line: %q", r.About, text)
	}
}

// Whatever a file says, it is a stream of this test and no other's.
func TestRecordingsAreWhole(t *testing.T) {
	t.Parallel()
	files, _ := os.ReadDir("testdata/streams")
	for _, f := range files {
		var r recording
		meta, err := toml.DecodeFile(filepath.Join("testdata/streams", f.Name()), &r)
		if err != nil || len(meta.Undecoded()) > 0 || r.About == "" {
			t.Errorf("%s: %v, unknown keys %v", f.Name(), err, meta.Undecoded())
		}
	}
}
