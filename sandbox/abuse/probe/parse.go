package probe

import (
	"encoding/json"
	"strings"
)

// Parse reads a line that a probe printed; ok is false for any other line.
func Parse(line string) (v Verdict, ok bool) {
	if !strings.HasPrefix(line, `{"verdict":`) {
		return v, false
	}
	if json.Unmarshal([]byte(line), &v) != nil {
		return v, false
	}
	return v, true
}
