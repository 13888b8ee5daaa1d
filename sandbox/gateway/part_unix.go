//go:build unix

package gateway

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockPoll is how often a waiting process looks whether the other is done.
const lockPoll = 20 * time.Millisecond

// lockPart opens path with an exclusive lock. The lock goes with the process,
// so a killed download never blocks another.
func lockPart(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := tryPart(path)
		if f != nil || err != nil {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// tryPart gives nil without an error when somebody else has the lock, or had
// it until the file was published or removed.
func tryPart(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && sameFile(f, path) {
		return f, nil
	}
	f.Close()
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, err
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

func publish(f *os.File, final string) error { return os.Rename(f.Name(), final) }

// dropPart removes the part unless it was published, and lets go of the lock.
func dropPart(f *os.File) {
	if sameFile(f, f.Name()) {
		_ = os.Remove(f.Name())
	}
	f.Close()
}

// abandoned says whether no process writes the part, and removes it.
func abandoned(path string) bool {
	f, err := tryPart(path)
	if f == nil || err != nil {
		return false
	}
	dropPart(f)
	return true
}
