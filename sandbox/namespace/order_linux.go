package namespace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/namespace/launch"
)

// An order is a program, linked as a block of operations, and descriptors. It
// arrives as one message and lies in memory at fixed addresses. A maker's order
// makes a box; the order of a warm box, which was made by one, has a place of
// its own.
const (
	orderControl = 0x28000000 // descriptors, as the kernel writes them
	warmControl  = 0x30000000
	orderPage    = 64 << 10 // from there to the block; the largest page size
	orderBase    = orderControl + orderPage
	warmBase     = warmControl + orderPage
	maxOrder     = 64 << 10          // bytes of a block that is sent as it is
	maxHandles   = 200               // descriptors; the kernel passes 253
	controlSize  = 16 + 4*maxHandles // struct cmsghdr and descriptors

	// A longer block, one with a long command or environment, comes as a file.
	longBase = 0x38000000
	maxLong  = 8 << 20
)

// arrivedStatus is the status channel, which comes after the streams with a
// maker's order; a warm box has its channel already.
const arrivedStatus = fdErr + 1

// arrived is the descriptor that came with an order, counted from 0.
func arrived(control uint32, n int) launch.Cell {
	return launch.Cell(launch.At(control + 16 + 4*uint32(n)))
}

// mapOrders makes room for orders.
func (p *plan) mapOrders(control uint32) {
	p.Note("making room for orders")
	p.Call(unix.SYS_MMAP, launch.At(control), orderPage+maxOrder, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, -1, 0)
}

// receive waits for an order and goes on with it.
func (p *plan) receive(control uint32) {
	p.Note("waiting for an order")
	polled := p.Zero(16)
	for i, fd := range []uint32{fdLife, fdStatus} {
		p.PutWord(polled+launch.Addr(8*i), fd)
		p.PutWord(polled+launch.Addr(8*i+4), unix.POLLIN)
	}
	header := p.Zero(56) // struct msghdr
	vector := p.Zero(16)
	p.Point(vector, launch.At(control+orderPage))
	p.PutWord(vector+8, maxOrder)
	p.Point(header+16, vector)
	p.PutWord(header+24, 1)
	p.Point(header+32, launch.At(control))

	loop, alive, gone := p.Label(), p.Label(), p.Label()
	p.Bind(loop)
	p.CallOr(loop, unix.SYS_PPOLL, polled, 2, 0, 0, 8)
	p.JumpIf(launch.Cell(polled+4), happened, 0, alive)
	p.Jump(gone)
	p.Bind(alive)
	p.JumpIf(launch.Cell(polled+12), happened, 0, loop)
	p.Set(launch.Cell(header+40), controlSize) // the kernel writes there what it used
	n := p.CallOr(gone, unix.SYS_RECVMSG, fdStatus, header, unix.MSG_CMSG_CLOEXEC)
	p.JumpIf(n, -1, 0, gone)
	p.Enter(launch.Entry(control + orderPage))
	p.Bind(gone)
	p.Call(unix.SYS_EXIT_GROUP, 0)
}

// errTooLong is the error for an order that does not fit anywhere.
var errTooLong = errors.New("the command and its environment are too long")

// sendOrder sends a program and descriptors to what waits for an order at the
// control address. It returns where the program lies then.
func sendOrder(to *os.File, control uint32, p *launch.Program, fds []int) (base uint32, err error) {
	block, err := p.Link(control + orderPage)
	if err != nil {
		return 0, err
	}
	if len(block.Bytes) > maxOrder {
		return longBase, sendLong(to, control, p, fds)
	}
	return block.Address, sendMessage(to, block.Bytes, fds)
}

// sendLong sends a program as a file, with a short order to go on there.
func sendLong(to *os.File, control uint32, p *launch.Program, fds []int) error {
	block, err := p.Link(longBase)
	if err != nil {
		return err
	}
	if len(block.Bytes) > maxLong {
		return errTooLong
	}
	file, err := memfd("order")
	if err != nil {
		return err
	}
	defer unix.Close(file)
	if _, err := unix.Pwrite(file, block.Bytes, 0); err != nil {
		return err
	}
	short := launch.New()
	come := arrived(control, len(fds))
	short.Call(unix.SYS_MMAP, launch.At(longBase), len(block.Bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED, come, 0)
	short.Call(unix.SYS_CLOSE, come)
	short.Enter(launch.Entry(longBase))
	short.Bind(launch.Failed)
	short.Call(unix.SYS_EXIT_GROUP, 1)
	first, err := short.Link(control + orderPage)
	if err != nil {
		return err
	}
	return sendMessage(to, first.Bytes, append(fds[:len(fds):len(fds)], file))
}

func sendMessage(to *os.File, data []byte, fds []int) error {
	if len(fds) > maxHandles {
		return errors.New("too many layers and mounts for one box")
	}
	raw, err := to.SyscallConn()
	if err != nil {
		return err
	}
	rights := unix.UnixRights(fds...)
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		failed = unix.Sendmsg(int(fd), data, rights, nil, unix.MSG_NOSIGNAL)
		return !errors.Is(failed, unix.EAGAIN)
	})
	return errors.Join(err, failed)
}
