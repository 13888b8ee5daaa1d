package look

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time as people read it: "3 ms", "0.3 s", "12 s",
// "2 min 05 s", "1 h 02 min".
func Duration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
}

// Bytes is an amount of memory in binary units: "12 KB", "41 MB", "1.5 GB".
func Bytes(n int64) string {
	const k = 1024
	switch {
	case n < k:
		return fmt.Sprintf("%d B", n)
	case n < k*k:
		return fmt.Sprintf("%d KB", n/k)
	case n < k*k*k:
		return fmt.Sprintf("%d MB", n/k/k)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/k/k/k)
}

// Count groups the digits of a number with thin marks: "1,990,000".
func Count(n int) string {
	s := strconv.Itoa(n)
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Plural is "1 file", "2 files".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Command is an argument list as one would type it in a shell; what was given
// to a shell is shown as it was typed.
func Command(argv []string) string {
	if len(argv) == 3 && argv[1] == "-c" && isShell(path.Base(argv[0])) {
		return argv[2]
	}
	parts := make([]string, len(argv))
	for i, a := range argv {
		parts[i] = quote(a)
	}
	return strings.Join(parts, " ")
}

func isShell(name string) bool {
	return name == "sh" || name == "bash" || name == "dash" || name == "zsh"
}

func quote(a string) string {
	if a != "" && !strings.ContainsAny(a, " \t\n\"'\\$`!*?[](){}<>|&;#~") {
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}
