package probe

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fast is how long a refused connection may take: a program in a box must
// learn at once that there is no network.
const fast = 100 * time.Millisecond

// dial wants a connection to fail, and to fail at once.
func dial(network, address string) Verdict {
	started := time.Now()
	c, err := net.DialTimeout(network, address, 2*time.Second)
	took := time.Since(started)
	if err == nil && strings.HasPrefix(network, "udp") {
		_, err = c.Write([]byte("kintsugi"))
	}
	if c != nil {
		defer c.Close()
	}
	switch {
	case err == nil:
		return Breachf("%s %s answers", network, address)
	case took > fast:
		return Breachf("%s %s failed only after %d ms", network, address, took.Milliseconds())
	}
	return Heldf("%s %s", network, short(err))
}

// noNetwork tries every way to an address outside; the addresses are ones
// that documentation reserves.
func noNetwork(Args) Verdict {
	return Worst(dial("tcp", "192.0.2.1:80"), dial("tcp", "[2001:db8::1]:443"), dial("udp", "192.0.2.1:53"),
		dial("udp", "[2001:db8::1]:53"), ping(), interfaces(), noNames("example.test", "example.com"))
}

// ping wants no way to send an echo request.
func ping() Verdict {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
	if err != nil {
		return Heldf("ping %s", short(err))
	}
	defer unix.Close(fd)
	echo := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}
	err = unix.Sendto(fd, echo, 0, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}})
	if err == nil {
		return Breachf("an echo request was sent")
	}
	return Heldf("ping %s", short(err))
}

// interfaces wants loopback and nothing else.
func interfaces() Verdict {
	all, err := net.Interfaces()
	if err != nil {
		return Heldf("interfaces: %s", short(err))
	}
	for _, i := range all {
		addresses, _ := i.Addrs()
		if i.Flags&net.FlagLoopback == 0 && (i.Flags&net.FlagUp != 0 || len(addresses) > 0) {
			return Breachf("interface %s is up", i.Name)
		}
	}
	return Heldf("only loopback")
}

// noNames wants names not to resolve, and to fail at once.
func noNames(names ...string) Verdict {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	for _, name := range names {
		started := time.Now()
		found, err := (&net.Resolver{PreferGo: true}).LookupHost(ctx, name)
		if err == nil {
			return Breachf("%s resolves to %s", name, found[0])
		}
		if took := time.Since(started); took > 5*fast {
			return Breachf("%s failed to resolve only after %d ms", name, took.Milliseconds())
		}
	}
	return Heldf("names do not resolve")
}

// metadata tries the addresses under which clouds hand out credentials.
func metadata(Args) Verdict {
	return Worst(dial("tcp", "169.254.169.254:80"), dial("tcp", "[fd00:ec2::254]:80"),
		dial("tcp", "100.100.100.200:80"), dial("tcp", "169.254.170.2:80"), dial("tcp", "168.63.129.16:80"),
		dial("tcp", "192.0.0.192:80"), noNames("metadata.google.internal", "instance-data"))
}

// hostServices tries the host's own addresses, at a port where it listens.
func hostServices(a Args) Verdict {
	all := []Verdict{noNames("host.docker.internal", "host.containers.internal", "gateway.docker.internal")}
	for _, ip := range append(a.List("addresses"), "127.0.0.1", "::1", "10.0.2.2", "10.0.2.3", "172.17.0.1", "0.0.0.0") {
		all = append(all, dial("tcp", net.JoinHostPort(ip, a.Text("port"))))
	}
	return Worst(all...)
}

// hostSockets tries sockets that are names: the planted ones, and every
// pathname socket in the usual places.
func hostSockets(a Args) Verdict {
	all := []Verdict{dial("unix", "@"+a.Text("abstract"))}
	for _, path := range a.List("paths") {
		all = append(all, dial("unix", path))
	}
	for _, path := range socketsBelow("/tmp", "/run", "/var/run", "/dev/shm", "/var/tmp") {
		all = append(all, Breachf("a socket of the host: %s", path))
	}
	return Worst(all...)
}

func socketsBelow(dirs ...string) []string {
	var out []string
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type()&os.ModeSocket != 0 {
				out = append(out, path)
			}
			return nil
		})
	}
	return out
}

// nameLeak tries to tell a name server something.
func nameLeak(a Args) Verdict {
	all := []Verdict{noNames(a.Text("secret") + ".example.test")}
	b, _ := os.ReadFile("/etc/resolv.conf")
	for _, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "nameserver" && !strings.HasPrefix(f[1], "127.") && f[1] != "::1" {
			all = append(all, dial("udp", net.JoinHostPort(f[1], "53")))
		}
	}
	for _, server := range a.List("servers") {
		all = append(all, dial("udp", net.JoinHostPort(server, "53")), dial("tcp", net.JoinHostPort(server, "53")))
	}
	return Worst(all...)
}
