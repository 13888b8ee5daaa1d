// Package namespace makes boxes of the Linux kernel's own parts: name spaces,
// read-only mounts, overlays, control groups, seccomp and Landlock. It needs no
// other program, no daemon, no set-user-id helper and no root.
//
// # What is promised, and by which wall
//
//   - The host's files are not changed and most are not seen: a root of the
//     box's own, put together from read-only mounts and entered with
//     pivot_root; the home, /run, /tmp and everything else that is not listed
//     are absent. Landlock is the second wall for writing.
//   - The program is nobody on the host: an ordinary user's box has that user's
//     rights and no capability; root's boxes run under ids that nobody else
//     has, and see the project through mounts that map its owner. Host root is
//     never mapped.
//   - The kernel is met through a filter: no mounting, no name spaces, no
//     io_uring, keyrings, bpf, perf, userfaultfd, foreign calling conventions
//     or odd address families. Set-user-id bits and file capabilities do
//     nothing.
//   - There is no network but a loopback interface, unless a remedy asks for
//     the host's. A gateway's port is a socket made inside the box and served
//     from outside; no packet leaves.
//   - Processes, memory, processor, disk, files, output and time have limits.
//     The report names what keeps each one here; what only can be watched is
//     said to be.
//   - Everything ends: process 1 of the box ends with the program, with the
//     wall clock, or when our end of a pipe closes, and the kernel ends the
//     rest with it. A lease, locked as long as the box lives, lets the next
//     start clean up after a workbench that was killed.
//
// # What is shared
//
// The kernel: a hole in it is a hole in every box. Time, load, and the
// machine's processor and memory figures can be seen. Locks on files that
// several boxes see read-only, and what of them is in memory, can carry signals
// between boxes. So can settings that outlast their sockets in a network that
// serves a second box: the kernel tells of a multicast group a second after it
// was joined, and keeps the key of TCP Fast Open. Choose a micro-VM for code that
// must be expected to attack the kernel, or to conspire with another box.
//
// # How a box is born
//
// The workbench lays out every system call of the box as data (package launch),
// puts it into a sealed anonymous file and runs that. The process joins its
// control group and user name space, clones the box's process 1, which builds
// the root and clones the program's process; that gives up what it may and
// becomes the program. No process of the box ever holds memory of the workbench.
// Warm boxes stop before what depends on the program and wait for the rest; one
// that was made for what is expected next lacks only the command, and its
// process waits with all walls up. Each is used once. Of a box that ended only
// its network may serve the slot's next one, and only when the kernel's counters
// say that nothing was sent, refused or left in it.
//
// The package never decides what runs, never installs anything and never
// writes to the project.
package namespace
