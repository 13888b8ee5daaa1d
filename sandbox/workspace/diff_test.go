package workspace

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// render is the hunks as text.
func render(hs []Hunk) string {
	var b bytes.Buffer
	for _, h := range hs {
		b.WriteString(h.Header() + "\n")
		for _, l := range h.Lines {
			b.WriteString(string(l.Op) + l.Text)
			if !strings.HasSuffix(l.Text, "\n") {
				b.WriteString("$\n")
			}
		}
	}
	return b.String()
}

func TestHunks(t *testing.T) {
	t.Parallel()
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for name, c := range map[string]struct{ old, now, want string }{
		"same":           {"a\n", "a\n", ""},
		"from nothing":   {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"to nothing":     {"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		"middle":         {ten, strings.Replace(ten, "5", "five", 1), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		"two hunks":      {ten, strings.Replace(strings.Replace(ten, "1\n", "one\n", 1), "9", "nine", 1), "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -6,5 +6,5 @@\n 6\n 7\n 8\n-9\n+nine\n 10\n"},
		"insert at end":  {"a\n", "a\nb\n", "@@ -1 +1,2 @@\n a\n+b\n"},
		"newline at end": {"a", "a\n", "@@ -1 +1 @@\n-a$\n+a\n"},
		"shifted":        {ten, "0\n" + strings.Replace(ten, "10", "ten", 1), "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -7,4 +8,4 @@\n 7\n 8\n 9\n-10\n+ten\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, render(hunks(c.old, c.now))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func FuzzHunks(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc", uint64(1))
	f.Add("", "x", uint64(0))
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n3\n4\n5\n6\n7\n8\n9\n9\n", uint64(2))
	f.Fuzz(func(t *testing.T, old, now string, mask uint64) {
		hs := hunks(old, now)
		for _, h := range hs {
			checkHunk(t, h, splitLines(old), splitLines(now))
		}
		var some, all []string
		for i, h := range hs {
			all = append(all, h.ID)
			if mask>>(i%64)&1 == 1 {
				some = append(some, h.ID)
			}
		}
		d := FileDiff{Hunks: hs, old: old, new: now}
		if got, whole, err := d.pick(all); err != nil || got != now || !whole {
			t.Fatalf("all hunks: %q (%v), want %q", got, err, now)
		}
		part, _, err := d.pick(some)
		if err != nil {
			t.Fatal(err)
		}
		rest := FileDiff{Hunks: hunks(part, now), old: part, new: now}
		all = nil
		for _, h := range rest.Hunks {
			all = append(all, h.ID)
		}
		if got, _, err := rest.pick(all); err != nil || got != now {
			t.Fatalf("some hunks, then the rest: %q (%v), want %q", got, err, now)
		}
	})
}

// checkHunk compares the lines of a hunk with the two texts it is between.
func checkHunk(t *testing.T, h Hunk, old, now []string) {
	t.Helper()
	var from, to []string
	for _, l := range h.Lines {
		if l.Op != '+' {
			from = append(from, l.Text)
		}
		if l.Op != '-' {
			to = append(to, l.Text)
		}
	}
	for _, side := range []struct {
		line, count int
		text, got   []string
	}{{h.FromLine, h.FromCount, old, from}, {h.ToLine, h.ToCount, now, to}} {
		start := side.line
		if side.count > 0 {
			start--
		}
		want := side.text[start : start+side.count]
		if strings.Join(want, "") != strings.Join(side.got, "") || len(side.got) != side.count {
			t.Fatalf("%s: lines are %q, want %q", h.Header(), side.got, want)
		}
	}
}

// formatted is what FormatChanges writes for the head.
func (s *session) formatted(o FormatOptions) string {
	s.t.Helper()
	c, err := s.Compare(s.Head())
	must(s.t, err)
	defer c.Close()
	var b strings.Builder
	_, err = FormatChanges(&b, c, o)
	must(s.t, err)
	return b.String()
}

func TestRawPatchIsOneForGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := newSession(t, map[string]string{
		"edit": "1\n2\n3\n", "gone": "x\n", "mode": "m\n", "noeol": "a\nb", "tolink": "t\n", "relink": "-> edit", "crlf": "a\r\nb\r\n", "latin": "caf\xe9\n",
	})
	s.step(`
		printf '1\n2\nthree\n' > edit; rm gone; chmod 755 mode; printf 'a\nb\n' > noeol; rm tolink; ln -s edit tolink
		ln -sfn gone relink; printf 'a\r\nB\r\n' > crlf; printf 'caf\351s\n' > latin
		mkdir -p new/dir; echo n > new/dir/f; printf 'esc \033[31m\n' > 'sp ace'; echo q > "$(printf 'tab\tname')"; : > empty; printf 'x' > noeol2
	`)
	patch := filepath.Join(t.TempDir(), "patch")
	must(t, os.WriteFile(patch, []byte(s.formatted(FormatOptions{Raw: true})), 0o644))
	copied := filepath.Join(t.TempDir(), "p")
	if out, err := exec.Command("cp", "-a", s.project, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	cmd := exec.Command("git", "apply", "--whitespace=nowarn", patch)
	cmd.Dir = copied
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(copied))
	if out, err := cmd.CombinedOutput(); err != nil {
		b, _ := os.ReadFile(patch)
		t.Fatalf("git apply: %v\n%s\n%s", err, out, b)
	}
	s.apply(Selection{}, ApplyOptions{})
	if diff := cmp.Diff(listing(t, s.project), listing(t, copied)); diff != "" {
		t.Errorf("(-applied +patched)\n%s", diff)
	}
}

func TestFormatForEyes(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "one\n", "bin": "\x00\x01", "dir/x": "x\n"})
	s.put(map[string]string{
		"a": "two \x1b]52;c;aGk=\x07\x1b[31mred\r\n", "bin": "\x00\x02\x03", "new\n--- a/forged": "x",
		".envrc": "e\n", "Makefile": "m\n", "long": strings.Repeat("y", 5000), "big": strings.Repeat("z", maxText+1),
	})
	s.edit(func(e *Editor) { must(t, e.Remove("dir")) })
	must(t, os.WriteFile(s.path("a"), []byte("user\n"), 0o644))
	want := `#  [held back: direnv: runs on entering the directory] .envrc
diff --git a/.envrc b/.envrc
new file mode 100644
--- /dev/null
+++ b/.envrc
@@ -0,0 +1 @@
+e
#  [look: make] Makefile
diff --git a/Makefile b/Makefile
new file mode 100644
--- /dev/null
+++ b/Makefile
@@ -0,0 +1 @@
+m
#  [conflict: you changed it meanwhile] a
diff --git a/a b/a
--- a/a
+++ b/a
@@ -1 +1 @@
-user
+two ␛]52;c;aGk=␇␛[31mred␍
diff --git a/big b/big
new file mode 100644
# too large to show: 4.2 MB, was 0 B
diff --git a/bin b/bin
Binary files a/bin and b/bin differ (3 B, was 2 B)
diff --git a/dir/x b/dir/x
deleted file mode 100644
--- a/dir/x
+++ /dev/null
@@ -1 +0,0 @@
-x
# deleted directory dir/ (755)
diff --git a/long b/long
new file mode 100644
--- /dev/null
+++ b/long
@@ -0,0 +1 @@
+` + strings.Repeat("y", 2000) + `… (3000 more bytes)
\ No newline at end of file
diff --git "a/new\n--- a/forged" "b/new\n--- a/forged"
new file mode 100644
--- /dev/null
+++ "b/new\n--- a/forged"
@@ -0,0 +1 @@
+x
\ No newline at end of file
`
	got := s.formatted(FormatOptions{})
	got = strings.Replace(got, "# added directory \"new\\n--- a\"/ (755)\n", "", 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := s.formatted(FormatOptions{Brief: true, Paths: []string{"./dir/", "bin"}}); got != "M bin (3 B)\nD dir/x\nD dir/\n" {
		t.Errorf("brief, two paths:\n%s", got)
	}
	if got := s.formatted(FormatOptions{Hunks: true, Paths: []string{"Makefile"}}); !strings.Contains(got, "@@ -0,0 +1 @@ ") {
		t.Errorf("no hunk id:\n%s", got)
	}
}

func TestLongHunkIsCut(t *testing.T) {
	t.Parallel()
	s := newSession(t, nil)
	s.put(map[string]string{"a": strings.Repeat("x\n", 3000)})
	got := s.formatted(FormatOptions{})
	if !strings.HasSuffix(got, "+x\n# truncated: 1000 more lines in this hunk, 0 more hunks\n") || strings.Count(got, "\n") > 2010 {
		t.Errorf("%d lines, end %q", strings.Count(got, "\n"), got[len(got)-80:])
	}
	if got := s.formatted(FormatOptions{Raw: true}); strings.Count(got, "+x\n") != 3000 {
		t.Error("the raw patch is cut")
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain/ä世.txt": "plain/ä世.txt", "a b": "a b", " a": `" a"`, "": `""`, `a"b\`: `"a\"b\\"`,
		"a\nb\tc": `"a\nb\tc"`, "\x1b[m": `"\033[m"`, "\xff": `"\377"`, "a\u202eb": `"a\342\200\256b"`, "é\u200b": `"é\342\200\213"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_951: "1.0 MB", 10_000_000_000: "10.0 GB", 1 << 62: "4.6 EB"} {
		if got := Size(in); got != want {
			t.Errorf("Size(%d) = %q, want %q", in, got, want)
		}
	}
}
