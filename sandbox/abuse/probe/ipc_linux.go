package probe

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sysvShm looks for the host's segment by its key and leaves one behind whose
// size the host knows.
func sysvShm(a Args) Verdict {
	k := &kit{}
	seen := expectErrno([]syscall.Errno{unix.ENOENT, unix.ENOSYS, unix.EPERM},
		attempt{"shmget of the host's key", k.try(unix.SYS_SHMGET, a.Int("key"), 0, 0)})
	_, err := k.now(unix.SYS_SHMGET, 0, a.Int("size"), 0o600|0o1000 /* IPC_CREAT */)
	return Worst(seen, Heldf("own segment: %s", short(err)))
}

// posixMQ looks for the host's queue and fills the quota of queues.
func posixMQ(a Args) Verdict {
	k := &kit{}
	seen := expectErrno([]syscall.Errno{unix.ENOENT, unix.ENOSYS, unix.EPERM, unix.EACCES},
		attempt{"mq_open of the host's queue", k.try(unix.SYS_MQ_OPEN, a.Text("name"), unix.O_RDWR, 0, 0)})
	n, err := makeQueues(k, a.Token, a.Int("most"))
	hold()
	if err == nil {
		return Breachf("%d queues and no limit met", n)
	}
	return Worst(seen, Heldf("%d queues, then %s", n, short(err)))
}

func makeQueues(k *kit, token string, most int) (int, error) {
	attr := make([]byte, 64)
	attr[8], attr[17] = 10, 0x20 // ten messages of 8192 bytes
	for n := range most {
		name := token + string(rune('A'+n%26)) + string(rune('A'+n/26%26)) + string(rune('A'+n/676%26))
		if _, err := k.now(unix.SYS_MQ_OPEN, name, unix.O_RDWR|unix.O_CREAT, 0o600, attr); err != nil {
			return n, err
		}
	}
	return most, nil
}

// keyring asks for the kernel's key store, which is not name-spaced by box.
func keyring(Args) Verdict {
	k := &kit{}
	return expectErrno([]syscall.Errno{unix.EPERM, unix.ENOSYS, unix.EACCES},
		attempt{"add_key", k.try(unix.SYS_ADD_KEY, "user", "kintsugi", "x", 1, -3)},
		attempt{"keyctl", k.try(unix.SYS_KEYCTL, 0, -3, 1)},
		attempt{"request_key", k.try(unix.SYS_REQUEST_KEY, "user", "kintsugi", 0, -3)},
	)
}

// realtime asks for more of the processor than others get.
func realtime(Args) Verdict {
	k := &kit{}
	deadline := make([]byte, 48)
	deadline[0], deadline[4] = 48, 6 // its size, SCHED_DEADLINE
	for i, d := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond} {
		binary.LittleEndian.PutUint64(deadline[24+8*i:], uint64(d))
	}
	priority := []byte{1, 0, 0, 0}
	return expectErrno([]syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS},
		attempt{"nice -20", k.tryInChild(unix.SYS_SETPRIORITY, 0, 0, -20)},
		attempt{"SCHED_FIFO", k.tryInChild(unix.SYS_SCHED_SETSCHEDULER, 0, 1, priority)},
		attempt{"SCHED_RR", k.tryInChild(unix.SYS_SCHED_SETSCHEDULER, 0, 2, priority)},
		attempt{"SCHED_DEADLINE", k.tryInChild(unix.SYS_SCHED_SETATTR, 0, deadline, 0)},
		attempt{"real-time input and output", k.tryInChild(unix.SYS_IOPRIO_SET, 1, 0, 1<<13)},
	)
}

// pendingSignals makes timers, which count as pending signals of the user,
// and holds them.
func pendingSignals(a Args) Verdict {
	k := &kit{}
	id := make([]byte, 8)
	var err error
	n := 0
	for n < a.Int("most") {
		if _, err = k.now(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, id); err != nil {
			break
		}
		n++
	}
	hold()
	if err == nil {
		return Breachf("%d timers and no limit met", n)
	}
	return Heldf("%d timers, then %s", n, short(err))
}

// drip writes a byte a millisecond, for ever.
func drip(Args) Verdict {
	for {
		if _, err := unix.Write(1, []byte(".")); errors.Is(err, unix.EPIPE) {
			return Errorf("standard output is gone")
		}
		time.Sleep(time.Millisecond)
	}
}
