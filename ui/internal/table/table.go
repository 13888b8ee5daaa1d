// Package table reads tables out of text and draws them: files of separated
// values, and the aligned columns in which programs print data frames.
//
// What it reads is hostile and bounded; it never fails, it finds no table.
package table

import (
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of a table.
const (
	MaxBytes   = 256 << 10 // of the text that is read
	maxRows    = 1000
	maxColumns = 64
	maxCell    = 200 // bytes
)

// Table is a head and rows, each with a cell for every column.
type Table struct {
	Head []string
	Rows [][]string
	// Cut says that the text had more rows or columns than are kept.
	Cut bool

	numbers []bool // of each column, whether it holds numbers alone
}

// Separated reads values that are separated by sep: a comma, a semicolon or a
// tab. A semicolon is found by itself where files have it for a comma. Whole
// says that the text is all of the file. Nil: it is no table.
func Separated(text string, sep rune, whole bool) *Table {
	text, clipped := clip(strings.TrimPrefix(text, "\ufeff"), whole)
	if first, _, _ := strings.Cut(text, "\n"); sep == ',' && !strings.Contains(first, ",") && strings.Contains(first, ";") {
		sep = ';'
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = sep, -1, true, true
	var records [][]string
	for len(records) <= maxRows {
		record, err := r.Read()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				clipped = true
			}
			break
		}
		records = append(records, bounded(record))
	}
	t := build(records)
	if t != nil && (clipped || len(records) > maxRows) {
		t.Cut = true
	}
	return t
}

// clip bounds text at the end of a line.
func clip(text string, whole bool) (string, bool) {
	if len(text) > MaxBytes {
		text, whole = text[:MaxBytes], false
	}
	if !whole {
		if i := strings.LastIndexByte(text, '\n'); i >= 0 {
			text = text[:i+1]
		}
	}
	return text, !whole
}

func bounded(record []string) []string {
	out := make([]string, 0, min(len(record), maxColumns+1))
	for _, field := range record {
		if len(out) > maxColumns {
			break
		}
		out = append(out, short(field))
	}
	return out
}

// short bounds the text of a cell.
func short(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) > maxCell {
		n := maxCell
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.TrimSpace(s)
}

// build makes a table of records; the first is the head.
func build(records [][]string) *Table {
	columns := 0
	for _, r := range records {
		columns = max(columns, len(r))
	}
	if len(records) < 2 || columns == 0 {
		return nil
	}
	t := &Table{Cut: columns > maxColumns}
	columns = min(columns, maxColumns)
	for i, r := range records[:min(len(records), maxRows+1)] {
		row := make([]string, columns)
		copy(row, r)
		if i == 0 {
			t.Head = row
			continue
		}
		t.Rows = append(t.Rows, row)
	}
	for c := range t.Head {
		t.numbers = append(t.numbers, t.numeric(c))
	}
	return t
}

// Numeric says that a column holds numbers and nothing else.
func (t *Table) Numeric(column int) bool { return t.numbers[column] }

func (t *Table) numeric(column int) bool {
	seen := false
	for _, r := range t.Rows {
		text := strings.TrimSuffix(r[column], "%")
		if text == "" || text == "NaN" {
			continue
		}
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return false
		}
		seen = true
	}
	return seen
}
