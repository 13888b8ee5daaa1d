//go:build !amd64 && !arm64

package launch

// elfMachine is never used where there is no interpreter.
const elfMachine = 0
