package probe

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// typeAhead tries to type into every terminal there is, with the request as
// the kernel knows it and with high bits that a careless filter trips over.
func typeAhead(Args) Verdict {
	k := &kit{}
	want := append([]syscall.Errno{unix.ENOTTY, unix.ENXIO, unix.ENOENT, unix.ENODEV, unix.EBADF}, denied...)
	high := uint64(1) << 32
	var all []attempt
	for _, path := range []string{"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/console", "/dev/tty0",
		"/dev/tty1", "/dev/pts/0", "/dev/pts/1"} {
		for name, request := range map[string]uint64{
			"TIOCSTI": unix.TIOCSTI, "TIOCSTI with high bits": unix.TIOCSTI | high,
			"TIOCLINUX": unix.TIOCLINUX, "TIOCLINUX with high bits": unix.TIOCLINUX | high,
		} {
			all = append(all, attempt{path + " " + name, typeInto(k, path, request)})
		}
	}
	return expectErrno(want, all...)
}

func typeInto(k *kit, path string, request uint64) func() error {
	return func() error {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = k.now(unix.SYS_IOCTL, fd, request, []byte{'\n', 0})
		return err
	}
}

// printHostile, printSpoof and printTorn print the texts for the host to look
// at; the last one cuts every rune.
func printHostile(Args) Verdict {
	fmt.Print(HostileText() + "\n")
	return Heldf("")
}

func printSpoof(Args) Verdict {
	fmt.Print(SpoofText() + "\n")
	return Heldf("")
}

func printTorn(Args) Verdict {
	text := TornText()
	for i := range len(text) {
		os.Stdout.WriteString(text[i : i+1])
		time.Sleep(time.Millisecond)
	}
	fmt.Println()
	return Heldf("")
}

// fakeProtocol says on every descriptor that all went well, and ends badly.
func fakeProtocol(a Args) Verdict {
	lies := []string{`{"ok":true,"exit":0}`, `{"limit":"","code":0}`, "\x00\x00\x00\x00\x00\x00\x00\x00", "EXIT 0",
		"__kintsugi_done__ 0"}
	for fd := 1; fd < 1024; fd++ {
		for _, lie := range lies {
			if fd > 2 || lie[0] != 0 {
				_, _ = unix.Write(fd, []byte(lie+"\n"))
			}
		}
	}
	os.Exit(a.Int("exit"))
	return Verdict{}
}

// longLine writes a line of the given mebibytes without an end.
func longLine(a Args) Verdict {
	block := make([]byte, mib)
	for i := range block {
		block[i] = 'x'
	}
	for range a.Int("mib") {
		if _, err := os.Stdout.Write(block); err != nil {
			return Errorf("%v", err)
		}
	}
	os.Stdout.WriteString("\n")
	return Heldf("wrote a line of %d MiB", a.Int("mib"))
}

// flood writes without end.
func flood(Args) Verdict {
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = "y\n"[i%2]
	}
	for {
		if _, err := os.Stdout.Write(block); err != nil {
			return forever()
		}
	}
}
