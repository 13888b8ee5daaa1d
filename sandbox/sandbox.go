// Package sandbox runs one command in one throw-away box.
//
// A Runtime is an isolation technology (namespaces, Docker, …); all of them
// make boxes behind the same small interface and publish, for each promise,
// the mechanism that keeps it and how strong that mechanism is. A box lives
// for one attempt and is never reused.
//
// The package never decides what to run, never diagnoses a failure and never
// writes to the user's project: changes leave a box only as a directory (the
// upper layer of the workspace overlay) that somebody else may apply.
package sandbox

import (
	"context"
	"io"
	"os"
	"time"
)

// Runtime is an isolation technology that makes boxes.
type Runtime interface {
	// Name is the word users type after --runtime: "namespace", "docker", …
	Name() string
	// Probe finds out, by doing, whether boxes can be made here. It is cheap
	// enough for every start (a few milliseconds) and its answer is cached.
	Probe(ctx context.Context) Availability
	// Start makes a box and starts spec.Argv in it. An error means that no
	// process of the caller's ever ran.
	Start(ctx context.Context, spec Spec) (Box, error)
	// Reconcile removes what a killed Kintsugi left behind: processes, mounts,
	// control groups, temporary directories. It never touches a live box.
	Reconcile(ctx context.Context) (Reclaimed, error)
}

// Preparer is a Runtime that can begin to make a box before it is known what
// runs in it, so that the next Start takes less time. Every box is used once.
type Preparer interface {
	// Prepare returns at once; what goes wrong is told by the next Start. next,
	// when not nil, is what that is likely to ask for, whatever its command,
	// environment and streams will be: the more of it comes true, the sooner
	// the program runs.
	Prepare(next *Spec)
}

// Spreader is a Runtime that has several machines.
type Spreader interface {
	// Beside gives a runtime for work that goes on beside other work: another
	// machine, as far as there are any. It is not closed.
	Beside() Runtime
}

// Beside gives a runtime for work that goes on beside what else rt does: rt
// itself, unless it has several machines.
func Beside(rt Runtime) Runtime {
	if s, ok := rt.(Spreader); ok {
		return s.Beside()
	}
	return rt
}

// Rooted is a Runtime whose boxes see the programs of an image instead of this
// machine's.
type Rooted interface {
	// Root names what boxes see, down to its content; empty: this machine.
	Root() string
}

// RootOf names what the boxes of a runtime see; empty: this machine.
func RootOf(rt Runtime) string {
	if r, ok := rt.(Rooted); ok {
		return r.Root()
	}
	return ""
}

// Availability is the answer of a Probe.
type Availability struct {
	OK bool
	// Reason is one line: why the runtime, or a part of it, cannot be used here.
	Reason string
	// Remedy is the exact command or file that would make it available.
	Remedy string
	// Report lists the promises that boxes of this runtime keep.
	Report Report
}

// Box is one running sandbox.
type Box interface {
	// ID is unique among live boxes of this machine.
	ID() string
	// Wait returns when every process of the box is gone and its output has
	// been delivered. Only failures of the sandbox itself are errors; whatever
	// the program did is in Result.
	Wait() (Result, error)
	// Kill ends the whole process tree at once. It is safe to call at any time.
	Kill()
	// Usage samples what the box uses now.
	Usage() Usage
}

// Spec says what to run and what the box may see.
type Spec struct {
	// Argv is the command; Argv[0] is looked up on the box's PATH.
	Argv []string
	// Env is the whole environment of the program, "KEY=value" each.
	// BaseEnv gives the allowlisted part of the host's.
	Env []string
	// Dir is the working directory inside the box.
	Dir string

	// Stdin, Stdout and Stderr may be nil (empty input, discarded output).
	// Writers are called from one goroutine per stream and get raw bytes; a
	// slow writer slows the program, it never grows memory.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Workspace is the project, copy-on-write. The zero value gives none.
	Workspace Workspace
	// Layers are trees relative to "/", newest first, laid read-only over the
	// host's view (usr, etc, opt, var) and over "/" for any other entry.
	Layers []string
	// Capture, when set, is a layer tree being built: it is laid over Layers
	// and writable, so that what the program writes below /usr, /etc, /opt and
	// /var lands there.
	Capture string
	// Mounts are further host directories or files shown inside.
	Mounts []Mount

	// Network is what the box can reach.
	Network Network
	// Listeners are loopback ports inside the box that are answered by the
	// host: each connection made in the box to 127.0.0.1:Port comes to Serve.
	Listeners []Listener

	Limits Limits
	// Require lists promises that must be kept by the kernel; Start refuses
	// when one cannot be, unless BestEffort is set.
	Require    []Promise
	BestEffort bool
}

// Workspace is the project as a box sees it: at its own path, copy-on-write.
type Workspace struct {
	// Path is the absolute host path of the project, and its path inside.
	Path string
	// Lower are upper directories of earlier checkpoints, newest first.
	Lower []string
	// Upper receives what the program changes; Work is the overlay's scratch
	// directory on the same file system. Empty Upper: changes are dropped.
	Upper, Work string
	// Source is the host directory that gives the content; empty means Path.
	Source string
}

// Mount shows a host path inside the box.
type Mount struct {
	Source, Target string
	Writable       bool
}

// Network is what a box can reach.
type Network int

const (
	// NetworkNone leaves a loopback interface of the box's own and nothing else.
	NetworkNone Network = iota
	// NetworkHost shares the host's network. Only remedies may ask for it.
	NetworkHost
)

// Listener is a loopback TCP port inside the box served by the host side.
type Listener struct {
	Port int
	// Serve is a listen.Func.
	Serve Server
}

// Server answers the connections of a listening socket until it is closed.
type Server interface {
	ServeSocket(socket *os.File) (io.Closer, error)
}

// Limits bound a box. A zero field takes the value of DefaultLimits; a
// negative one means unlimited.
type Limits struct {
	Wall      time.Duration // wall-clock time
	CPU       time.Duration // CPU time of one process
	CPUs      float64       // share of the machine, in cores
	Memory    int64         // bytes, all processes together, swap included
	Processes int           // processes and threads together
	OpenFiles int           // descriptors of one process
	FileSize  int64         // bytes of one file
	Disk      int64         // bytes the box may write: to each tmpfs, and to the workspace and a captured layer together
	Inodes    int64         // files the box may create, counted likewise
	Output    int64         // bytes of stdout and stderr together
}

// DefaultLimits suit a student's script on an 8 GB laptop.
var DefaultLimits = Limits{
	Wall:      2 * time.Minute,
	CPU:       -1,
	CPUs:      -1,
	Memory:    2 << 30,
	Processes: 256,
	OpenFiles: 4096,
	FileSize:  4 << 30,
	Disk:      1 << 30,
	Inodes:    200_000,
	Output:    64 << 20,
}

// WithDefaults fills zero fields from DefaultLimits.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits
	pick(&l.Wall, d.Wall)
	pick(&l.CPU, d.CPU)
	pick(&l.CPUs, d.CPUs)
	pick(&l.Memory, d.Memory)
	pick(&l.Processes, d.Processes)
	pick(&l.OpenFiles, d.OpenFiles)
	pick(&l.FileSize, d.FileSize)
	pick(&l.Disk, d.Disk)
	pick(&l.Inodes, d.Inodes)
	pick(&l.Output, d.Output)
	return l
}

func pick[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}

// LimitHit names the limit that ended a run.
type LimitHit string

// The limits that can end a run. Cancelled means that the caller's context or
// Kill ended it.
const (
	LimitNone      LimitHit = ""
	LimitWall      LimitHit = "wall"
	LimitCPU       LimitHit = "cpu"
	LimitMemory    LimitHit = "memory"
	LimitProcesses LimitHit = "processes"
	LimitFileSize  LimitHit = "filesize"
	LimitDisk      LimitHit = "disk"
	LimitOutput    LimitHit = "output"
	LimitCancelled LimitHit = "cancelled"
)

// Result is how a run ended.
type Result struct {
	// ExitCode is the program's; 128+n when signal n ended it.
	ExitCode int
	// Signal is the name of the signal that ended it ("SIGKILL"), or empty.
	Signal string
	// Limit is the limit that ended the run, Mechanism what enforced it
	// ("cgroup v1 memory", "rlimit", "timer", …).
	Limit     LimitHit
	Mechanism string
	// Started is the time from Start to the program's first instruction,
	// Duration from there to its end.
	Started, Duration time.Duration
	Usage             Usage
	// OutputDropped counts bytes thrown away after the output limit.
	OutputDropped int64
}

// Usage is what a box has used or uses.
type Usage struct {
	CPU       time.Duration
	Memory    int64 // bytes now (live) or at the peak (ended)
	Processes int
}

// Reclaimed counts what Reconcile removed.
type Reclaimed struct {
	Boxes, Processes, Groups, Directories int
}
