package heal

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// buildLog is a megabyte of an ordinary build, with an error at its end.
func buildLog() string {
	var b strings.Builder
	for i := 0; b.Len() < maxText-600; i++ {
		fmt.Fprintf(&b, "[%6d] INFO  step %d: compiling src/module_%d.c, warning: unused variable 'x' in function f%d\n", i, i%97, i, i)
	}
	b.WriteString("Traceback (most recent call last):\n  File \"main.py\", line 3, in <module>\n    import yaml\nModuleNotFoundError: No module named 'yaml'\n")
	return b.String()
}

// hostileLog repeats the words rules look for, without being any error.
func hostileLog() string {
	line := "error: No such file or directory: not found, Cannot find module, permission denied, fatal error: x undefined reference to `\n"
	return strings.Repeat(line, maxText/len(line))
}

// hardTexts are a megabyte each, made to be slow.
func hardTexts() map[string]string {
	return map[string]string{
		"hostile":    hostileLog(),
		"oneline":    strings.Repeat("No module named ", maxText/16),
		"escapes":    strings.Repeat("\x1b[31mred\x1b[0m text\r\n", maxText/22),
		"openescape": strings.Repeat("\x1b]0;", maxText/4),
		"tracebacks": strings.Repeat("Traceback (most recent call last):\n  File \"a.py\", line 1\n", maxText/55),
		"returns":    strings.Repeat("10%\r", maxText/4),
		"backtrack":  strings.Repeat("a", 900) + strings.Repeat("undefined reference to `a(", maxText/26),
	}
}

// TestHardTextsAreBounded: no text makes a diagnosis take long.
func TestHardTextsAreBounded(t *testing.T) {
	rules := load(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, text := range hardTexts() {
		start := cpuTime()
		rules.Diagnose(Input{Text: text, Exit: 1, Argv: []string{"sh"}})
		took := cpuTime() - start
		t.Logf("%s: %v", name, took)
		limit := 250 * time.Millisecond
		if raceEnabled {
			limit *= 20
		}
		if took > limit {
			t.Errorf("%s took %v, want at most %v", name, took, limit)
		}
	}
}

func BenchmarkDiagnose(b *testing.B) {
	rules := load(b)
	texts := hardTexts()
	texts["build"] = buildLog()
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				rules.Diagnose(Input{Text: text, Exit: 1})
			}
		})
	}
}

// TestMegabyteIsFast keeps the promise that a megabyte of output is diagnosed
// in 5 ms. It measures processor time, since other programs share
// the machine, and allows for the race detector.
func TestMegabyteIsFast(t *testing.T) {
	rules := load(t)
	text := buildLog()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const runs = 40
	start := cpuTime()
	for range runs {
		if d := rules.Diagnose(Input{Text: text, Exit: 1}); d.Subject != "yaml" {
			t.Fatalf("diagnosed %+v", d)
		}
	}
	took := (cpuTime() - start) / runs
	t.Logf("a megabyte took %v", took)
	limit := 5 * time.Millisecond
	if raceEnabled {
		limit *= 20
	}
	if took > limit {
		t.Errorf("a megabyte took %v, want at most %v", took, limit)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		load(b)
	}
}
