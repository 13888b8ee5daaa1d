// Package listen serves the ports that boxes have on their loopback. It stands
// apart from package sandbox, which knows nothing of networks: a program that
// makes boxes can begin with one before the packages for networks are ready.
package listen

import (
	"io"
	"net"
	"os"
)

// Func answers what comes from a box; it is a sandbox.Server. It is called once,
// in a goroutine of its own, with a listener whose connections come from inside
// the box, and ends when the box ends.
type Func func(net.Listener)

// ServeSocket has the function serve a listening socket, which it duplicates.
// Close ends that.
func (f Func) ServeSocket(socket *os.File) (io.Closer, error) {
	l, err := net.FileListener(socket)
	if err != nil {
		return nil, err
	}
	go f(l)
	return l, nil
}
