package launch

import (
	"bytes"
	"encoding/binary"
)

const (
	segAlign   = 64 << 10 // the largest page size of the supported architectures
	elfHeader  = 64
	progHeader = 56
)

// Image returns a static executable that runs the block from its first
// operation.
func Image(b Block) ([]byte, error) {
	text, err := interpreter()
	if err != nil {
		return nil, err
	}
	const headers = elfHeader + 3*progHeader
	var out bytes.Buffer
	out.Grow(headers + len(text))
	writeHeader(&out, textBase+headers)
	writeSegment(&out, segment{kind: 1, flags: 5, offset: 0, addr: textBase, size: headers + len(text)})
	writeSegment(&out, segment{kind: 1, flags: 6, offset: segAlign, addr: uint64(b.Address), size: len(b.Bytes)})
	writeSegment(&out, segment{kind: 0x6474e551, flags: 6}) // a stack that cannot be executed
	out.Write(text)
	return out.Bytes(), nil
}

// DataOffset is where the block of an image lies in its file: the image is
// written at 0 and the block's bytes here.
const DataOffset = segAlign

type segment struct {
	kind, flags  uint32
	offset, addr uint64
	size         int
}

func writeHeader(out *bytes.Buffer, entry uint64) {
	out.Write([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	le := binary.LittleEndian
	h := make([]byte, 0, elfHeader)
	h = le.AppendUint16(h, 2) // an executable at fixed addresses
	h = le.AppendUint16(h, elfMachine)
	h = le.AppendUint32(h, 1)
	h = le.AppendUint64(h, entry)
	h = le.AppendUint64(h, elfHeader) // program headers follow
	h = le.AppendUint64(h, 0)
	h = le.AppendUint32(h, 0)
	for _, v := range []uint16{elfHeader, progHeader, 3, 64, 0, 0} {
		h = le.AppendUint16(h, v)
	}
	out.Write(h)
}

func writeSegment(out *bytes.Buffer, s segment) {
	le := binary.LittleEndian
	h := make([]byte, 0, progHeader)
	h = le.AppendUint32(h, s.kind)
	h = le.AppendUint32(h, s.flags)
	for _, v := range []uint64{s.offset, s.addr, s.addr, uint64(s.size), uint64(s.size), segAlign} {
		h = le.AppendUint64(h, v)
	}
	out.Write(h)
}
