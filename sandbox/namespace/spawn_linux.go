package namespace

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/namespace/launch"
)

// compile links the program and puts its image into an anonymous, sealed
// file. The caller closes the descriptor.
func compile(p *launch.Program, name string) (int, error) {
	block, err := p.Link(launch.Base)
	if err != nil {
		return -1, err
	}
	head, err := launch.Image(block)
	if err != nil {
		return -1, err
	}
	fd, err := memfd(name)
	if err != nil {
		return -1, err
	}
	if err := writeImage(fd, head, block.Bytes); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// mfdExec asks for an executable file explicitly; kernels before 6.3 do not
// know the flag and need none.
const mfdExec = 0x10

func memfd(name string) (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("kintsugi-"+name, flags|mfdExec)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("kintsugi-"+name, flags)
	}
	return fd, err
}

func writeImage(fd int, head, block []byte) error {
	if _, err := unix.Pwrite(fd, head, 0); err != nil {
		return err
	}
	if _, err := unix.Pwrite(fd, block, launch.DataOffset); err != nil {
		return err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	return err
}

// processName is what the processes of ours in a box are called.
const processName = "kintsugi-box"

// spawn runs one of the given descriptors, an image, with all of them as its
// 0, 1, 2, …, in a session of its own and without an environment. It is born
// in the control group of the given directory, unless that is negative.
func spawn(image int, files []int, group int) (int, error) {
	attr := &syscall.ProcAttr{Dir: "/", Sys: &syscall.SysProcAttr{Setsid: true}}
	if group >= 0 {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, group
	}
	for _, fd := range files {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	return syscall.ForkExec(fmt.Sprintf("/proc/self/fd/%d", image), []string{processName}, attr)
}

// reap waits for a child to be gone.
func reap(pid int) (unix.WaitStatus, unix.Rusage) {
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		if _, err := unix.Wait4(pid, &status, 0, &usage); !errors.Is(err, unix.EINTR) {
			return status, usage
		}
	}
}

// link is a channel between us and a box: our end is a file of ours, the
// box's end a bare, blocking descriptor that is closed once the box has it.
type link struct {
	ours   *os.File
	theirs int
}

func (l *link) give() { closeFD(&l.theirs) }

func (l *link) close() {
	l.give()
	if l.ours != nil {
		l.ours.Close()
	}
}

// newLifeLine makes a pipe that is never written: the box reads its end when
// we are gone.
func newLifeLine() (ours, theirs int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, err
	}
	return fds[1], fds[0], nil
}

// toBox makes a pipe that we write and the box reads.
func toBox() (link, error) { return newPipe(1) }

// fromBox makes a pipe that the box writes and we read.
func fromBox() (link, error) { return newPipe(0) }

func newPipe(ours int) (link, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return link{theirs: -1}, err
	}
	return ourEnd(fds, ours)
}

// newChannel makes a pair of sockets that keep message boundaries.
func newChannel() (link, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return link{theirs: -1}, err
	}
	return ourEnd(fds, 0)
}

func ourEnd(fds [2]int, ours int) (link, error) {
	l := link{theirs: fds[1-ours]}
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return link{theirs: -1}, err
	}
	l.ours = os.NewFile(uintptr(fds[ours]), "box")
	return l, nil
}

func closeFD(fd *int) {
	if *fd >= 0 {
		unix.Close(*fd)
		*fd = -1
	}
}
