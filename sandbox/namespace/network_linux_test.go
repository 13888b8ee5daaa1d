package namespace

import (
	"encoding/binary"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	probes["network, seen"] = seeNetwork
	probes["network, unused"] = func() string { return "ok" }
	probes["network, abstract socket"] = func() string { return errorText(bind("unix", "@kintsugi-test")) }
	probes["network, a port"] = func() string { return errorText(bind("tcp", "127.0.0.1:4711")) }
	probes["network, datagram"] = func() string { return errorText(sendTo("udp", "127.0.0.1:9")) }
	probes["network, IPv6 datagram"] = func() string { return errorText(sendTo("udp", "[::1]:9")) }
	probes["network, connection"] = connectToSelf
	probes["network, no way"] = func() string {
		if sendTo("udp", "192.0.2.1:9") == nil {
			return "there is a way out"
		}
		return "ok"
	}
	probes["network, flow label"] = flowLabel
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ok"
}

func bind(network, address string) error {
	_, err := net.Listen(network, address)
	return err
}

func sendTo(network, address string) error {
	c, err := net.Dial(network, address)
	if err == nil {
		_, err = c.Write([]byte("x"))
	}
	return err
}

// connectToSelf leaves a connection that the kernel remembers for a minute.
func connectToSelf() string {
	l, err := net.Listen("tcp", "127.0.0.1:4711")
	if err != nil {
		return err.Error()
	}
	c, err := net.Dial("tcp", "127.0.0.1:4711")
	if err != nil {
		return err.Error()
	}
	c.Close()
	if c, err = l.Accept(); err != nil {
		return err.Error()
	}
	return errorText(c.Close())
}

// ipv6FlowLabelMgr is IPV6_FLOWLABEL_MGR of linux/in6.h.
const ipv6FlowLabelMgr = 32

// flowLabel leaves a label that outlasts its socket.
func flowLabel() string {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err.Error()
	}
	request := make([]byte, 32) // struct in6_flowlabel_req
	request[15] = 1             // ::1
	request[21] = 255           // shared with everybody
	binary.NativeEndian.PutUint16(request[22:], 1)
	binary.NativeEndian.PutUint16(request[26:], 60)
	return errorText(unix.SetsockoptString(fd, unix.IPPROTO_IPV6, ipv6FlowLabelMgr, string(request)))
}

// seeNetwork says which network this is and what it tells of its past.
func seeNetwork() string {
	out, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err.Error()
	}
	for _, name := range []string{"dev", "snmp", "snmp6", "netstat", "sockstat6", "ip6_flowlabel", "tcp", "udp", "unix"} {
		text, err := os.ReadFile("/proc/net/" + name)
		if err != nil {
			return err.Error()
		}
		out += "\n" + string(text)
	}
	return out
}

// TestNetworkIsAsNew looks at the network of a box after another one of the
// same slot did something with its own.
func TestNetworkIsAsNew(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	next := func(name string) string {
		r.open.Load().apart.settle()
		return probe(t, r, "network, "+name)
	}
	probe(t, r, "network, unused")
	number, fresh, _ := strings.Cut(next("seen"), "\n")
	for _, c := range []struct {
		name string
		kept bool
	}{
		{"unused", true}, {"abstract socket", true}, {"a port", true}, {"datagram", false}, {"unused", true}, {"IPv6 datagram", false},
		{"connection", false}, {"no way", false}, {"flow label", false},
	} {
		if got := next(c.name); got != "ok" {
			t.Fatalf("%s: %s", c.name, got)
		}
		now, seen, _ := strings.Cut(next("seen"), "\n")
		if seen != fresh {
			t.Errorf("after %s, the next box sees\n%s\nwant\n%s", c.name, seen, fresh)
		}
		if kept := now == number; kept != c.kept {
			t.Errorf("after %s, the network was kept: %v, want %v", c.name, kept, c.kept)
		}
		number = now
	}
}
