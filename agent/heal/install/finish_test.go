package install

import "testing"

// TestFinishingNamesFamilies: a star in the list of what completes packages
// stands for every package that begins so.
func TestFinishingNamesFamilies(t *testing.T) {
	t.Parallel()
	versions := []string{"texlive-latex-base 2022.20230122-3", "libruby 1:3.1"}
	for name, want := range map[string]bool{"texlive-*": true, "texlive-latex-base": true, "texlive": false, "libruby": true, "lib": false, "r-*": false} {
		if got := hasDeb(versions, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
