package heal

import "strings"

// Found is the package that a word stands for.
type Found struct {
	Manager, Package string
	Trust            Trust
	Origin           string // the map or list that says so
}

// Word finds the package that a word of a wish stands for: a package's name, a
// command, the name under which a library is imported. node prefers Node's
// packages. ok is false when nothing vouches for any reading of the word; near
// are then known names that may have been meant.
func (r *Rules) Word(word string, node bool) (found Found, ok bool, near []string) {
	managers := []string{"pip", "npm"}
	if node {
		managers = []string{"npm", "pip"}
	}
	for _, m := range managers {
		if v := r.Vouch(m, word); v.Trust == Known {
			return Found{m, word, Known, v.Origin}, true, nil
		}
	}
	if f, ok := r.fromTable("command", word, "apt"); ok {
		return f, true, nil
	}
	if f, ok := r.fromTable("import", word, "pip"); ok {
		return f, true, nil
	}
	for _, m := range append(managers, "apt") {
		v := r.Vouch(m, word)
		if v.Trust != Unknown {
			return Found{m, word, v.Trust, v.Origin}, true, nil
		}
		near = append(near, v.DidYouMean...)
	}
	return Found{}, false, near[:min(len(near), 3)]
}

func (r *Rules) fromTable(table, word, manager string) (Found, bool) {
	w, ok := r.table(table).rows[word]
	if !ok || len(w.packages) == 0 || w.never() {
		return Found{}, false
	}
	m, name := splitManager(w.packages[0], manager)
	return Found{m, strings.TrimSpace(name), Known, "map " + table + ": " + word}, true
}
