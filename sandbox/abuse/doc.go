// Package abuse is the proof of the walls: a table of hostile and careless
// things that programs do in a box, and the machinery that does them in a box
// of any runtime and says for each whether the walls held.
//
// The table is data (cases/*.toml). The hostile half is the package probe,
// which runs inside a box as a hidden command of the workbench's own program.
// What can only be judged from outside, such as whether the host can still
// fork or whether anything is left behind, is judged here.
//
// No case is ever skipped without a word: each shows as held, breached, shared
// by design, not applicable and why, tested elsewhere and where, or to come.
// The package never weakens a case to fit a runtime, and never touches what a
// user has: what it plants on the host it removes.
package abuse
