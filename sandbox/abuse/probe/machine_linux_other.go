//go:build linux && !amd64

package probe

// machineCalls are forbidden calls that only this architecture has: none.
func machineCalls(*kit) []attempt { return nil }

// foreignCalls has nothing to try: the 32-bit calls of this architecture need
// a 32-bit program, which its processors often cannot run at all.
func foreignCalls(Args) Verdict {
	return Heldf("this architecture has no second calling convention to try")
}
