package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Root is the id of the project itself, the ancestor of every checkpoint.
const Root = ""

// Checkpoint is the workspace after a successful step.
type Checkpoint struct {
	ID     string    `json:"id"`
	Parent string    `json:"parent,omitempty"` // Root for the first
	Time   time.Time `json:"time"`
	// Flat is the id of a layer that holds this checkpoint and all its
	// ancestors in one, made when the chain became long.
	Flat string `json:"flat,omitempty"`
}

// meta is what a Store knows besides its layers.
type meta struct {
	Version     int          `json:"version"`
	Project     string       `json:"project"`
	Head        string       `json:"head"`
	Next        int          `json:"next"` // number of the next id
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
}

const metaVersion = 1

func (m *meta) find(id string) *Checkpoint {
	for i := range m.Checkpoints {
		if m.Checkpoints[i].ID == id {
			return &m.Checkpoints[i]
		}
	}
	return nil
}

// layers are the ids of the layers that make the checkpoint, newest first.
func (m *meta) layers(id string) ([]string, error) {
	var ids []string
	for id != Root {
		c := m.find(id)
		if c == nil {
			return nil, fmt.Errorf("no checkpoint %q in this session", id)
		}
		if c.Flat != "" {
			return append(ids, c.Flat), nil
		}
		ids = append(ids, c.ID)
		id = c.Parent
	}
	return ids, nil
}

// used are the layers that some checkpoint needs.
func (m *meta) used() map[string]bool {
	used := map[string]bool{}
	for _, c := range m.Checkpoints {
		used[c.ID] = true
		if c.Flat != "" {
			used[c.Flat] = true
		}
	}
	return used
}

func loadMeta(dir, project string) (meta, error) {
	b, err := os.ReadFile(filepath.Join(dir, "store.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return meta{Version: metaVersion, Project: project, Next: 1}, nil
	}
	if err != nil {
		return meta{}, err
	}
	var m meta
	if err := json.Unmarshal(b, &m); err != nil {
		return meta{}, fmt.Errorf("the checkpoints in %s cannot be read: %w", dir, err)
	}
	if m.Version != metaVersion {
		return meta{}, fmt.Errorf("the checkpoints in %s have format %d; this version reads %d", dir, m.Version, metaVersion)
	}
	if m.Project != project {
		return meta{}, fmt.Errorf("the checkpoints in %s belong to %s, not to %s", dir, m.Project, project)
	}
	return m, nil
}

func (m *meta) save(dir string) error {
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(dir, "store.json"), b, false)
}

// writeAtomic replaces a file as a whole: a reader, also one after a kill, sees
// the old or the new content. durable makes it survive a power failure too.
func writeAtomic(path string, b []byte, durable bool) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
