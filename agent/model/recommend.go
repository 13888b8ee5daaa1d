package model

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"
)

//go:embed recommend.toml
var recommendTOML string

// Pick is a recommended model.
type Pick struct {
	Name string
	// Memory is what a machine should have in all, and Download what is
	// fetched, in gigabytes.
	Memory, Download float64
	// Strong says in a few words what it is for.
	Strong string
}

// Picks reads a list of recommendations, best first; an empty text means the
// built-in one.
func Picks(text string) ([]Pick, error) {
	if text == "" {
		text = recommendTOML
	}
	var file struct{ Model []Pick }
	meta, err := toml.Decode(text, &file)
	if err != nil {
		return nil, fmt.Errorf("the list of models: %w", err)
	}
	if rest := meta.Undecoded(); len(rest) > 0 {
		return nil, fmt.Errorf("the list of models: unknown key %s", rest[0])
	}
	for _, p := range file.Model {
		if p.Name == "" || p.Memory <= 0 {
			return nil, fmt.Errorf("the list of models: an entry lacks its name or memory")
		}
	}
	return file.Model, nil
}

// Recommend gives the picks that suit a machine with so many bytes of memory,
// best first. Machines have a little less than they are sold with. When nothing
// suits, the smallest is given all the same.
func Recommend(picks []Pick, memory int64) []Pick {
	const sold = 1e9
	var out []Pick
	for _, p := range picks {
		if memory <= 0 && p.Memory <= 8 || float64(memory) >= 0.92*p.Memory*sold {
			out = append(out, p)
		}
	}
	if len(out) == 0 && len(picks) > 0 {
		out = append(out, slices.MinFunc(picks, func(a, b Pick) int {
			return int(1000*a.Memory) - int(1000*b.Memory)
		}))
	}
	return out
}
