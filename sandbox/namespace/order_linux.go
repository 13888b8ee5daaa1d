package namespace

import (
	"errors"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/namespace/launch"
)

// A warm box's order arrives as one message of the status channel: a block of
// operations, and descriptors. It lies in memory at fixed addresses.
const (
	orderControl = 0x28000000               // descriptors, as the kernel writes them
	orderBase    = orderControl + orderPage // the block
	orderPage    = 64 << 10                 // the largest page size
	maxOrder     = 192 << 10                // bytes of a block; sockets carry a little more
	maxHandles   = 200                      // descriptors; the kernel passes 253
	controlSize  = 16 + 4*maxHandles        // struct cmsghdr and descriptors
)

// arrived is the descriptor that came with an order, counted from 0.
func arrived(n int) launch.Cell {
	return launch.Cell(launch.At(orderControl + 16 + 4*uint32(n)))
}

// receive waits for the order and goes on with it.
func (p *plan) receive() {
	p.Note("waiting for an order")
	p.Call(unix.SYS_MMAP, launch.At(orderControl), orderPage+maxOrder, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, -1, 0)
	polled := p.Zero(16)
	for i, fd := range []uint32{fdLife, fdStatus} {
		p.PutWord(polled+launch.Addr(8*i), fd)
		p.PutWord(polled+launch.Addr(8*i+4), unix.POLLIN)
	}
	header := p.Zero(56) // struct msghdr
	vector := p.Zero(16)
	p.Point(vector, launch.At(orderBase))
	p.PutWord(vector+8, maxOrder)
	p.Point(header+16, vector)
	p.PutWord(header+24, 1)
	p.Point(header+32, launch.At(orderControl))
	p.PutWord(header+40, controlSize)
	p.send(p.report(reportReady), 8)

	loop, alive, gone := p.Label(), p.Label(), p.Label()
	p.Bind(loop)
	p.CallOr(loop, unix.SYS_PPOLL, polled, 2, 0, 0, 8)
	p.JumpIf(launch.Cell(polled+4), happened, 0, alive)
	p.Jump(gone)
	p.Bind(alive)
	p.JumpIf(launch.Cell(polled+12), happened, 0, loop)
	n := p.CallOr(gone, unix.SYS_RECVMSG, fdStatus, header, unix.MSG_CMSG_CLOEXEC)
	p.JumpIf(n, -1, 0, gone)
	p.Enter(orderBase)
	p.Bind(gone)
	p.Call(unix.SYS_EXIT_GROUP, 0)
}

// errTooLong is the error for an order that does not fit into a message.
var errTooLong = errors.New("the order is too long for a warm box")

// order sends a warm box its program and descriptors.
func (c *cradle) order(p *launch.Program, fds []int) error {
	block, err := p.Link(orderBase)
	if err != nil {
		return err
	}
	if len(block.Bytes) > maxOrder || len(fds) > maxHandles {
		return errTooLong
	}
	raw, err := c.status.ours.SyscallConn()
	if err != nil {
		return err
	}
	rights := unix.UnixRights(fds...)
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		failed = unix.Sendmsg(int(fd), block.Bytes, rights, nil, unix.MSG_NOSIGNAL)
		return !errors.Is(failed, unix.EAGAIN)
	})
	c.program, c.base = p, orderBase
	return errors.Join(err, failed)
}
