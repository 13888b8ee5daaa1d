package namespace

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// networkTraces are the files of /proc/PID/net that tell whether anything
// happened in a network whose only interface is a loopback: snmp and snmp6
// count every packet and what was refused or had no way to go, sockstat the
// sockets that are left, and a flow label may stay after its socket.
var networkTraces = []string{"snmp", "snmp6", "ip6_flowlabel", "sockstat"}

// traces returns what the maker's network says of its past, or nothing when it
// cannot be read. Who enters a network that says the same as a new one finds no
// socket, connection, address or packet of those who were there before.
func (m *maker) traces() string {
	all := make([]byte, 0, 16<<10)
	for _, name := range networkTraces {
		var err error
		if all, err = appendFile(all, fmt.Sprintf("/proc/%d/net/%s", m.pid, name)); err != nil && !errors.Is(err, unix.ENOENT) {
			return ""
		}
	}
	// What follows the first line of sockstat counts the machine's memory for
	// sockets, and sockets that the first line has.
	at := bytes.LastIndex(all, []byte("sockets: used"))
	line, _, found := bytes.Cut(all[max(at, 0):], []byte("\n"))
	if at < 0 || !found {
		return ""
	}
	return string(all[:at+len(line)])
}

// appendFile reads a file of /proc in as few calls as can be: it is done after
// every box.
func appendFile(to []byte, path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return to, err
	}
	defer unix.Close(fd)
	for {
		to = append(to, make([]byte, 8<<10)...)
		n, err := unix.Read(fd, to[len(to)-8<<10:])
		to = to[:len(to)-8<<10+max(n, 0)]
		if n <= 0 {
			return to, err
		}
	}
}

// renew gives a slot's maker a new network if its last box did something in the
// one it has. Making one is a fifth of the kernel's work for a box, and most
// programs send nothing. A maker that does not take one makes no more boxes.
// What a new one looks like is learned when a slot is used for the second time:
// a process that makes one box shall not wait for that.
func (s *slots) renew(used *slot) {
	m, fresh := used.maker, s.fresh.Load()
	if m.network != sandbox.NetworkNone {
		return
	}
	if fresh == nil || s.ending.Load() {
		m.doubtful = true
		return
	}
	if m.traces() != *fresh && m.takeNetwork() != nil {
		used.spent = true
	}
}

// learn gives a maker a new network and notes what it looks like, if that could
// not be told when its last box ended.
func (s *slots) learn(m *maker) error {
	if !m.doubtful {
		return nil
	}
	if err := m.takeNetwork(); err != nil {
		return err
	}
	if now := m.traces(); now != "" {
		s.fresh.CompareAndSwap(nil, &now)
	}
	m.doubtful = false
	return nil
}

// networkTime is how long a maker may take for a new network.
const networkTime = 10 * time.Second

// takeNetwork has the maker leave its network for a new one.
func (m *maker) takeNetwork() error {
	p := newPlan(nil, sandbox.Limits{}, nil)
	p.ownNetwork()
	p.send(p.report(reportReady), 8)
	p.Enter(m.back)
	if err := m.control.ours.SetDeadline(time.Now().Add(networkTime)); err != nil {
		return err
	}
	if _, err := sendOrder(m.control.ours, orderControl, p.end(), nil); err != nil {
		return err
	}
	if err := (&cradle{status: m.control}).step(); err != nil {
		return err
	}
	return m.control.ours.SetDeadline(time.Time{})
}

// ownNetwork makes a network with a loopback interface and no other.
func (p *plan) ownNetwork() {
	p.Note("making a network of the box's own")
	p.Call(unix.SYS_UNSHARE, unix.CLONE_NEWNET)
	p.loopback()
}
