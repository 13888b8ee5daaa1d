// Package early begins the first box of a run while the program's other packages
// get ready, which takes them about as long as a box takes to be made. So it does
// its work when it is initialised. That comes early because neither it nor what
// it imports needs a package for networks: Go initialises packages in the order
// of their import paths as far as their imports are ready (Go 1.21), and package
// net, which waits for some of the last paths, holds up all that need it.
package early

import (
	"os"
	"slices"
	"strings"

	"kintsugi/sandbox/namespace"
)

// NodesEnv names the engines that share the work, for all commands.
const NodesEnv = "KINTSUGI_NODES"

// New makes the embedded runtime with one box kept ready.
func New() *namespace.Runtime { return namespace.New(namespace.Options{Warm: 1}) }

var begun = begin(os.Args[1:])

// begin has a box made for a command line that runs something, unless it asks
// for another kind of box.
func begin(args []string) *namespace.Runtime {
	other := func(arg string) bool {
		return strings.HasPrefix(arg, "--runtime") || strings.HasPrefix(arg, "--image") || strings.HasPrefix(arg, "--nodes")
	}
	if len(args) < 2 || args[0] != "run" || os.Getenv(NodesEnv) != "" || slices.ContainsFunc(args, other) {
		return nil
	}
	rt := New()
	rt.Prepare(nil)
	return rt
}

// Begun is the runtime whose first box is being made already; nil: there is
// none.
func Begun() *namespace.Runtime { return begun }

// Close ends the box that was begun if nobody used it.
func Close() {
	if begun != nil {
		_ = begun.Close()
	}
}
