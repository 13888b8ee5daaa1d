package event

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// errLocked means that another open file holds the lock.
var errLocked = errors.New("locked")

// lockTries and lockPause bound how long an opener waits for a process that
// only looks whether the session is live.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

func lockPath(dir string) string { return filepath.Join(dir, "lock") }

// takeLock locks a session for this process. The kernel gives the lock back
// when the file is closed or the process dies.
func takeLock(dir string) (*os.File, error) {
	file, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("session lock: %w", err)
	}
	for range lockTries {
		if err = tryLock(file, true); !errors.Is(err, errLocked) {
			break
		}
		time.Sleep(lockPause)
	}
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, errLocked) {
		return nil, ErrLive
	}
	return nil, fmt.Errorf("session lock: %w", err)
}

// Live says whether a process has the session in dir open for writing.
func Live(dir string) bool {
	file, err := os.Open(lockPath(dir))
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(tryLock(file, false), errLocked)
}
