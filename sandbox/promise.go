package sandbox

// Promise is one thing a runtime can promise about its boxes.
type Promise string

// The promises, in the order reports list them.
const (
	PromiseNoNetwork   Promise = "no network"
	PromiseGateway     Promise = "gateway"
	PromiseHostFiles   Promise = "host files read-only"
	PromiseCopyOnWrite Promise = "copy-on-write workspace"
	PromiseWall        Promise = "wall clock"
	PromiseCPU         Promise = "cpu share"
	PromiseMemory      Promise = "memory"
	PromiseProcesses   Promise = "processes"
	PromiseDisk        Promise = "disk"
	PromiseWritten     Promise = "workspace size"
	PromiseOutput      Promise = "output"
	PromiseSyscalls    Promise = "system calls"
	PromiseQuotas      Promise = "the user's quotas" // what the kernel counts per user is not used up
	PromiseDiesWithUs  Promise = "dies with us"
)

// Strength says how well a promise is kept.
type Strength string

// The strengths, from best to worst.
const (
	KernelEnforced Strength = "kernel"  // the kernel refuses or kills at once
	Watched        Strength = "watched" // we look and react; a moment may pass
	NotKept        Strength = "none"
)

// Kept says by what, and how strongly, a promise is kept.
type Kept struct {
	Promise   Promise
	Strength  Strength
	Mechanism string
}

// Report lists the promises of a runtime on this machine.
type Report []Kept

// Find returns how p is kept; a promise the report does not name is not kept.
func (r Report) Find(p Promise) Kept {
	for _, k := range r {
		if k.Promise == p {
			return k
		}
	}
	return Kept{Promise: p, Strength: NotKept}
}

// Missing returns the required promises that are not enforced by the kernel.
func (r Report) Missing(required []Promise) []Kept {
	var out []Kept
	for _, p := range required {
		if k := r.Find(p); k.Strength != KernelEnforced {
			out = append(out, k)
		}
	}
	return out
}
