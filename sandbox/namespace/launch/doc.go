// Package launch turns a list of system calls into a tiny process.
//
// A Program is data: system calls with their arguments prepared, results that
// feed later calls, jumps, and for each call where to go when it fails. Image
// links it, behind an interpreter of a few dozen machine instructions, into a
// static executable of some kilobytes that needs no runtime, no libraries, no
// heap and no stack.
//
// That is how a box is born without a copy of the workbench: starting the
// image costs a vfork and an exec of three pages whatever the size of the
// caller's heap, the image's process holds nothing of the caller's memory,
// and what it will do can be printed and tested before it is done.
//
// The package knows nothing about sandboxes and never runs a program itself.
package launch
