package namespace

import "kintsugi/sandbox"

// Name is the word users type for this runtime.
const Name = "namespace"

// Options configure a Runtime. The zero value suits a workbench.
type Options struct {
	// Environ is the host's environment, as os.Environ gives it (the default).
	// PATH and HOME in it decide which tool chains a box sees.
	Environ []string
	// Home is the user's home directory; the default is HOME of Environ.
	Home string
	// StateDir holds the leases of live boxes and the few files that boxes
	// share. The default lies below /run for root and below XDG_RUNTIME_DIR
	// for others.
	StateDir string

	// Root is the folder of an unpacked image that boxes see instead of this
	// machine's programs; empty: this machine's. RootName names its content,
	// RootEnv is the environment that it sets.
	Root, RootName string
	RootEnv        []string

	// Warm is the number of boxes that Prepare makes ready, each for one use.
	// 0 makes none.
	Warm int

	// fault, when set, is called at each of faultPoints in the life of a box: a
	// test kills somebody there.
	fault func(point string, b sandbox.Box)
	// withoutGroups behaves as if no control group could be made.
	withoutGroups bool
}
