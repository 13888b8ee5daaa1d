package abuse

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
)

// inBox is where a box sees this program.
const inBox = "/kintsugi-probe"

// grace is how long a box may take to end after its wall clock ran out.
const grace = 2 * time.Second

// small are the limits of a trial unless its plan says otherwise.
var small = sandbox.Limits{
	Wall: 6 * time.Second, CPU: 20 * time.Second, CPUs: -1, Memory: 256 << 20, Processes: 64, OpenFiles: 256,
	FileSize: 256 << 20, Disk: 128 << 20, Inodes: 4000, Output: 1 << 20,
}

// plan is the host's half of a case.
type plan struct {
	// probe is the name of the half in the box; empty: the plan's own name.
	probe string
	// alone: it strains or watches the machine, so nothing runs beside it.
	// last: it looks at what all others left.
	alone, last bool
	// limits replace the small ones, field by field.
	limits sandbox.Limits
	// setup plants things and changes the spec.
	setup func(*trial) error
	// during looks at the host while the probe holds what it took.
	during func(*trial) probe.Verdict
	// judge has the last word; nil takes the probe's.
	judge func(*trial) probe.Verdict
	// mayRefuse: an error instead of a box is as good as a box that holds.
	mayRefuse bool
	// whole replaces all of the above.
	whole func(*trial) probe.Verdict
}

// trial is one case being tried.
type trial struct {
	*runner
	ctx    context.Context
	c      Case
	plan   plan
	token  string // on the command line of every process of the trial
	dir    string // scratch on the host: project, upper, work
	spec   sandbox.Spec
	params []string

	out     *capture
	release func()
	res     sandbox.Result
	took    time.Duration // from the program's start until everything was over
	undo    []func()
	hidden  string       // the planted secret
	planted []string     // the files that hold it
	said    bytes.Buffer // by another workbench
	kept    any          // whatever a plan remembers between its steps
}

func runID() string { return "kt" + strings.ToLower(rand.Text()[:8]) }

func (r *runner) try(ctx context.Context, c Case) (v probe.Verdict, err error) {
	p, known := plans()[c.Probe]
	if !known {
		p = plan{}
	}
	if p.probe == "" {
		p.probe = c.Probe
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	t := &trial{runner: r, ctx: ctx, c: c, plan: p, token: fmt.Sprintf("%s-%d-", r.id, c.Number)}
	defer t.cleanUp()
	if err := t.arrange(); err != nil {
		return v, err
	}
	if p.whole != nil {
		v = p.whole(t)
	} else {
		v = t.run()
	}
	return worst(v, t.nothingLeft()), t.ctx.Err()
}

// firstBox makes a box in which a probe does nothing: where that fails nothing
// can be tried.
func (r *runner) firstBox(ctx context.Context) error {
	t := &trial{runner: r, ctx: ctx, plan: plan{probe: "nap"}, token: r.id + "-0-"}
	defer t.cleanUp()
	if err := t.arrange(); err != nil {
		return err
	}
	t.spec.Argv = t.argv()
	box, err := r.rt.Start(ctx, t.spec)
	if err != nil {
		return fmt.Errorf("no box can be made: %w", err)
	}
	if t.res, err = box.Wait(); err != nil {
		return err
	}
	if _, said := t.out.verdict(); !said {
		return fmt.Errorf("this program does not run in a box (%s: %s); a build without cgo runs in every image", t.ending(), strings.TrimSpace(t.out.text()))
	}
	return nil
}

// arrange makes the project and the spec, then lets the plan change them.
func (t *trial) arrange() error {
	dir, err := os.MkdirTemp(t.opts.Scratch, "kintsugi-abuse-")
	if err != nil {
		return err
	}
	t.dir = dir
	t.undo = append(t.undo, func() { removeAll(dir) })
	for _, name := range []string{"project", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(t.project("original"), []byte("original"), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	t.out = newCapture()
	t.spec = t.newSpec()
	if t.plan.setup != nil {
		return t.plan.setup(t)
	}
	return nil
}

// project is a path in the project on the host, which is the path in the box.
func (t *trial) project(name string) string { return filepath.Join(t.dir, "project", name) }

// upper is where a change of the project's file name lands.
func (t *trial) upper(name string) string { return filepath.Join(t.dir, "upper", name) }

func (t *trial) newSpec() sandbox.Spec {
	return sandbox.Spec{
		Env:    sandbox.BaseEnv(os.Environ(), raceEnv()...),
		Dir:    t.project(""),
		Stdout: t.out,
		Stderr: t.out,
		Workspace: sandbox.Workspace{
			Path: filepath.Clean(t.project("")), Upper: filepath.Clean(t.upper("")), Work: filepath.Join(t.dir, "work"),
		},
		Mounts:     []sandbox.Mount{{Source: t.opts.Exe, Target: inBox}},
		Limits:     merge(t.plan.limits, small),
		BestEffort: true,
	}
}

// raceEnv passes on how a probe that was built with the race detector behaves.
func raceEnv() []string {
	if v, set := os.LookupEnv("GORACE"); set {
		return []string{"GORACE=" + v}
	}
	return nil
}

// merge fills the zero fields of l from base.
func merge(l, base sandbox.Limits) sandbox.Limits {
	or(&l.Wall, base.Wall)
	or(&l.CPU, base.CPU)
	or(&l.CPUs, base.CPUs)
	or(&l.Memory, base.Memory)
	or(&l.Processes, base.Processes)
	or(&l.OpenFiles, base.OpenFiles)
	or(&l.FileSize, base.FileSize)
	or(&l.Disk, base.Disk)
	or(&l.Inodes, base.Inodes)
	or(&l.Output, base.Output)
	return l
}

func or[T comparable](field *T, other T) {
	var zero T
	if *field == zero {
		*field = other
	}
}

// param gives the probe a parameter.
func (t *trial) param(key string, value any) {
	t.params = append(t.params, fmt.Sprintf("%s=%v", key, value))
}

func (t *trial) argv() []string {
	argv := append([]string{inBox}, t.opts.Lead...)
	if name := t.rt.Name(); name == "docker" || name == "podman" {
		t.param("engine", name)
	}
	return append(append(argv, t.plan.probe, t.token), t.params...)
}

// run makes one box and comes back when everything of it is over.
func (t *trial) run() probe.Verdict {
	t.spec.Argv = t.argv()
	t.holdStdin()
	defer t.release()
	began := time.Now()
	box, err := t.rt.Start(t.ctx, t.spec)
	if err != nil && t.plan.mayRefuse {
		return worst(probe.Heldf("refused: %v", err), t.judge())
	}
	if err != nil {
		return probe.Errorf("start: %v", err)
	}
	seen := t.watch(box)
	late := t.wait(box, t.spec.Limits.Wall+grace)
	t.took = time.Since(began) - t.res.Started
	return worst(<-seen, late, t.judge())
}

// holdStdin keeps standard input open for probes that hold something while
// the host looks.
func (t *trial) holdStdin() {
	t.release = func() {}
	if t.plan.during == nil || t.spec.Stdin != nil {
		return
	}
	r, w := io.Pipe()
	t.spec.Stdin = r
	t.release = func() { w.Close() }
}

// watch looks at the host once the probe is ready, if the plan wants that.
func (t *trial) watch(box sandbox.Box) <-chan probe.Verdict {
	seen := make(chan probe.Verdict, 1)
	if t.plan.during == nil {
		seen <- probe.Heldf("")
		return seen
	}
	go func() {
		defer t.release()
		select {
		case <-t.out.ready:
			seen <- t.plan.during(t)
		case <-gone(box):
			seen <- probe.Heldf("")
		}
	}()
	return seen
}

// gone is closed when the box has ended.
func gone(box sandbox.Box) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = box.Wait()
	}()
	return done
}

// wait waits for the box, but not longer than it may take.
func (t *trial) wait(box sandbox.Box, most time.Duration) probe.Verdict {
	select {
	case <-gone(box):
	case <-time.After(most):
		box.Kill()
		select {
		case <-gone(box):
			return probe.Breachf("still alive %v after it should have ended", grace)
		case <-time.After(grace):
			return probe.Breachf("cannot be killed")
		}
	}
	var err error
	if t.res, err = box.Wait(); err != nil {
		return probe.Errorf("wait: %v", err)
	}
	return probe.Heldf("")
}

func (t *trial) judge() probe.Verdict {
	if t.plan.judge != nil {
		return t.plan.judge(t)
	}
	return t.inside()
}

// inside is what the probe said. One that said nothing could not find out.
func (t *trial) inside() probe.Verdict {
	if v, ok := t.out.verdict(); ok {
		return v
	}
	return probe.Errorf("the probe said nothing: %s; it wrote %.300q", t.ending(), t.out.text())
}

// ending puts the result into words.
func (t *trial) ending() string {
	s := "exit " + strconv.Itoa(t.res.ExitCode)
	if t.res.Signal != "" {
		s = t.res.Signal
	}
	if t.res.Limit != sandbox.LimitNone {
		s += ", limit " + string(t.res.Limit) + " (" + t.res.Mechanism + ")"
	}
	return s
}

func (t *trial) cleanUp() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		t.undo[i]()
	}
}

// nothingLeft wants no process of the trial to be alive.
func (t *trial) nothingLeft() probe.Verdict {
	if left := awaitNone(t.token, time.Second); len(left) > 0 {
		return probe.Breachf("left alive: processes %v", left)
	}
	return probe.Heldf("")
}

// worst merges verdicts as the probes do.
func worst(all ...probe.Verdict) probe.Verdict { return probe.Worst(all...) }

// removeAll removes a tree, also when its directories forbid it.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
