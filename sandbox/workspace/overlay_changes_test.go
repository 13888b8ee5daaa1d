//go:build linux

package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChangesOfARealOverlay(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{
		"keep": "k\n", "edit": "old\n", "gone": "g\n", "mode": "m\n", "touched": "t\n", "opened": "o\n",
		"dir/a": "a\n", "dir/b": "b\n", "swap/x": "x\n", "tofile/in/deep": "d\n", "todir": "f\n",
		"link": "-> keep", "relink": "-> keep", "tolink": "plain\n", "mv/one": "1\n", "mv/two": "2\n",
		"removed/deep/er": "r\n", "emptied/x": "x\n", "samelink": "-> keep",
	})
	s.step(`
		echo new >> edit
		rm gone
		chmod 755 mode
		touch touched
		: >> opened
		mkdir empty; echo n > fresh
		rm -r swap; mkdir swap; echo y > swap/y
		rm -r tofile; echo f > tofile
		rm todir; mkdir todir; echo in > todir/in
		ln -sfn edit relink
		rm tolink; ln -s keep tolink
		mv mv moved
		rm -r removed
		rm emptied/x
		chmod 700 dir
		rm samelink; ln -s keep samelink
	`)
	s.wantChanges(
		"m dir/ (700, was 755)",
		"M edit (8 B)",
		"D emptied/x",
		"A empty/",
		"A fresh (2 B)",
		"D gone",
		"m mode (755, was 644)",
		"A moved/", "A moved/one (2 B)", "A moved/two (2 B)",
		"D mv/one", "D mv/two", "D mv/",
		"M relink -> edit",
		"D removed/deep/er", "D removed/deep/", "D removed/",
		"A swap/y (2 B)", "D swap/x",
		"T todir/ (directory, was file)", "A todir/in (3 B)",
		"D tofile/in/deep", "D tofile/in/", "T tofile (file, was directory)",
		"T tolink (symbolic link, was file)",
	)
}

func TestMergedViewEqualsMount(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a/b/c": "1\n", "a/d": "2\n", "e": "3\n", "f/g": "4\n"})
	s.step(`rm -r a; mkdir -p a/b; echo new > a/b/n; rm e; mkdir e; echo x > e/x`)
	s.step(`rm -r e; echo file > e; rm a/b/n; echo two > f/h; mv f/g g`)
	s.step(`rm -r f; mkdir f; chmod 700 f; ln -s ../g f/link; echo -n > empty`)
	d := s.begin2()
	out := t.TempDir()
	inOverlay(t, s.project, d, `cp -a . `+out+`/`)
	must(t, s.Discard(d))
	want := listing(t, out)
	s.apply(Selection{}, ApplyOptions{})
	if diff := cmp.Diff(want, listing(t, s.project)); diff != "" {
		t.Errorf("applied tree differs from the mounted one (-mount +applied):\n%s", diff)
	}
	if left := s.changes(); left != nil {
		t.Errorf("changes after applying all: %q", left)
	}
}

func TestOddNamesAndFiles(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"hard": "host\n", "-rf": "x\n"})
	must(t, os.Link(filepath.Join(s.project, "hard"), filepath.Join(s.project, "other")))
	c := s.step(`
		printf a > "$(printf 'new\nline')"
		printf b > "$(printf 'bad\377utf8')"
		printf c > "$(printf 'esc\033[31m')"
		printf d > "$(printf 'x%.0s' $(seq 255))"
		printf e > "..."
		printf y > ./-rf
		printf f > "back\\slash\"quote"
		mkfifo fifo
		echo box >> hard
		ln hard second
		truncate -s 1T sparse
		printf z | dd of=sparse bs=1 seek=1000000 conv=notrunc status=none
		printf A > Case; printf b > case
		: > .wh.keep
	`)
	got := s.changesOf(c.ID)
	want := []string{
		"M -rf (1 B)", "A ... (1 B)", "A .wh.keep (0 B)", "A Case (1 B)  [look: another name differs only in case; macOS and Windows take them for one]", `A "back\\slash\"quote" (1 B)`, `A "bad\377utf8" (1 B)`,
		"A case (1 B)  [look: another name differs only in case; macOS and Windows take them for one]", `A "esc\033[31m" (1 B)`, "! fifo  [skipped: fifos, sockets and devices are not carried over]",
		"M hard (9 B)", `A "new\nline" (1 B)`, "A second (9 B)", "A sparse (1.1 TB)",
	}
	for i := range got {
		if len(got[i]) > 250 {
			got = append(got[:i], got[i+1:]...)
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	rep := s.apply(Selection{}, ApplyOptions{})
	if rep.Applied.Total != 13 || rep.Skipped.Total != 1 {
		t.Errorf("applied %d, skipped %d", rep.Applied.Total, rep.Skipped.Total)
	}
	for name, want := range map[string]string{"new\nline": "a", "bad\xffutf8": "b", "esc\x1b[31m": "c", "other": "host\n", "hard": "host\nbox\n", "Case": "A", "case": "b"} {
		if b, err := os.ReadFile(filepath.Join(s.project, name)); err != nil || string(b) != want {
			t.Errorf("%q holds %q (%v), want %q", name, b, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(s.project, "fifo")); err == nil {
		t.Error("the fifo was applied")
	}
}
