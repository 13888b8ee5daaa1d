package cell

import (
	"strings"
	"testing"
)

func TestWrapCodeKeepsWordsAndIndents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"from kintsugi_pottery import Bowl", 30, "from kintsugi_pottery import |  Bowl"},
		{"by = df.groupby(df.day.dt.month).mean()", 20, "by = df.groupby(df.|  day.dt.month).|  mean()"},
		{"    x = f(one, two)", 14, "    x = f(one,|      two)"},
		{"averyveryverylongword", 8, "averyver|  yveryl|  ongwor|  d"},
		{"a  b", 10, "a  b"},
		{"      deep = call(one)", 4, "    |  de|  ep|   =|  ca|  ll|  (o|  ne|  )"},
		{"", 10, ""},
	} {
		var rows []string
		for _, r := range WrapCode(Span{Text: c.line}, c.width) {
			if r.Width() > c.width {
				t.Errorf("%q is wider than %d", textOf(r), c.width)
			}
			rows = append(rows, textOf(r))
		}
		if got := strings.Join(rows, "|"); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

func textOf(r Row) string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.Text)
	}
	return b.String()
}

func TestWrapCodeEndsWhateverTheWidth(t *testing.T) {
	t.Parallel()
	for width := -1; width < 6; width++ {
		for _, line := range []string{"漢字", "  漢 = 字(é)", "\t\tx", "x\u0301y", "      "} {
			rows := WrapCode(Span{Text: line}, width)
			if len(rows) == 0 || len(rows) > 20 {
				t.Errorf("%q in %d: %d rows", line, width, len(rows))
			}
		}
	}
}
