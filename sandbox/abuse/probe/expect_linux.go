package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attempt is one thing that must not work.
type attempt struct {
	name string
	do   func() error
}

// denied are the answers of a wall: refused, not there, or killed for trying.
var denied = []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EROFS}

// expectErrno makes every attempt and wants each to fail with one of the
// errors (a child killed by SIGSYS counts as refused). Any other error means
// that the wall let it through as far as the kernel's own checks.
func expectErrno(want []syscall.Errno, attempts ...attempt) Verdict {
	var wrong, seen []string
	for _, a := range attempts {
		err := a.do()
		if refused(err, want) {
			seen = append(seen, a.name+" "+short(err))
			continue
		}
		wrong = append(wrong, a.name+": "+short(err))
	}
	if len(wrong) > 0 {
		return Breachf("%s", strings.Join(wrong, "; "))
	}
	return Heldf("%s", abridge(seen))
}

func refused(err error, want []syscall.Errno) bool {
	var k killed
	if errors.As(err, &k) {
		return k.signal == syscall.SIGSYS
	}
	for _, w := range want {
		if errors.Is(err, w) {
			return true
		}
	}
	return false
}

// short names an error in a word, if it can.
func short(err error) string {
	if err == nil {
		return "worked"
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// abridge keeps a list readable in a table.
func abridge(all []string) string {
	const most = 6
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// expectAbsent wants none of the paths to exist, nor to be reachable.
func expectAbsent(paths ...string) Verdict {
	var found []string
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			found = append(found, p)
		}
	}
	if len(found) > 0 {
		return Breachf("there: %s", abridge(found))
	}
	return Heldf("%d paths, none there", len(paths))
}

// expectUnreadable wants none of the files to give content.
func expectUnreadable(paths ...string) Verdict {
	var open []string
	for _, p := range paths {
		if readable(p) {
			open = append(open, p)
		}
	}
	if len(open) > 0 {
		return Breachf("readable: %s", abridge(open))
	}
	return Heldf("%d paths, none readable", len(paths))
}

func readable(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	n, _ := f.Read(make([]byte, 16))
	return n > 0
}

// expectSecretHidden wants no path to give the secret.
func expectSecretHidden(secret string, paths ...string) Verdict {
	if secret == "" {
		return Errorf("no secret was planted")
	}
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), secret) {
			return Breachf("read the host's file as %s", p)
		}
	}
	return Heldf("%d ways, none leads there", len(paths))
}

// Worst merges verdicts: a breach outweighs an error, an error a held.
func Worst(all ...Verdict) Verdict {
	var details []string
	result := Held
	for _, v := range all {
		if v.Verdict == Breach || (v.Verdict == Error && result == Held) {
			if v.Verdict != result {
				details = nil
			}
			result = v.Verdict
		}
		if v.Verdict == result && v.Detail != "" {
			details = append(details, v.Detail)
		}
	}
	return Verdict{Verdict: result, Detail: strings.Join(details, "; ")}
}

func itoa(n int) string { return strconv.Itoa(n) }
