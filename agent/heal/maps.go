package heal

import (
	"io/fs"
	"strings"
)

// row is one line of a map: what is looked up, the packages it gives ("-"
// means never install; "apt:x" names another manager than the rule's) and the
// further columns by name (note, tag, alternative).
type row struct {
	key      string
	packages []string
	columns  map[string]string
}

// never tells that the map forbids to install anything for this key.
func (w row) never() bool { return len(w.packages) > 0 && w.packages[0] == "-" }

// table is a map file: rows by key, and rows whose key ends in "*", which
// stand for everything that begins so.
type table struct {
	rows     map[string]row
	prefixes []row
}

// readTable merges the file of every source; later rows win.
func readTable(sources []fs.FS, file string) *table {
	t := &table{rows: map[string]row{}}
	for _, src := range sources {
		if data, err := fs.ReadFile(src, file); err == nil {
			t.parse(string(data))
		}
	}
	return t
}

// parse reads tab-separated lines. The first line names the columns; the
// first column is the key and the second the packages, separated by spaces.
func (t *table) parse(data string) {
	head, rest, _ := strings.Cut(data, "\n")
	names := strings.Split(strings.TrimRight(head, "\r"), "\t")
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(cells) < 2 || cells[0] == "" || strings.HasPrefix(cells[0], "#") {
			continue
		}
		w := row{key: cells[0], packages: strings.Fields(cells[1])}
		for i := 1; i < len(cells) && i < len(names); i++ {
			if cells[i] == "" {
				continue
			}
			if w.columns == nil {
				w.columns = map[string]string{}
			}
			w.columns[names[i]] = cells[i]
		}
		t.put(w)
	}
}

func (t *table) put(w row) {
	t.rows[w.key] = w
	if p, ok := strings.CutSuffix(w.key, "*"); ok {
		t.prefixes = append(t.prefixes, row{key: p, packages: w.packages, columns: w.columns})
	}
}

// find looks key up: the exact row, else the longest prefix row.
func (t *table) find(key string) (row, bool) {
	if w, ok := t.rows[key]; ok {
		return w, true
	}
	var best row
	found := false
	for _, p := range t.prefixes {
		if strings.HasPrefix(key, p.key) && len(p.key) > len(best.key) {
			best, found = p, true
		}
	}
	return best, found
}

// nameList is a list of names that are known to exist.
type nameList struct {
	names map[string]bool
	all   []string
}

func readList(sources []fs.FS, file string) *nameList {
	l := &nameList{names: map[string]bool{}}
	for _, src := range sources {
		data, err := fs.ReadFile(src, file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			l.add(strings.TrimSpace(line))
		}
	}
	return l
}

func (l *nameList) add(name string) {
	if name == "" || strings.HasPrefix(name, "#") || l.names[name] {
		return
	}
	l.names[name] = true
	l.all = append(l.all, name)
}

func (l *nameList) has(name string) bool { return l.names[name] }
