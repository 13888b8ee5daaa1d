package contract

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"kintsugi/sandbox"
)

func wall(t *trial) {
	spec := sh("trap '' TERM INT HUP; (setsid sleep 100 &); sleep 100")
	spec.Limits.Wall = 300 * time.Millisecond
	o := t.run(spec)
	if o.Limit != sandbox.LimitWall || o.ExitCode != 137 || o.Duration < 200*time.Millisecond || o.Duration > 4*time.Second {
		t.Fatalf("got %+v", o.Result)
	}
}

func memory(t *trial) {
	// The command at the end keeps the shells, which would become sleep otherwise.
	spec := sh(`for i in 1 2 3 4 5 6; do sh -c 'x=$(head -c 20000000 /dev/zero | tr "\0" x); sleep 5; true' & all="$all $!"; done; for p in $all; do wait $p || exit; done`)
	spec.Limits = sandbox.Limits{Memory: 64 << 20, Wall: 60 * time.Second}
	o := t.run(spec)
	if o.Limit != sandbox.LimitMemory || o.Mechanism == "" || o.Usage.Memory < 32<<20 {
		t.Fatalf("got %+v %q %q", o.Result, o.out, o.err)
	}
	t.wants(sh("echo the next box is fine"), "the next box is fine\n")
}

func processes(t *trial) {
	// The shell that cannot fork any more gives up; the other one stays, for
	// those who only look from time to time.
	spec := sh("(for i in $(seq 100); do sleep 2 & done); i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 1")
	spec.Limits = sandbox.Limits{Processes: 20, Wall: 60 * time.Second}
	o := t.run(spec)
	if o.Limit != sandbox.LimitProcesses || o.Mechanism == "" || !strings.Contains(strings.ToLower(o.err), "fork") {
		t.Fatalf("got %+v %q", o.Result, o.err)
	}
}

func output(t *trial) {
	spec := sh("(setsid sleep 100 &) ; yes")
	spec.Limits.Output = 100_000
	o := t.run(spec)
	if o.Limit != sandbox.LimitOutput || len(o.out) != 100_000 || o.OutputDropped == 0 || o.Duration > 5*time.Second {
		t.Fatalf("got %+v, %d bytes", o.Result, len(o.out))
	}
}

func disk(t *trial) {
	spec := sh("dd if=/dev/zero of=/tmp/x bs=1M count=100")
	spec.Limits = sandbox.Limits{Disk: 8 << 20}
	if o := t.run(spec); o.ExitCode == 0 || !strings.Contains(o.err, "No space left") {
		t.Fatalf("got %+v %.300q", o.Result, o.err)
	}
}

func inodes(t *trial) {
	spec := sh("cd /tmp; seq 1000 | xargs touch")
	spec.Limits = sandbox.Limits{Inodes: 500}
	if o := t.run(spec); o.ExitCode == 0 || !strings.Contains(o.err, "No space left") {
		t.Fatalf("got %+v %.300q", o.Result, o.err)
	}
}

func fileSize(t *trial) {
	spec := sandbox.Spec{Argv: []string{"dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=100"}}
	spec.Limits.FileSize = 1 << 20
	if o := t.run(spec); o.Limit != sandbox.LimitFileSize {
		t.Fatalf("got %+v %q", o.Result, o.err)
	}
}

func kill(t *trial) {
	ready := make(signal, 1)
	spec := sh("(setsid sh -c 'sleep 100 | sleep 100' &); echo ready; sleep 100")
	spec.Stdout = ready
	b := t.start(spec)
	<-ready
	b.Kill()
	b.Kill()
	if result, err := b.Wait(); err != nil || result.Limit != sandbox.LimitCancelled || result.ExitCode != 137 {
		t.Fatalf("got %+v, %v", result, err)
	}
	b.Kill()
}

func cancelled(t *trial) {
	ready := make(signal, 1)
	spec := sh("echo ready; sleep 100")
	spec.Stdout, spec.Env = ready, sandbox.BaseEnv(os.Environ())
	ctx, cancel := context.WithCancel(context.Background())
	b, err := t.rt.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	<-ready
	cancel()
	if result, err := b.Wait(); err != nil || result.Limit != sandbox.LimitCancelled {
		t.Fatalf("got %+v, %v", result, err)
	}
	if _, err := t.rt.Start(ctx, spec); err == nil {
		t.Fatal("a cancelled context starts a box")
	}
}

func daemons(t *trial) {
	began := time.Now()
	t.wants(sh("(setsid sleep 100 &); (nohup sleep 100 >/dev/null 2>&1 &); echo done"), "done\n")
	if took := time.Since(began); took > t.subject.Patience+4*time.Second {
		t.Fatalf("over after %v", took)
	}
}

func manyAtOnce(t *trial) {
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			var out bytes.Buffer
			spec := sandbox.Spec{Argv: []string{"echo", fmt.Sprint(i)}, Stdout: &out, Env: sandbox.BaseEnv(os.Environ())}
			b, err := t.rt.Start(context.Background(), spec)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := b.Wait(); err != nil || out.String() != fmt.Sprintln(i) {
				t.Errorf("box %d: %v %q", i, err, out.String())
			}
		})
	}
	group.Wait()
}

func usage(t *trial) {
	ready := make(signal, 1)
	spec := sh(`x=$(head -c 20000000 /dev/zero | tr "\0" x); sleep 100 & sleep 100 & echo; wait`)
	spec.Stdout = ready
	b := t.start(spec)
	<-ready
	u := b.Usage()
	b.Kill()
	if _, err := b.Wait(); err != nil {
		t.Fatal(err)
	}
	if u.Processes < 3 || u.Processes > 20 || u.Memory < 20_000_000 {
		t.Fatalf("got %+v", u)
	}
}
