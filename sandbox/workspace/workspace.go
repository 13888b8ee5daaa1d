// Package workspace keeps the project copy-on-write: what boxes change lands
// in layers beside it, and only Apply carries changes over to it.
//
// A Store holds the checkpoints of one session. Each is the upper directory of
// an overlay, stacked on its parent's down to the project itself, so that going
// back or forking is moving a pointer. Changes reads the stack without any
// mount and tells exactly how the merged view differs from the project; Diff
// shows it as text; View and Editor read and write the merged view.
//
// Apply is the security boundary. What a box left behind is hostile: names,
// links, modes, attributes. So Apply
//
//   - reaches every path beneath an open directory without following a link,
//     and moves files by renaming into a place that must be free or by swapping
//     with a file that must still be the one planned for;
//   - never overwrites or deletes what the user changed since the box saw it;
//   - holds back files that trusted tools run by themselves, and links that
//     lead out, until they are confirmed one by one;
//   - takes over content, permission bits and the time of a file, and nothing
//     else: no setuid, setgid, sticky or world-writable bits that were not
//     there, no attributes, no owner, no hard links, fifos, sockets or devices;
//   - is all or nothing: after an error, and after a kill at any moment on the
//     next start, the project is as it was before, or wholly changed.
//
// It does not judge content: whoever runs an applied program trusts it. A
// replaced file is a new inode, so access lists and attributes of the old one
// are gone, and a program that holds the old one open goes on writing to that.
//
// The package never mounts, never runs anything and, outside of Apply, never
// writes to the project.
package workspace

import (
	"kintsugi/sandbox/workspace/beneath"
)

// Kind is how a path changed.
type Kind uint8

// The kinds of change. Retyped is a change between file, directory and link;
// Remoded a change of permissions alone; Skipped a path that cannot be carried
// over, with the reason in Notice.
const (
	Unchanged Kind = iota
	Added
	Modified
	Deleted
	Retyped
	Remoded
	Skipped
)

// String names the kind for users.
func (k Kind) String() string {
	names := [...]string{"unchanged", "added", "modified", "deleted", "type changed", "mode changed", "skipped"}
	return names[k]
}

// Letter is the kind in one letter, as status lists have it.
func (k Kind) Letter() string { return "?AMDTm!"[k : k+1] }

// Entry is one side of a change.
type Entry struct {
	beneath.Stat
	Target string // of a symbolic link
}

// Change is one path that differs between the project and a checkpoint.
type Change struct {
	// Path is relative to the project, with slashes, bytes as they are on disk.
	Path string
	Kind Kind
	// Old is the project's side as it is now, New the checkpoint's.
	Old, New Entry
	// Notice says why the path is skipped.
	Notice string
	// Conflict, when set, says how the user's copy changed since the box saw
	// it. Apply refuses such a change.
	Conflict string
	// Held, when set, says which trusted tool would act on the file by itself.
	// Apply leaves it out until it is confirmed.
	Held string
	// Flag is like Held for files that only run when the user asks a tool to:
	// Apply takes them, faces should point at them.
	Flag string

	from  int  // tree of the stack that gives New
	base  int  // tree of the stack that gives Old
	hides bool // a directory that does not let the old one show through
	twin  bool // another name beside it differs only in case
}
