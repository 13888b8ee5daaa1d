package event

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryKindSurvivesTheFile(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 6, 7, 8, 9, 123e6, time.UTC)
	for i, body := range story() {
		want := Event{Seq: int64(i + 1), At: at, Body: body}
		line, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", body.Kind(), d)
		}
	}
}

func TestLineIsReadable(t *testing.T) {
	t.Parallel()
	line, err := Encode(Event{Seq: 2, At: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), Body: Task{Text: "a < b & ü"}})
	want := `{"v":1,"n":2,"t":"2026-05-06T07:08:09.000Z","k":"task","b":{"text":"a < b & ü"}}` + "\n"
	if err != nil || string(line) != want {
		t.Errorf("got %s (%v), want %s", line, err, want)
	}
}

func TestKindOfANewerVersionIsKept(t *testing.T) {
	t.Parallel()
	const line = `{"v":7,"n":9,"t":"2026-05-06T07:08:09.000Z","k":"hologram","b":{"x":[1]}}`
	e, err := Decode([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	u, ok := e.Body.(Unknown)
	if !ok || u.K != "hologram" || string(u.Raw) != `{"x":[1]}` {
		t.Fatalf("got %#v", e.Body)
	}
	back, err := Encode(e)
	if err != nil || !strings.Contains(string(back), `"k":"hologram","b":{"x":[1]}`) {
		t.Errorf("encoded again: %s (%v)", back, err)
	}
	if s := Fold([]Event{e}); s.Seq != 9 || len(s.Steps) != 0 {
		t.Errorf("fold: %+v", s)
	}
}

func TestNewerShapeOfAKnownKindIsKept(t *testing.T) {
	t.Parallel()
	e, err := Decode([]byte(`{"v":2,"n":1,"t":"2026-05-06T07:08:09Z","k":"task","b":{"text":["now a list"]}}`))
	if _, ok := e.Body.(Unknown); err != nil || !ok {
		t.Errorf("got %#v, %v", e.Body, err)
	}
}

func TestDecodeRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		``, `null`, `{}`, `[]`, `7`, `{"v":1}`, `{"v":1,"k":"task"}`, `{"v":0,"n":1,"t":"2026-05-06T07:08:09Z","k":"task"}`,
		`{"v":1,"n":1,"t":"2026-05-06T07:08:09Z","k":"task","b":{"text":7}}`,
		`{"v":1,"n":1,"t":"yesterday","k":"task","b":{}}`,
		`{"v":1,"n":1,"t":"2026-05-06T07:08:09Z","k":"task","b":{}} trailing`,
	} {
		if e, err := Decode([]byte(line)); err == nil {
			t.Errorf("%q gave %#v", line, e)
		}
	}
}

func TestTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	_, err := Encode(Event{Seq: 1, Body: Task{Text: strings.Repeat("x", MaxLine)}})
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for i, body := range story() {
		line, err := Encode(Event{Seq: int64(i), At: time.Unix(1, 0), Body: body})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte("{\"v\":1}\n\n{\"k\":"))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := Read(strings.NewReader(string(data)))
		if err != nil {
			t.Fatalf("a file in memory cannot fail to read: %v", err)
		}
		Fold(events)
		for _, e := range events {
			if _, err := Encode(e); err != nil && e.Body.Kind() != "" && !strings.Contains(err.Error(), "json") {
				t.Fatalf("%#v was read but cannot be written: %v", e, err)
			}
		}
	})
}
