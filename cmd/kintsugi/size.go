package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// minMemory is the least memory a box is given: a smaller one cannot even
// start an interpreter.
const minMemory = 8 << 20

var errSize = errors.New("want a size of at least 8M, such as 512M or 2G")

// parseSize reads "512M", "2G", "1.5GiB" or plain bytes; powers of 1024.
func parseSize(s string) (int64, error) {
	text := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(s)), "B"), "I")
	unit := int64(1)
	if n := len(text); n > 0 {
		if i := strings.IndexByte("KMGT", text[n-1]); i >= 0 {
			unit, text = 1<<(10*(i+1)), text[:n-1]
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || v*float64(unit) < minMemory || v*float64(unit) > math.MaxInt64/2 {
		return 0, errSize
	}
	return int64(v * float64(unit)), nil
}
