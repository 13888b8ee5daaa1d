package probe

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
)

// networkPast wants a network in which nobody did anything, and then leaves
// traces of all kinds in it for the next box: a connection that the kernel
// remembers, a datagram that nobody takes, one that has no way to go, names.
func networkPast(Args) Verdict {
	past := Worst(noSockets(), noTraffic())
	for _, err := range []error{talkToSelf(), send("127.0.0.1:9"), listenTo("unix", "@kintsugi-past"), listenTo("tcp", "127.0.0.1:7795")} {
		if err != nil {
			return Worst(past, Errorf("%v", err))
		}
	}
	_ = send("192.0.2.1:9") // no way leads there
	return past
}

// noSockets wants neither connections nor names.
func noSockets() Verdict {
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			continue // this system has no such sockets
		}
		if n := strings.Count(string(text), "\n"); n > 1 {
			return Breachf("%s: %d sockets are left", table, n-1)
		}
	}
	if text, _ := os.ReadFile("/proc/net/unix"); strings.Contains(string(text), "@kintsugi-past") {
		return Breachf("a name is left")
	}
	return Heldf("no sockets are left")
}

// traffic are the counters of /proc/net/snmp that a network begins with at 0.
var traffic = map[string][]string{
	"Ip:": {"InReceives", "OutRequests", "OutNoRoutes"}, "Tcp:": {"ActiveOpens", "PassiveOpens", "OutRsts"}, "Udp:": {"InDatagrams", "NoPorts", "OutDatagrams"},
}

// noTraffic wants the kernel to have counted nothing.
func noTraffic() Verdict {
	text, err := os.ReadFile("/proc/net/snmp")
	if err != nil {
		return Heldf("nothing is told of traffic")
	}
	names := map[string][]string{}
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || traffic[f[0]] == nil {
			continue
		}
		if names[f[0]] == nil {
			names[f[0]] = f
			continue
		}
		for i, name := range names[f[0]] {
			if i < len(f) && slices.Contains(traffic[f[0]], name) && f[i] != "0" {
				return Breachf("somebody was here before: %s %s %s", f[0], name, f[i])
			}
		}
	}
	return Heldf("no traffic is counted")
}

// talkToSelf makes a connection and ends it from the side that connected, which
// the kernel then remembers for a minute.
func talkToSelf() error {
	l, err := net.Listen("tcp", "127.0.0.1:7794")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	there, err := l.Accept()
	if err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	return there.Close()
}

func send(address string) error {
	c, err := net.Dial("udp", address)
	if err != nil {
		return fmt.Errorf("sending to %s: %w", address, err)
	}
	defer c.Close()
	_, err = c.Write([]byte("kintsugi"))
	return err
}

// listenTo leaves a listener open.
func listenTo(network, address string) error {
	_, err := net.Listen(network, address)
	return err
}
