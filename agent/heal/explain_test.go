package heal

import (
	"regexp"
	"strings"
	"testing"
)

// jargon are words that a reader of twelve does not know.
var jargon = strings.Fields(`abi api apis argv binary binaries boolean bytecode cli constructor daemon
	dependency dependencies deprecated distribution elf entrypoint exception exceptions executable
	idempotent instantiate interpreter invoke kernel locale namespace namespaces overflow parameter parse
	parser recursion regex repository resolver runtime segfault semantic shebang specifier stacktrace
	stderr stdin stdlib stdout subprocess symlink syntax thread toolchain traceback transitive tuple
	unicode upstream virtualenv wheel`)

const (
	maxSentences = 4
	maxWords     = 24 // of one sentence
	maxLength    = 330
)

var sentenceEnd = regexp.MustCompile(`[.?!]["”)]?\s+`)

// TestExplanationsAreReadable reads every explanation as a twelve-year-old
// would: a few short sentences, without jargon.
func TestExplanationsAreReadable(t *testing.T) {
	t.Parallel()
	r := load(t)
	count := 0
	for _, rl := range r.rules {
		for name, o := range rl.Outcomes {
			count++
			for _, problem := range unreadable(o.Explain) {
				t.Errorf("%s %s: %s\n\t%s", rl.ID, name, problem, o.Explain)
			}
		}
	}
	if count < 250 {
		t.Errorf("only %d explanations were read", count)
	}
}

var placeholder = regexp.MustCompile(`\{[\w|]+\}`)

func unreadable(text string) []string {
	var out []string
	text = placeholder.ReplaceAllString(text, "Pillow")
	if len(text) > maxLength {
		out = append(out, "too long")
	}
	sentences := sentenceEnd.Split(strings.TrimSpace(text)+" ", -1)
	if n := len(sentences) - 1; n > maxSentences {
		out = append(out, "too many sentences")
	}
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") {
		out = append(out, "no full stop at the end")
	}
	for _, s := range sentences {
		words := strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == ',' || c == ':' || c == ';' })
		if len(words) > maxWords {
			out = append(out, "a sentence is too long: "+s)
		}
		for _, w := range words {
			for _, j := range jargon {
				if strings.EqualFold(strings.Trim(w, "“”’.,?!()"), j) {
					out = append(out, "jargon: "+w)
				}
			}
		}
	}
	return out
}

// TestUnreadableNotices keeps the reader honest.
func TestUnreadableNotices(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"A transitive dependency is missing.",
		"No end",
		"This is one sentence that goes on and on and on and on and on and on and on and on and on and on and on and on.",
		"One. Two. Three. Four. Five.",
	} {
		if len(unreadable(bad)) == 0 {
			t.Errorf("nothing wrong found with %q", bad)
		}
	}
}
