package probe

import "strings"

// HostileText is output that steers a careless terminal: titles, clipboard,
// links, reports, modes, 8-bit controls, bidi overrides and a sequence that
// never ends.
func HostileText() string {
	return strings.Join([]string{
		"\x1b]52;c;cm0gLXJmIH4=\a", "\x1b]0;title\x1b\\", "\x1b]2;title\a", "\x1b]7;file://host/etc\a",
		"\x1b]8;;http://example.test\x1b\\click\x1b]8;;\x1b\\", "\x1bP1$qm\x1b\\", "\x1b_apc\x1b\\", "\x1b^pm\x1b\\",
		"\x1bXsos\x1b\\", "\x1b[6n", "\x1b[21t", "\x1b[c", "\x1b[?1049h", "\x1b[?2004h", "\x1b[?1000h\x1b[?1006h",
		"\x1b[2J\x1b[H", "\x1b[3J", "\x1bc", "\x1b[1;1r", "\x1b#8", "\x1b(0", "\x1b[>4;2m", "\x0e\x0f",
		"\x9b31m", "\u009b6n", "\u009d0;t\u009c", "\u0090q\u009c", strings.Repeat("\a", 64),
		"\u202e\u2066reversed\u2069", "a\u200bb\ufeffc", "\x1b[31mred\x1b[0m", "\x1b]0;never ends",
	}, "\n")
}

// SpoofText is output that hides a line beneath another.
func SpoofText() string {
	return "FAIL: 3 tests\rPASS: all good\nFAIL\b\b\b\bPASS\nFAIL\x00\x7f\x0b\x0c\x1b[2K\x1b[1APASS\n"
}

// TornText is text that is no valid UTF-8, to be cut anywhere.
func TornText() string {
	return "\xe2\x82 \xf0\x9f\x98 \xc0\xaf \xed\xa0\x80 \xff\xfe e\xcc\x81 \xe2\x82\xac \xf4\x90\x80\x80 \xf0\x9f"
}
