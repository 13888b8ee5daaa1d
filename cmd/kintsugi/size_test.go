package main

import "testing"

func TestParseSize(t *testing.T) {
	t.Parallel()
	good := map[string]int64{"512M": 512 << 20, "2G": 2 << 30, "1.5GiB": 3 << 29, "16777216": 16 << 20, " 64mb ": 64 << 20}
	for text, want := range good {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "M", "lots", "1K", "-2G", "NaN", "999999999T", "0"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %d; want an error", text, got)
		}
	}
}
