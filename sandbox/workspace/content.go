package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"kintsugi/sandbox/workspace/beneath"
)

// openFile is a file of a stack, open for reading.
type openFile struct{ *os.File }

// blockSize is how much of a file is in memory at a time.
const blockSize = 128 << 10

// equal says whether two files of the given size hold the same bytes. Holes
// that both have are not read.
func equal(a, b *openFile, size int64) (bool, error) {
	block := min(size, blockSize)
	bufA, bufB := make([]byte, block), make([]byte, block)
	for off := int64(0); off < size; {
		off = min(beneath.NextData(a.File, off, size), beneath.NextData(b.File, off, size))
		n := min(size-off, block)
		if n <= 0 {
			break
		}
		if err := readAt(a, bufA[:n], off); err != nil {
			return false, err
		}
		if err := readAt(b, bufB[:n], off); err != nil {
			return false, err
		}
		if !bytes.Equal(bufA[:n], bufB[:n]) {
			return false, nil
		}
		off += n
	}
	return true, nil
}

// readAt fills buf; what lies beyond the end of a file that shrank is zero.
func readAt(f *openFile, buf []byte, off int64) error {
	n, err := f.ReadAt(buf, off)
	if errors.Is(err, io.EOF) {
		clear(buf[n:])
		return nil
	}
	return err
}

// sum is the SHA-256 of a file's content, in hexadecimal.
func sum(f *openFile) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyContent copies size bytes of src to dst, which is empty. Holes stay
// holes; where the file system can, blocks are shared.
func copyContent(dst *os.File, src *openFile, size int64) error {
	if beneath.Clone(dst, src.File) == nil {
		return dst.Truncate(size)
	}
	for off := int64(0); off < size; {
		start := beneath.NextData(src.File, off, size)
		end := beneath.NextHole(src.File, start, size)
		if start >= size {
			break
		}
		if err := copyRange(dst, src, start, max(end-start, 1)); err != nil {
			return err
		}
		off = max(end, start+1)
	}
	return dst.Truncate(size)
}

func copyRange(dst *os.File, src *openFile, off, n int64) error {
	if _, err := dst.Seek(off, io.SeekStart); err != nil {
		return err
	}
	if _, err := src.Seek(off, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(dst, io.LimitReader(src.File, n))
	return err
}
