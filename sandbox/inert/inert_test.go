package inert

import (
	"bytes"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestString(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":               {"a b\tc\nd", "a b\tc\nd"},
		"languages":           {"héllo 世界 привет", "héllo 世界 привет"},
		"colour":              {"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
		"empty SGR is reset":  {"\x1b[1mx\x1b[m", "\x1b[1mx\x1b[0m"},
		"left open":           {"\x1b[1;31mx", "\x1b[1;31mx\x1b[0m"},
		"closed by hand":      {"\x1b[1;31mx\x1b[22;39m", "\x1b[1;31mx\x1b[22;39m"},
		"256 and true colour": {"\x1b[38;5;208;48;2;1;2;3mx\x1b[m", "\x1b[38;5;208;48;2;1;2;3mx\x1b[0m"},
		"colon forms":         {"\x1b[38:2::9:8:7mx\x1b[38:2:1:2:3my\x1b[48:5:4mz\x1b[m", "\x1b[38;2;9;8;7mx\x1b[38;2;1;2;3my\x1b[48;5;4mz\x1b[0m"},
		"curly underline":     {"\x1b[4:3mx\x1b[4:0my", "\x1b[4mx\x1b[24my"},
		"underline colour":    {"\x1b[58;5;6;31mx\x1b[m", "\x1b[31mx\x1b[0m"},
		"conceal and blink":   {"\x1b[8mx\x1b[5;6my\x1b[1;8;5mz\x1b[m", "xy\x1b[1mz\x1b[0m"},
		"fonts and junk":      {"\x1b[11;73;99999999999mx", "x"},
		"malformed colour":    {"\x1b[38;9;31mx\x1b[38;5;999my\x1b[38mz", "xyz"},
		"text as background":  {"\x1b[31m\x1b[41mx\x1b[m", "\x1b[31m\x1b[41;49mx\x1b[0m"},
		"near background":     {"\x1b[48;2;1;1;1m\x1b[30mx\x1b[m", "\x1b[48;2;1;1;1m\x1b[30;49mx\x1b[0m"},
		"key mode, not SGR":   {"\x1b[>4;2m\x1b[?4m\x1b[1 m", "␛[>4;2m␛[?4m␛[1 m"},
		"clipboard":           {"\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"},
		"title, string end":   {"\x1b]0;hi\x1b\\", "␛]0;hi␛\\"},
		"link":                {"\x1b]8;;http://example.test\x1b\\t", "␛]8;;http://example.test␛\\t"},
		"DCS APC PM SOS":      {"\x1bPq\x1b_a\x1b^p\x1bXs", "␛Pq␛_a␛^p␛Xs"},
		"reports, modes":      {"\x1b[6n\x1b[21t\x1b[?1049h\x1b[?1000h\x1bc", "␛[6n␛[21t␛[?1049h␛[?1000h␛c"},
		"cursor, erase":       {"\x1b[2J\x1b[1A\x1b[K", "␛[2J␛[1A␛[K"},
		"unterminated":        {"\x1b]0;never ends\nnext", "␛]0;never ends\nnext"},
		"cut short":           {"x\x1b[12;3", "x␛[12;3"},
		"ESC ESC":             {"\x1b\x1b[31mx\x1b[m\x1b", "␛\x1b[31mx\x1b[0m␛"},
		"over-long SGR":       {"\x1b[" + strings.Repeat("1;", 40) + "m", "␛[" + strings.Repeat("1;", 40) + "m"},
		"C1 as bytes":         {"\x9b31m\x9d0;x\x9c", "\ufffd31m\ufffd0;x\ufffd"},
		"C1 as UTF-8":         {"\u009b31m\u0085", "<U+009B>31m<U+0085>"},
		"controls":            {"a\x00\x07\x08\x0b\x0c\x0e\x7f", "a␀␇␈␋␌␎␡"},
		"bidi":                {"\u202eabc\u202c\u2066x\u2069\u200e\u200f\u061c", "<U+202E>abc<U+202C><U+2066>x<U+2069><U+200E><U+200F><U+061C>"},
		"invisible":           {"a\u200bb\ufeffc\u2060\u00ad\u3164", "a<U+200B>b<U+FEFF>c<U+2060><U+00AD><U+3164>"},
		"tags, selectors":     {"a\U000e0041\U000e0101\ufe00", "a<U+E0041><U+E0101><U+FE00>"},
		"noncharacters":       {"\uffff\U0010fffe\ufdd0", "<U+FFFF><U+10FFFE><U+FDD0>"},
		"line separators":     {"a\u2028b\u2029", "a<U+2028>b<U+2029>"},
		"emoji":               {"👩\u200d🚀 ⚠\ufe0f 1\ufe0f\u20e3 🏳\ufe0f\u200d🌈", "👩\u200d🚀 ⚠\ufe0f 1\ufe0f\u20e3 🏳\ufe0f\u200d🌈"},
		"joiners in words":    {"क्\u200dष می\u200cخواهم", "क्\u200dष می\u200cخواهم"},
		"joiners in code":     {"pass\u200dword a\u200cb क\u200d\u200d", "pass<U+200D>word a<U+200C>b क\u200d<U+200D>"},
		"marks":               {"e\u0301" + strings.Repeat("\u0302", 9), "e\u0301" + strings.Repeat("\u0302", 7) + "<U+0302><U+0302>"},
		"invalid UTF-8":       {"a\xffb\xc3(\xe2\x82\xf0\x9f", "a\ufffdb\ufffd(\ufffd\ufffd\ufffd\ufffd"},
		"surrogate, overlong": {"\xed\xa0\x80\xc0\x80", strings.Repeat("\ufffd", 5)},
		"CRLF":                {"a\r\nb\r\r\nc", "a\nb␍\nc"},
		"CR spoof":            {"FAIL\rPASS\n\r", "FAIL␍PASS\n␍"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := String(c.in); got != c.want {
				t.Errorf("String(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
			if got := bytewise(c.in); got != c.want {
				t.Errorf("one byte at a time, %q\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	if got, want := String("10%\r20%\r\n", KeepCR), "10%\r20%\r\n"; got != want {
		t.Errorf("KeepCR: got %q, want %q", got, want)
	}
	if got, want := String("\x1b[31mx\r", NoColour, KeepCR), "␛[31mx\r"; got != want {
		t.Errorf("NoColour: got %q, want %q", got, want)
	}
}

func TestFlushStartsAnew(t *testing.T) {
	t.Parallel()
	f := New(KeepCR)
	if got, want := f.Write([]byte("\x1b[1mx\x1b["))+f.Flush(), "\x1b[1mx␛[\x1b[0m"; got != want {
		t.Errorf("first stream: got %q, want %q", got, want)
	}
	if got, want := f.Write([]byte("y\r"))+f.Flush(), "y\r"; got != want {
		t.Errorf("second stream: got %q, want %q", got, want)
	}
}

func TestLongLineKeepsMemory(t *testing.T) {
	chunk := bytes.Repeat([]byte("\x1b]0;x\u202e 1\r"), 4096)
	f := New()
	buf := f.Append(nil, chunk)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	total := 0
	for total < 24<<20 {
		buf = f.Append(buf[:0], chunk)
		total += len(chunk)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("a line of %d bytes allocated %d bytes", total, grown)
	}
}

var sgr = regexp.MustCompile(`\x1b\[[0-9]+(;[0-9]+)*m`)

// unsafeText finds what must never be in filtered text.
var unsafeText = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{200b}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{feff}\x{e0000}-\x{e0fff}]`)

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"", "\x1b[31m\x1b[41mx", "\x1b]52;c;\xff", "\u202e\r\n\r", "\x1b[38:2::1:2:3;48;5;1m", "क्\u200dष\xe2\x82"} {
		f.Add(s, 1, 5)
	}
	f.Fuzz(func(t *testing.T, s string, i, j int) {
		whole := String(s)
		if bad := unsafeText.FindString(sgr.ReplaceAllString(whole, "")); bad != "" {
			t.Errorf("%q leaves %q in %q", s, bad, whole)
		}
		if !utf8.ValidString(whole) {
			t.Errorf("%q gives invalid UTF-8 %q", s, whole)
		}
		if len(whole) > 9*len(s)+4 {
			t.Errorf("%d bytes grew to %d", len(s), len(whole))
		}
		if again := String(whole); again != whole {
			t.Errorf("not stable:\n once %q\ntwice %q", whole, again)
		}
		if got := split(s, i, j); got != whole {
			t.Errorf("cut at %d and %d:\n got %q\nwant %q", i, j, got, whole)
		}
		if got := bytewise(s); got != whole {
			t.Errorf("one byte at a time:\n got %q\nwant %q", got, whole)
		}
	})
}

func split(s string, i, j int) string {
	i = min(max(i, 0), len(s))
	j = min(max(j, i), len(s))
	f := New()
	return f.Write([]byte(s[:i])) + f.Write([]byte(s[i:j])) + f.Write([]byte(s[j:])) + f.Flush()
}

func bytewise(s string) string {
	f := New()
	var out strings.Builder
	for i := range len(s) {
		out.WriteString(f.Write([]byte{s[i]}))
	}
	out.WriteString(f.Flush())
	return out.String()
}

func BenchmarkFilter(b *testing.B) {
	for name, line := range map[string]string{
		"ascii":  "collecting 1234 of 5678 packages, please wait a moment\n",
		"colour": "\x1b[32mok\x1b[0m  1234 of \x1b[1;38;5;208m5678\x1b[0m packages\n",
		"utf8":   "世界 привет héllo ✓ 👩\u200d🚀\n",
		"attack": "\x1b]52;c;aGk=\x07\u202e\x9b\r\x00\n",
	} {
		b.Run(name, func(b *testing.B) {
			chunk := []byte(strings.Repeat(line, 32<<10/len(line)))
			f := New()
			var buf []byte
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				buf = f.Append(buf[:0], chunk)
			}
		})
	}
}
