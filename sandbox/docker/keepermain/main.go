// Command keepermain is a keeper and nothing else: a small static program for
// tests, and for hosts whose own Kintsugi cannot run inside a Linux container.
package main

import (
	"os"

	"kintsugi/sandbox/docker/keeper"
)

func main() { os.Exit(keeper.Main(os.Args[2:])) }
