// Package keeper is what runs inside a container as its first process: it
// takes one order over the container's own input and output, unpacks the
// trees, runs the program, relays its streams and loopback ports, ends
// everything with the wall clock or with the connection, and hands back what
// the program changed.
//
// The connection is the container's standard input and output as an engine
// attaches them, with many streams in it (yamux), so that it works on an
// engine of another machine and needs neither a network nor a shared folder.
// The program cannot reach it: the keeper is process 1, which signals from
// inside do not end, and not dumpable, so that nobody may look into it.
//
// The package never decides what runs and trusts nothing the program left: it
// only reads it. Whoever receives the changes must not trust them either.
package keeper

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"github.com/hashicorp/yamux"

	"kintsugi/sandbox"
)

// Word is the hidden first argument with which a program becomes a keeper.
const Word = "__keeper"

// Remove, after Word, has what Removals lists removed from an image that is
// being made: paths, each ended by a zero byte; of one that ends in a slash only
// the content goes.
const (
	Remove   = "remove"
	Removals = "/.kintsugi/removals"
)

// Order is what to do. It is sent once.
type Order struct {
	Argv, Env []string
	Dir       string
	Trees     []Tree
	Ports     []int
	// Stdin, Stdout and Stderr say which streams are wanted.
	Stdin, Stdout, Stderr bool
	// Wall is the time that the program may take; 0 is no limit.
	Wall time.Duration
	// Most bounds the bytes, and MostFiles the entries, that are handed back.
	Most      int64
	MostFiles int64
	// Bounds are limits that the keeper has to keep itself; nil: the engine
	// keeps them, and its control group is the container's own.
	Bounds *Bounds `json:",omitempty"`
}

// Bounds are what engines without control groups leave open. 0 is no limit.
type Bounds struct {
	Memory    int64 // bytes of all processes together, watched
	Tasks     int64 // of the id that the program has
	OpenFiles int64
	FileSize  int64 // bytes
	CPU       int64 // seconds of one process
}

// Tree is a folder inside the container.
type Tree struct {
	Path string
	// Put: its content comes as an archive before the program starts.
	Put bool
	// Get: what the program changed below it is handed back.
	Get bool
	// Fixed: the program is not meant to write to it.
	Fixed bool
}

// Event is what the keeper tells.
type Event struct {
	Kind  EventKind
	Error string `json:",omitempty"`
	// Of an ended program.
	Status  int  `json:",omitempty"` // as wait(2) gives it
	Overdue bool `json:",omitempty"` // the wall clock ended it
	Starved bool `json:",omitempty"` // the kernel killed for want of memory
	Crowded bool `json:",omitempty"` // a process more was refused
	Full    bool `json:",omitempty"` // more was changed than is handed back
	Took    time.Duration
	Usage   sandbox.Usage
}

// EventKind is the kind of an event.
type EventKind string

// The kinds, in their order. Failed means that the program never ran. Used
// answers a question and may come at any time while the program runs.
const (
	Started EventKind = "started"
	Failed  EventKind = "failed"
	Used    EventKind = "used"
	Ended   EventKind = "ended"
	Done    EventKind = "done"
)

// Question asks a keeper something while the program runs: for now, what the
// box uses.
type Question struct{ Usage bool }

// Kind is what a stream is for: its first byte. The second is a number.
type Kind byte

// The kinds of streams. The host opens the control stream first.
const (
	Control Kind = 'c'
	Put     Kind = 'p' // an archive for a tree, from the host
	Get     Kind = 'g' // what changed in a tree, to the host
	Stdin   Kind = 'i'
	Stdout  Kind = 'o'
	Stderr  Kind = 'e'
	Link    Kind = 'l' // a connection that the program made to a port
)

// Open opens a stream of a kind.
func Open(s *yamux.Session, kind Kind, number int) (*yamux.Stream, error) {
	stream, err := s.OpenStream()
	if err != nil {
		return nil, err
	}
	if _, err := stream.Write([]byte{byte(kind), byte(number)}); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}

// Accept accepts a stream and says what it is for.
func Accept(s *yamux.Session) (*yamux.Stream, Kind, int, error) {
	stream, err := s.AcceptStream()
	if err != nil {
		return nil, 0, 0, err
	}
	var head [2]byte
	if _, err := io.ReadFull(stream, head[:]); err != nil {
		stream.Close()
		return nil, 0, 0, errors.Join(errors.New("a stream says nothing"), err)
	}
	return stream, Kind(head[0]), int(head[1]), nil
}

// Session configures both ends alike. An engine far away may be slow, and a
// box may be held up by its own limits; the connection ends with the engine's.
func Session() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = 10 * time.Minute
	c.StreamOpenTimeout = 0
	c.StreamCloseTimeout = time.Hour
	c.MaxStreamWindowSize = 1 << 20
	c.LogOutput = io.Discard
	return c
}

// Join copies between two connections, each direction until its end.
func Join(a, b net.Conn) {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(a, b)
		closeWrite(a)
		close(done)
	}()
	_, _ = io.Copy(b, a)
	closeWrite(b)
	<-done
	a.Close()
	b.Close()
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	c.Close() // a stream's Close ends only its own direction
}

// Send writes one value of the control stream.
func Send(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// Gone marks an entry of an archive of changes that says: this is not there
// any more.
const Gone = "KINTSUGI.gone"
