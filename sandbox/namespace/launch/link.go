package launch

import (
	"encoding/binary"
	"slices"
)

// Where a linked program lies in its process. The interpreter starts at the
// first operation of the block at Base; a program linked elsewhere is entered
// by Enter.
const (
	// Base is the address of the block of the first program.
	Base = 0x20000000
	// textBase is the address of the interpreter.
	textBase = 0x10000000
	// opsOffset is where operations start in a block; before them lie the
	// words that describe the last failure.
	opsOffset = 64
	opSize    = 64
)

// lastErrno is where the interpreter writes the error number of the last
// failure, and the address of the operation after it.
const lastErrno = Base

// Block is a program linked to an address.
type Block struct {
	Address uint32
	Bytes   []byte
}

// Link lays the program out for the given address (Base for the program that
// an image starts with).
func (p *Program) Link(address uint32) (Block, error) {
	if p.err != nil {
		return Block{}, p.err
	}
	if slices.Contains(p.labels, -1) {
		return Block{}, errUnbound
	}
	p.align()
	dataAt := address + opsOffset + uint32(len(p.ops)*opSize)
	out := make([]byte, opsOffset+len(p.ops)*opSize, opsOffset+len(p.ops)*opSize+len(p.data))
	for i := range p.ops {
		p.encode(out[opsOffset+i*opSize:], i, address, dataAt)
	}
	out = append(out, p.data...)
	p.relocate(out[dataAt-address:], dataAt)
	return Block{Address: address, Bytes: out}, nil
}

func (p *Program) relocate(data []byte, dataAt uint32) {
	for _, at := range p.relocs {
		to := binary.LittleEndian.Uint64(data[at:])
		binary.LittleEndian.PutUint64(data[at:], to+uint64(dataAt))
	}
}

func (p *Program) encode(out []byte, i int, address, dataAt uint32) {
	o := &p.ops[i]
	var cells uint32
	for n, a := range o.args {
		value := a.value
		if a.kind != argValue {
			value = resolve(a.value, dataAt)
		}
		if a.kind == argCell {
			cells |= 1 << n
		}
		binary.LittleEndian.PutUint64(out[16+8*n:], value)
	}
	binary.LittleEndian.PutUint32(out[0:], o.nr)
	binary.LittleEndian.PutUint32(out[4:], cells)
	onward := o.enter
	if onward == 0 {
		onward = opAddress(address, p.target(o.fail, i))
	}
	binary.LittleEndian.PutUint32(out[8:], onward)
	binary.LittleEndian.PutUint32(out[12:], uint32(resolve(uint64(o.result), dataAt)))
}

// absolute marks a value that is an address already.
const absolute = 1 << 31

func resolve(value uint64, dataAt uint32) uint64 {
	if value&absolute != 0 {
		return value &^ absolute
	}
	return value + uint64(dataAt)
}

func (p *Program) target(l Label, i int) int {
	if l == Next {
		return i + 1
	}
	return p.labels[l]
}

func opAddress(base uint32, i int) uint32 { return base + opsOffset + uint32(i*opSize) }

// LastErrno is the cell with the error number of the last failed call. After it
// lies the call's address, which OpIndex turns into an index.
func LastErrno() Cell { return lastErrno | absolute }

// At is the address a in the process, whatever block lies there.
func At(a uint32) Addr { return Addr(a | absolute) }

// Absolute is the address that a has once the program, which must be complete,
// is linked to base. Programs linked elsewhere can refer to it.
func (p *Program) Absolute(base uint32, a Addr) Addr {
	return Addr(uint32(resolve(uint64(a), opAddress(base, len(p.ops)))) | absolute)
}

// Address is where the program, which must be complete, has a label once it is
// linked to base.
func (p *Program) Address(l Label, base uint32) uint32 { return opAddress(base, p.labels[l]) }

// OpIndex is the index of the operation at an address in a block linked to
// base, and whether it lies in a block of n operations.
func OpIndex(base, address uint32, n int) (int, bool) {
	if address < base+opsOffset {
		return 0, false
	}
	i := int(address-base-opsOffset) / opSize
	return i, i < n
}
