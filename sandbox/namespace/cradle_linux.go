package namespace

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/namespace/launch"
)

// cradle is process 1 of a box, with what belongs to it whether or not a
// program runs yet.
type cradle struct {
	slot   *slot
	status link

	pid   int // init, as the host counts
	mu    sync.Mutex
	pidfd int

	fit  *fitting  // what it was made ready for; nil: for one box
	held []workDir // scratch directories that are mounted in it already

	early []reported // reports that came before anybody asked for them

	// program is what init runs, linked to base.
	program *launch.Program
	base    uint32
}

// newCradle makes the status channel.
func newCradle(s *slot) (*cradle, error) {
	c := &cradle{slot: s, pidfd: -1}
	var err error
	c.status, err = newChannel()
	return c, err
}

// launch has the slot's maker make the box, with three streams and open trees.
func (c *cradle) launch(p *launch.Program, streams [3]int, trees ...int) (err error) {
	c.program = p
	fds := append([]int{streams[0], streams[1], streams[2], c.status.theirs}, trees...)
	c.base, err = sendOrder(c.slot.maker.control.ours, orderControl, p, fds)
	if err == nil {
		c.status.give()
	}
	return err
}

// order sends a warm box its program and descriptors.
func (c *cradle) order(p *launch.Program, fds []int) (err error) {
	c.program = p
	c.base, err = sendOrder(c.status.ours, warmControl, p, fds)
	return err
}

// awaiting is what reports may be waited for, and what is done with those
// that come first.
type awaiting struct {
	kind   uint32
	born   func() error
	socket func(reported) error
}

// await reads reports until init is born and has sent the kind that is waited
// for, or until nothing of the box but init is left after an operation failed.
// More than one process reports, so the birth may come after what init did.
func (c *cradle) await(ctx context.Context, w awaiting) error {
	stop := context.AfterFunc(ctx, func() { _ = c.status.ours.SetReadDeadline(time.Now()) })
	defer stop()
	var failed error
	var early []reported // the end may even come before the birth
	defer func() { c.early = early }()
	arrived, ended := false, false
	for !ended && (failed != nil || !arrived) || c.pid == 0 {
		m, err := c.receive()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return cmp.Or(failed, fmt.Errorf("%w: %w", errGone, err))
		}
		switch {
		case m.kind == reportFailed:
			failed = c.explain(m)
		case m.kind == reportBorn:
			err = c.born(int(m.value), w.born)
		case m.kind == reportSocket:
			err = w.socket(m)
		case m.kind == w.kind:
			arrived = true
		case (failed != nil || !arrived) && (m.kind == reportEmpty || m.kind == reportAlone):
			ended, failed = true, cmp.Or(failed, errGone)
		default:
			early = append(early, m)
		}
		if err != nil {
			return err
		}
	}
	return failed
}

// errGone is the error for a box that ended without saying why.
var errGone = errors.New("the box ended while it was made")

// born notes the box's init.
func (c *cradle) born(pid int, then func() error) (err error) {
	c.pid = pid
	if c.pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
		return fmt.Errorf("watching a box: %w", err)
	}
	return then()
}

// kill ends init, and with it every process of the box.
func (c *cradle) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pidfd >= 0 {
		_ = unix.PidfdSendSignal(c.pidfd, unix.SIGKILL, nil, 0)
	}
}

// bury waits for init to be gone and says what the box used in all.
func (c *cradle) bury() unix.Rusage {
	_, usage := reap(c.pid)
	c.mu.Lock()
	defer c.mu.Unlock()
	closeFD(&c.pidfd)
	c.pid = 0
	return usage
}

// discard ends the box, whatever state it is in.
func (c *cradle) discard() {
	c.status.close()
	if c.pid != 0 {
		c.kill()
		c.bury()
	}
}

// reported is one report of a box.
type reported struct {
	kind, value uint32
	rest        []byte
	fd          int
}

// receive reads one report.
func (c *cradle) receive() (reported, error) {
	if len(c.early) > 0 {
		m := c.early[0]
		c.early = c.early[1:]
		return m, nil
	}
	buffer, control := make([]byte, 256), make([]byte, 64)
	var n, oobn int
	raw, err := c.status.ours.SyscallConn()
	if err != nil {
		return reported{}, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, failed = unix.Recvmsg(int(fd), buffer, control, unix.MSG_CMSG_CLOEXEC)
		if failed == nil && n == 0 {
			// The kernel may see the channel empty, then a last message and the
			// end arrive, and then report the end: only a second look is sure.
			n, oobn, _, _, failed = unix.Recvmsg(int(fd), buffer, control, unix.MSG_CMSG_CLOEXEC)
		}
		return !errors.Is(failed, unix.EAGAIN)
	})
	if err = errors.Join(err, failed); err != nil {
		return reported{}, err
	}
	if n < 8 {
		return reported{}, io.ErrUnexpectedEOF
	}
	m := reported{kind: binary.LittleEndian.Uint32(buffer), value: binary.LittleEndian.Uint32(buffer[4:]), rest: buffer[8:n], fd: -1}
	if oobn > 0 {
		m.fd = descriptor(control[:oobn])
	}
	return m, nil
}

func descriptor(control []byte) int {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1
	}
	return fds[0]
}

// explain puts a failed operation into words.
func (c *cradle) explain(m reported) error {
	what := "an unknown step"
	if len(m.rest) >= 4 {
		if i, ok := launch.OpIndex(c.base, binary.LittleEndian.Uint32(m.rest), c.program.Len()); ok {
			what = c.program.Explain(i)
		}
	}
	return &stepError{what: what, errno: unix.Errno(m.value)}
}

// stepError is a step of making a box that the kernel refused.
type stepError struct {
	what  string
	errno unix.Errno
}

func (e *stepError) Error() string { return fmt.Sprintf("making a box: %s: %v", e.what, e.errno) }
func (e *stepError) Unwrap() error { return e.errno }
