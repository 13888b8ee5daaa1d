package model

import "testing"

func TestRecommend(t *testing.T) {
	t.Parallel()
	picks, err := Picks("")
	if err != nil || len(picks) < 5 {
		t.Fatalf("%d picks, %v", len(picks), err)
	}
	for memory, best := range map[int64]string{
		2 << 30: "qwen3:0.6b", 4 << 30: "lfm2.5:1.2b", 7_900_000_000: "qwen3.5:4b", 16 << 30: "qwen3:8b", 64 << 30: "gpt-oss:20b", 0: "qwen3.5:4b",
	} {
		if got := Recommend(picks, memory); len(got) == 0 || got[0].Name != best {
			t.Errorf("%d bytes: %+v, want %s first", memory, got, best)
		}
	}
}

func TestBadListsOfModels(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[[model]]\nname = 3", "[[model]]\nname = \"x\"", "[[model]]\nmemory = 3", "[[model]]\nname = \"x\"\nmemory = 8\ncolour = \"gold\"", "[["} {
		if _, err := Picks(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
