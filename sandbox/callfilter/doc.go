// Package callfilter decides which system calls a program in a box may make,
// and is the same whatever makes the box.
//
// It never decides by path or by user; other walls do that.
package callfilter
