package main

import (
	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace"
)

// runtimes lists what can make boxes, best first. One that this system lacks
// is listed all the same and says why.
func runtimes() []sandbox.Runtime {
	return []sandbox.Runtime{namespace.New(namespace.Options{Warm: 1})}
}
