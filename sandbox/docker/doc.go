// Package docker makes boxes of a container engine: Docker, or Podman through
// the socket on which it speaks Docker's language.
//
// # What is promised, and by which wall
//
//   - A box is a container of its own, used once: no capabilities, no new
//     privileges, the engine's filter of system calls, a read-only root from
//     an image, ids that nobody else has, no network at all.
//   - The project, and every folder that is shown, is copied into memory of
//     the box's own (tmpfs), which is bounded in bytes and files and counts as
//     the box's memory. Nothing of this machine is mounted, so an engine on
//     another machine works the same, and a shared engine keeps nothing.
//   - Changes come back as an archive that is unpacked beneath one directory
//     and never trusted.
//   - A gateway's port is a socket made inside and served from here, over the
//     container's own input and output: no packet leaves.
//   - Everything ends when the program does, at the wall clock, or when our
//     connection ends: the first process of the container is ours (package
//     keeper). Containers carry labels that name a lease; the next start
//     removes those whose lease nobody holds.
//
// Remedies become images of the engine, named after their content, which the
// engine shares between boxes; the oldest are removed.
//
// # What is shared
//
// The engine's kernel, as with every container, and the engine itself: who may
// talk to it is root on its machine. Boxes never see its socket.
//
// The package never decides what runs, never installs anything and never
// writes to the project.
package docker

import (
	"time"
)

// The engines, which are also the names of the runtimes.
const (
	Docker = "docker"
	Podman = "podman"
)

// DefaultImage is what boxes see when nobody chose an image.
const DefaultImage = "python:3.12-slim"

// Options configure a Runtime. Only Engine is needed.
type Options struct {
	// Engine is Docker or Podman.
	Engine string
	// Host is where the engine answers ("unix:///…", "tcp://…", "ssh://…"), or
	// the name of one of Docker's contexts; empty asks the environment, the
	// current context, and the usual places.
	Host string
	// Image is what boxes see; empty means DefaultImage.
	Image string
	// Keeper is a static Linux program that is or becomes a keeper; empty
	// means this program itself, or one that lies beside it.
	Keeper string
	// StateDir holds the leases of live boxes; empty means a folder of the
	// user's below the system's place for temporary files.
	StateDir string
	// Environ is the host's environment, as os.Environ gives it (the default).
	Environ []string
	// Warm is the number of containers that Prepare makes ready, each for one
	// use and of the kind that was used last. 0 makes none.
	Warm int
	// Progress is told what takes long, such as fetching an image; it may be
	// nil.
	Progress func(string)

	// program starts Podman's service; empty means podman.
	program []string
}

// The oldest engine that is known to do all that boxes need speaks 1.40
// (Docker 19.03, Podman 3).
const oldestAPI = "1.40"

// patience bounds one exchange with an engine, but not the fetching or writing
// of an image.
const patience = 2 * time.Minute
