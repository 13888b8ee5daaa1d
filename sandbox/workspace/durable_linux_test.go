package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCommittedIsWritten: a checkpoint's files are on the disk, not only in
// memory, before the checkpoint exists, whether they are few or many.
func TestCommittedIsWritten(t *testing.T) {
	for name, files := range map[string]int{"few": 3, "many": 3 * oneByOne} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, map[string]string{"a": "a"})
			if why := notOnDisk(s.dir); why != "" {
				t.Skip("no way to see what is on the disk here: " + why)
			}
			d := s.begin2()
			content := map[string]string{}
			for i := range files {
				content[fmt.Sprintf("in/n%d/file", i%7)+fmt.Sprint(i)] = strings.Repeat("x", 10000)
			}
			write(t, d.Upper, content)
			c := s.commit(d)
			if n := dirty(t, filepath.Join(s.dir, "layers", c.ID, "upper")); n != 0 {
				t.Errorf("%d pages of the checkpoint are in memory only", n)
			}
		})
	}
}

// dirty counts the pages below dir that are not on the disk yet.
func dirty(t *testing.T, dir string) (pages uint64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		var st unix.Cachestat_t
		err = unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &st, 0)
		pages += st.Dirty + st.Writeback
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// notOnDisk says why pages cannot be counted in dir; empty if they can.
func notOnDisk(dir string) string {
	var at unix.Statfs_t
	if err := unix.Statfs(dir, &at); err != nil {
		return err.Error()
	}
	if at.Type == unix.TMPFS_MAGIC {
		return "the test's directory is in memory"
	}
	if err := unix.Cachestat(0, &unix.CachestatRange{}, &unix.Cachestat_t{}, 0); err == unix.ENOSYS {
		return "the kernel has no cachestat (6.5 has)"
	}
	return ""
}
