package main

import (
	"os/exec"
	"testing"
)

// An image need not have the shells of this machine.
func TestShellIn(t *testing.T) {
	t.Parallel()
	if got := shellIn("sha256:0123"); got != "/bin/sh" {
		t.Errorf("in an image: %s", got)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		bash = "/bin/sh"
	}
	if got := shellIn(""); got != bash {
		t.Errorf("on this machine: %s, want %s", got, bash)
	}
}
