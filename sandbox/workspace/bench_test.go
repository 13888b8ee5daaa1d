package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// benchStore is a store for an empty project.
func benchStore(b *testing.B) (*Store, string) {
	b.Helper()
	base := b.TempDir()
	project := filepath.Join(base, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		b.Fatal(err)
	}
	s, err := Open(filepath.Join(base, "session"), project, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s, project
}

// BenchmarkAttempt is what the workspace adds to one attempt.
func BenchmarkAttempt(b *testing.B) {
	for name, end := range map[string]func(*Store, *Draft) error{
		"discard": func(s *Store, d *Draft) error { return s.Discard(d) },
		"commit nothing": func(s *Store, d *Draft) error {
			_, err := s.Commit(d)
			return err
		},
		"commit one file": func(s *Store, d *Draft) error {
			if err := os.WriteFile(filepath.Join(d.Upper, "f"), []byte("x"), 0o644); err != nil {
				return err
			}
			_, err := s.Commit(d)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			s, _ := benchStore(b)
			for b.Loop() {
				d, err := s.Begin()
				if err == nil {
					err = end(s, d)
				}
				if err == nil {
					err = s.Rewind(Root)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkChanges lists the changes of a layer with many small files.
func BenchmarkChanges(b *testing.B) {
	const files = 20_000
	s, project := benchStore(b)
	d, err := s.Begin()
	if err != nil {
		b.Fatal(err)
	}
	for i := range files {
		dir := fmt.Sprint("dir", i%100)
		for _, root := range []string{project, d.Upper} {
			_ = os.MkdirAll(filepath.Join(root, dir), 0o755)
			if err := os.WriteFile(filepath.Join(root, dir, fmt.Sprint(i)), []byte(root), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	c, err := s.Commit(d)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.Changes(c.ID) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != files {
			b.Fatalf("%d changes", n)
		}
	}
}
