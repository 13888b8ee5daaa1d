package probe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Quotas that the kernel keeps for a user, or for the machine, and not for a
// name space: who uses one up inside leaves nothing for those outside.

// asyncRequests reserves room for asynchronous requests, of which the machine
// has a fixed number (fs.aio-max-nr).
func asyncRequests(Args) Verdict {
	const batch = 2000
	total := 0
	var failed unix.Errno
	for total < 1<<20 {
		var context uintptr
		if _, _, failed = unix.Syscall(unix.SYS_IO_SETUP, batch, uintptr(unsafe.Pointer(&context)), 0); failed != 0 {
			break
		}
		total += batch
	}
	hold()
	return Heldf("room for %d requests, then %s", total, short(failed))
}

// flyingFiles sends descriptors that nobody receives. A user may have as many
// on their way as the sender may have open.
func flyingFiles(Args) Verdict {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Errorf("%v", err)
	}
	load := make([]int, 253) // what one message carries
	for i := range load {
		load[i] = fd
	}
	rights := unix.UnixRights(load...)
	total := 0
	for err == nil && total < 1<<17 {
		var pair [2]int
		if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
			break
		}
		if err = unix.Sendmsg(pair[0], []byte{0}, rights, nil, 0); err == nil {
			total += len(load)
		}
	}
	hold()
	return Heldf("%d descriptors on their way, then %s", total, short(err))
}

// fatPipes makes its pipes as large as it may.
func fatPipes(Args) Verdict {
	total, made := 0, 0
	for made < 4096 {
		var pair [2]int
		if err := unix.Pipe2(pair[:], unix.O_CLOEXEC); err != nil {
			break
		}
		made++
		size, err := unix.FcntlInt(uintptr(pair[0]), unix.F_SETPIPE_SZ, mib)
		if err != nil {
			size, _ = unix.FcntlInt(uintptr(pair[0]), unix.F_GETPIPE_SZ, 0)
		}
		total += size
	}
	hold()
	return Heldf("%d pipes of %d MiB in all", made, total/mib)
}

// epollWatches makes many more watches than it has files open: an instance
// watches one file under many numbers, since a watch stays when its number is
// closed and the file is not.
func epollWatches(Args) Verdict {
	const instances, first, last = 32, 64, 192
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return Errorf("%v", err)
	}
	n := 0
	for range instances {
		ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return Errorf("%v", err)
		}
		for number := first; number < last; number++ {
			if err := watchAs(ep, fd, number); err != nil {
				hold()
				return Heldf("%d watches, then %s", n, short(err))
			}
			n++
		}
	}
	hold()
	return Heldf("%d watches", n)
}

// watchAs watches a file under a number that it has for a moment.
func watchAs(ep, fd, number int) error {
	if err := unix.Dup3(fd, number, unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(number)
	return unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, number, &unix.EpollEvent{Events: unix.EPOLLIN})
}
