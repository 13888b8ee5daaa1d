package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Addr is the place of some bytes in a program's data. It is an offset until
// the program is linked.
type Addr uint32

// Cell is a 32-bit word in a program's data. As an argument it stands for the
// signed value the word holds when the call is made.
type Cell uint32

// Addr is where the cell lies, for calls that write to it.
func (c Cell) Addr() Addr { return Addr(c) }

// Label names a place in a program.
type Label int

const (
	// Next, as the place to go on failure, ignores the failure.
	Next Label = -1
	// Failed, as the place to go on failure, is the program's failure handler.
	Failed Label = 0
)

// The pseudo calls that the interpreter knows; see the assembly.
const (
	opJumpIf = 0xFFFF0000
	opSet    = 0xFFFF0001
)

// maxArgs is the number of arguments of a system call.
const maxArgs = 6

type argKind uint8

const (
	argValue argKind = iota
	argAddr
	argCell
)

type arg struct {
	kind  argKind
	value uint64
}

type op struct {
	nr     uint32
	fail   Label
	result Cell
	enter  uint32 // address of the operation to go on with, in another block
	args   [maxArgs]arg
	argc   int
	note   string
}

// Program is a list of operations and their data. The zero value is not
// usable; see New.
type Program struct {
	ops    []op
	data   []byte
	labels []int  // label -> index of the operation it names, -1 while unbound
	relocs []Addr // places in data that hold the offset of other data
	onFail Label
	note   string
	err    error
}

// New returns an empty program. Until Bind(Failed) is called a failure has
// nowhere to go, so a program must bind it.
func New() *Program {
	return &Program{labels: []int{-1}, data: make([]byte, 0, 8<<10), ops: make([]op, 0, 192)}
}

// Label makes a label that Bind gives a place later.
func (p *Program) Label() Label {
	p.labels = append(p.labels, -1)
	return Label(len(p.labels) - 1)
}

// Bind makes l name the next operation.
func (p *Program) Bind(l Label) { p.labels[l] = len(p.ops) }

// OnFail says where the calls added from now on go when they fail.
func (p *Program) OnFail(l Label) { p.onFail = l }

// Note is what the calls added from now on are for; a failure is reported
// with it.
func (p *Program) Note(format string, args ...any) {
	p.note = format
	if len(args) > 0 {
		p.note = fmt.Sprintf(format, args...)
	}
}

// Call adds a system call. Arguments are integers, strings (passed as the
// address of a NUL-terminated copy), byte slices (the address of a copy), Addr
// and Cell. It returns the cell that takes the result.
func (p *Program) Call(nr int, args ...any) Cell {
	return p.CallOr(p.onFail, nr, args...)
}

// Try adds a system call whose failure is ignored.
func (p *Program) Try(nr int, args ...any) Cell {
	return p.CallOr(Next, nr, args...)
}

// CallOr adds a system call that goes to l when it fails.
func (p *Program) CallOr(l Label, nr int, args ...any) Cell {
	result := Cell(p.Zero(4))
	p.add(op{nr: uint32(nr), fail: l, result: result}, args)
	return result
}

// CallInto is Call with the cell for the result given.
func (p *Program) CallInto(result Cell, nr int, args ...any) {
	p.add(op{nr: uint32(nr), fail: p.onFail, result: result}, args)
}

// Jump goes to l.
func (p *Program) Jump(l Label) {
	p.add(op{nr: opJumpIf, fail: l}, []any{0, 0, 0})
}

// Enter goes on with the operation at an address, in another block.
func (p *Program) Enter(address uint32) {
	p.add(op{nr: opJumpIf, fail: Next, enter: address}, []any{0, 0, 0})
}

// Entry is the address of the first operation of a block linked to base.
func Entry(base uint32) uint32 { return opAddress(base, 0) }

// JumpIf goes to l when c&mask equals value.
func (p *Program) JumpIf(c Cell, mask, value int, l Label) {
	p.add(op{nr: opJumpIf, fail: l}, []any{c, mask, value})
}

// JumpIfSame goes to l when both cells hold the same value.
func (p *Program) JumpIfSame(a, b Cell, l Label) {
	p.add(op{nr: opJumpIf, fail: l}, []any{a, -1, b})
}

// Set stores a value or another cell's value in c.
func (p *Program) Set(c Cell, value any) {
	p.add(op{nr: opSet, result: c}, []any{value})
}

func (p *Program) add(o op, args []any) {
	if len(args) > maxArgs {
		p.fail(fmt.Errorf("launch: %d arguments", len(args)))
		return
	}
	for i, a := range args {
		o.args[i] = p.arg(a)
	}
	o.argc, o.note = len(args), p.note
	p.ops = append(p.ops, o)
}

func (p *Program) arg(a any) arg {
	switch v := a.(type) {
	case int:
		return arg{argValue, uint64(v)}
	case uint64:
		return arg{argValue, v}
	case string:
		return arg{argAddr, uint64(p.Text(v))}
	case []byte:
		return arg{argAddr, uint64(p.Bytes(v))}
	case Addr:
		return arg{argAddr, uint64(v)}
	case Cell:
		return arg{argCell, uint64(v)}
	}
	p.fail(fmt.Errorf("launch: an argument of type %T", a))
	return arg{}
}

func (p *Program) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// Text adds a NUL-terminated copy of s to the data.
func (p *Program) Text(s string) Addr {
	at := Addr(len(p.data))
	p.data = append(append(p.data, s...), 0)
	return at
}

// Bytes adds a copy of b to the data, aligned to 8 bytes.
func (p *Program) Bytes(b []byte) Addr {
	p.align()
	at := Addr(len(p.data))
	p.data = append(p.data, b...)
	return at
}

// Zero adds n zero bytes to the data, aligned to 8 bytes when n is 8 or more
// and to 4 otherwise.
func (p *Program) Zero(n int) Addr {
	if n >= 8 {
		p.align()
	}
	for len(p.data)%4 != 0 {
		p.data = append(p.data, 0)
	}
	at := Addr(len(p.data))
	p.data = append(p.data, make([]byte, n)...)
	return at
}

// Word adds a cell with a first value.
func (p *Program) Word(value int32) Cell {
	at := p.Zero(4)
	binary.LittleEndian.PutUint32(p.data[at:], uint32(value))
	return Cell(at)
}

// Pointers adds an array of addresses, with a null at its end: the form of
// argv and envp.
func (p *Program) Pointers(to []Addr) Addr {
	at := p.Zero(8 * (len(to) + 1))
	for i, a := range to {
		p.Point(at+Addr(8*i), a)
	}
	return at
}

// Strings adds NUL-terminated copies of the strings and the array that points
// at them.
func (p *Program) Strings(list []string) Addr {
	to := make([]Addr, len(list))
	for i, s := range list {
		to[i] = p.Text(s)
	}
	return p.Pointers(to)
}

// Point makes the 8 bytes at the place hold the address of to.
func (p *Program) Point(place, to Addr) {
	if to&absolute != 0 {
		binary.LittleEndian.PutUint64(p.data[place:], uint64(to&^absolute))
		return
	}
	binary.LittleEndian.PutUint64(p.data[place:], uint64(to))
	p.relocs = append(p.relocs, place)
}

// PutWord stores a 32-bit value at a place in the data.
func (p *Program) PutWord(place Addr, value uint32) {
	binary.LittleEndian.PutUint32(p.data[place:], value)
}

// align makes the next data start at a multiple of 8.
func (p *Program) align() {
	for len(p.data)%8 != 0 {
		p.data = append(p.data, 0)
	}
}

// Len is the number of operations so far.
func (p *Program) Len() int { return len(p.ops) }

// Explain says what operation number i was for.
func (p *Program) Explain(i int) string {
	if i < 0 || i >= len(p.ops) {
		return "unknown operation"
	}
	o := p.ops[i]
	if o.note == "" {
		return callName(o.nr)
	}
	return o.note + " (" + callName(o.nr) + ")"
}

var errUnbound = errors.New("launch: a label has no place")
