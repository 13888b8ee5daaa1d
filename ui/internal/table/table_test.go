package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

func theLook(t testing.TB) *look.Look {
	t.Helper()
	th, err := themes.Load(themes.Mono, nil)
	if err != nil {
		t.Fatal(err)
	}
	return look.New(th, false, 1)
}

// drawn is a table as one sees it.
func drawn(t testing.TB, table *Table, w, first, n int) string {
	t.Helper()
	var out []string
	for _, r := range table.Draw(theLook(t), w, first, n) {
		if got := r.Width(); got > w {
			t.Errorf("a row is %d cells wide, at most %d fit", got, w)
		}
		out = append(out, strings.TrimRight(ansi.Strip(r.Render(w, cell.NewStyle("", "", 0))), " "))
	}
	return strings.Join(out, "\n")
}

func TestTablesAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table *Table
		want  string
	}{
		"commas":     {Separated("name,n\nAda,1\n\"Bo, jr\",20\n", ',', true), "name     n\n──────────\nAda      1\nBo, jr  20"},
		"semicolons": {Separated("\ufeffa;b\n1;x\n", ',', true), "a  b\n────\n1  x"},
		"tabs":       {Separated("a\tb\n1\tx\n", '\t', true), "a  b\n────\n1  x"},
		"ragged":     {Separated("a,b\n1\n1,2,3\n", ',', true), "a  b\n───────\n1\n1  2  3"},
		"cut":        {Separated("a,b\n1,2\n3,", ',', false), "a  b\n────\n1  2"},
		"frame":      {Aligned("   day  temp\n0    1   1.4\n1    2  10.2\n"), "   day  temp\n────────────\n0    1   1.4\n1    2  10.2"},
		"wide text":  {Separated("名,n\n日本語,1\n", ',', true), "名      n\n─────────\n日本語  1"},
	} {
		if c.table == nil {
			t.Errorf("%s: no table", name)
			continue
		}
		if got := drawn(t, c.table, 40, 0, 10); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestWhatIsNoTable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "one line", "Dear all,\nthis is a letter that\nhas some lines in it.\n", "a  b\n1  2\n"} {
		if got := Aligned(text); got != nil {
			t.Errorf("%q became %+v", text, got)
		}
	}
	if got := Separated("only a head\n", ',', true); got != nil {
		t.Errorf("a head alone became %+v", got)
	}
}

func TestTheLastTableOfAnOutputIsFound(t *testing.T) {
	t.Parallel()
	series := "day\n1      1.4\n2      2.9\n3     20.3\nName: temp, dtype: float64\n"
	frame := "reading\n\n   day  temp\n0    1   1.4\n1    2  10.2\n\n[2 rows x 2 columns]\ndone\n"
	for text, want := range map[string]string{
		frame:          "   day  temp\n────────────\n0    1   1.4\n1    2  10.2",
		series:         "day\n─────────\n  1   1.4\n  2   2.9\n  3  20.3",
		series + frame: "   day  temp\n────────────\n0    1   1.4\n1    2  10.2",
	} {
		got := Last(text)
		if got == nil {
			t.Errorf("no table in %q", text)
			continue
		}
		if d := drawn(t, got, 40, 0, 9); d != want {
			t.Errorf("got\n%s\nwant\n%s", d, want)
		}
	}
	if got := Last("Hello there.\nThis is no table,\nonly three lines.\n"); got != nil {
		t.Errorf("prose became %+v", got)
	}
}

func TestTablesAreBounded(t *testing.T) {
	t.Parallel()
	wide := strings.TrimSuffix(strings.Repeat("x,", 5000), ",") + "\n"
	long := "n\n" + strings.Repeat("1\n", 200_000)
	deep := "n\n\"" + strings.Repeat("x", 100_000) + "\"\n"
	for name, table := range map[string]*Table{"wide": Separated(wide+wide, ',', true), "long": Separated(long, ',', true), "deep": Separated(deep, ',', true)} {
		if table == nil {
			t.Errorf("%s: no table", name)
			continue
		}
		if len(table.Rows) > maxRows || len(table.Head) > maxColumns || len(table.Rows[0][0]) > maxCell+4 {
			t.Errorf("%s: %d rows, %d columns", name, len(table.Rows), len(table.Head))
		}
		if name != "deep" && !table.Cut {
			t.Errorf("%s does not say that it was cut", name)
		}
	}
}

func TestColumnsThatDoNotFitAreCounted(t *testing.T) {
	t.Parallel()
	var head, row []string
	for i := range 20 {
		head, row = append(head, fmt.Sprint("column", i)), append(row, fmt.Sprint(i*1000))
	}
	table := Separated(strings.Join(head, ",")+"\n"+strings.Join(row, ",")+"\n", ',', true)
	if got, want := drawn(t, table, 40, 0, 5), "column0  column1  column2  column3  +16\n──────────────────────────────────\n      0     1000     2000     3000"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func FuzzTables(f *testing.F) {
	f.Add("a,b\n1,2\n")
	f.Add("   x  y\n0  1  2\n1  3  4\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, table := range []*Table{Separated(text, ',', true), Separated(text, '\t', false), Aligned(text)} {
			if table != nil {
				drawn(t, table, 30, 0, 20)
			}
		}
	})
}
