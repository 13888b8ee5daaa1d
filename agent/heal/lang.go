package heal

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// loadTexts reads lang/TAG.toml of every source: explanations by rule id, or
// by "rule id.outcome". A tag nobody has a file for gives English.
func loadTexts(tag string, sources []fs.FS) (map[string]string, error) {
	texts := map[string]string{}
	if tag == "" || tag == "en" {
		return texts, nil
	}
	for _, src := range sources {
		data, err := readLang(src, tag)
		if err != nil {
			continue
		}
		more := map[string]string{}
		if err := toml.Unmarshal(data, &more); err != nil {
			return nil, fmt.Errorf("language %s: %w", tag, err)
		}
		for k, v := range more {
			texts[k] = v
		}
	}
	return texts, nil
}

// readLang finds the file of "de-AT", else that of "de".
func readLang(src fs.FS, tag string) ([]byte, error) {
	if strings.ContainsAny(tag, `/\`) {
		return nil, fs.ErrNotExist
	}
	data, err := fs.ReadFile(src, "lang/"+tag+".toml")
	if err == nil {
		return data, nil
	}
	short, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	return fs.ReadFile(src, "lang/"+strings.ToLower(short)+".toml")
}

// explanation is the text of an outcome in the loaded language.
func (r *Rules) explanation(rl *rule, name string, o *outcome) string {
	if name != "" {
		if t, ok := r.texts[rl.ID+"."+name]; ok {
			return t
		}
	}
	if t, ok := r.texts[rl.ID]; ok && (name == "" || o.Explain == rl.Explain) {
		return t
	}
	return o.Explain
}
