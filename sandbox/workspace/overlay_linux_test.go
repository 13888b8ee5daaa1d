package workspace

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// canOverlay says why real overlays cannot be mounted here; empty when they can.
func canOverlay(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "needs root to mount an overlay in a private mount namespace"
	}
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		return "unshare -m: " + err.Error() + ": " + string(out)
	}
	return ""
}

// inOverlay runs a shell script in the merged view of a draft, mounted for real
// in a mount namespace of its own.
func inOverlay(t *testing.T, project string, d *Draft, script string) {
	t.Helper()
	if why := canOverlay(t); why != "" {
		t.Skip("no real overlay: ", why)
	}
	lower := strings.Join(append(append([]string{}, d.Lower...), project), ":")
	mnt := t.TempDir()
	cmd := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-ec", `
		mount -t overlay overlay -o "userxattr,volatile,lowerdir=$LOWER,upperdir=$UPPER,workdir=$WORK" "$MNT"
		cd "$MNT"
		`+script)
	cmd.Env = append(os.Environ(), "LOWER="+lower, "UPPER="+d.Upper, "WORK="+d.Work, "MNT="+mnt)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("script in overlay: %v\n%s", err, out)
	}
}
