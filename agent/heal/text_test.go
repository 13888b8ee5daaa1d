package heal

import (
	"slices"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, want string }{
		{"plain", "a\nb\n", "a\nb\n"},
		{"colours", "\x1b[1;31mred\x1b[0m", "red"},
		{"windows", "a\r\nb\r\n", "a\nb\n"},
		{"progress", "10%\r20%\rdone\n", "10%\n20%\ndone\n"},
		{"quoted return", "env: 'python3\r': No such file\n", `env: 'python3\r': No such file` + "\n"},
		{"curly quoted return", "env: ‘bash\r’: No such file\n", `env: ‘bash\r’: No such file` + "\n"},
		{"title", "\x1b]0;title\x07text", "text"},
		{"link", "\x1b]8;;http://x.example.test\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"charset", "\x1b(Bx", "x"},
		{"cut escape", "a\x1b", "a"},
		{"cut csi", "a\x1b[", "a"},
		{"unfinished title", "\x1b]0;never ends\nError: x", "\nError: x"},
	} {
		if got := clean(c.raw); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTailKeepsWholeRunes(t *testing.T) {
	t.Parallel()
	if got := tail("ääää", 3); got != "ä" {
		t.Errorf("got %q", got)
	}
	if got := tail("abc", 10); got != "abc" {
		t.Errorf("got %q", got)
	}
}

// TestOnlyTheLastMegabyteIsRead: what is older than that is not seen.
func TestOnlyTheLastMegabyteIsRead(t *testing.T) {
	t.Parallel()
	r := load(t)
	d := r.Diagnose(Input{Text: "bash: line 1: jq: command not found\n" + strings.Repeat("all is well\n", maxText/12+10), Exit: 1})
	if d.Kind != "unknown" {
		t.Errorf("got %+v", d)
	}
}

func TestLiterals(t *testing.T) {
	t.Parallel()
	l := newLiterals()
	words := []string{"command not found", "not found", "No module named", "xxxxxx", "xxxxxxyy"}
	for _, w := range words {
		if _, err := l.add(w); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.add("short"); err == nil {
		t.Error("a short literal was taken")
	}
	l.build()
	text := "jq: command not found\nNo module named x not found xxxxxxxyy No module name"
	found := l.find(text)
	for i, w := range words {
		var want []int
		for at := 0; ; {
			n := strings.Index(text[at:], w)
			if n < 0 {
				break
			}
			want = append(want, at+n)
			at += n + 1
		}
		if !slices.Equal(found[i], want) {
			t.Errorf("%q found at %v, want %v", w, found[i], want)
		}
	}
}

// TestLiteralsKeepFirstAndLast: of a word that is everywhere the ends stay.
func TestLiteralsKeepFirstAndLast(t *testing.T) {
	t.Parallel()
	l := newLiterals()
	_, _ = l.add("needle")
	l.build()
	found := l.find(strings.Repeat("needle ", 1000))[0]
	if found[0] != 0 || found[len(found)-1] != 999*7 || len(found) > keepFirst+2*keepLast {
		t.Errorf("kept %v", found)
	}
	if !slices.IsSorted(found) {
		t.Errorf("not in order: %v", found)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31m\r\n\x1b]0;x\x07'\r'")
	f.Fuzz(func(t *testing.T, raw string) {
		got := clean(raw)
		if strings.ContainsAny(got, "\x1b\r") {
			t.Errorf("%q still has escapes: %q", raw, got)
		}
	})
}
