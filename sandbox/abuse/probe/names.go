package probe

import "strings"

// OddNames are file names that are legal and that careless code gets wrong.
func OddNames() []string {
	return []string{
		"line\nbreak", "tab\there", "\x1b[31mred", "bell\a", "\xff\xfe not utf-8", "..twodots", "...", "-rf",
		"--help", " lead", "trail ", "quote'\"`$(id)", "back\\slash", "Case", "case", "e\u0301", "\u00e9",
		"\u202etxt.exe", "*", "?", "#", "~", ".wh.file", ".wh..wh..opq", "con", "nul.txt",
		strings.Repeat("n", 255),
	}
}
