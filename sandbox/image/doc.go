// Package image turns a container image of a registry into a folder that boxes
// can use as their root, without any engine and without root.
//
// An image is found by its name once and by its digest from then on: the name
// is pinned, and another content under the same name is only taken when asked
// for. Every layer is checked twice, as it was packed and as it unpacks.
// Unpacking is hostile territory: a layer's names lead nowhere but into the
// folder, links are followed inside of it only, devices and pipes are left
// out, set-user-id bits are dropped, owners are ignored, and there is a bound
// to bytes and entries.
//
// An image that a process uses is never removed; the others may be, the one that
// was used longest ago first.
//
// The package never runs anything of an image and knows no registry by name.
package image

import "os"

// Root is an unpacked image.
type Root struct {
	// Name is what was asked for, Digest the content that it stands for.
	Name, Digest string
	// Tree is the folder; it must not be changed.
	Tree string
	// Env is the environment that the image sets.
	Env []string

	held *os.File
}

// Close lets the image be removed. Until then, or until this process ends, it
// stays.
func (r Root) Close() { _ = r.held.Close() }

// Limits bound what is unpacked; a zero field takes the value of DefaultLimits.
type Limits struct {
	Bytes   int64 // of all files together
	Entries int64 // of all layers together
}

// DefaultLimits let the largest images in common use through.
var DefaultLimits = Limits{Bytes: 24 << 30, Entries: 2_000_000}
