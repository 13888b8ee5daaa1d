package namespace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// A mark beside the leases says that boxes work here. A new process then need
// not make one to find out: it costs as much as running the user's program.
// The mark is good for one boot of the machine and one build of this program.
// When a box cannot be made all the same (an administrator closed a door
// meanwhile), the mark goes and the reason is looked for.

func (h *host) markPath() string { return filepath.Join(h.stateDir, "works") }

// sign is what a mark must say: the boot and the program that it is from.
// Empty means that no mark can be trusted.
func sign() string {
	boot := sysctl("kernel/random/boot_id")
	st, err := os.Stat("/proc/self/exe")
	if boot == "" || err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", boot, st.Size(), st.ModTime().UnixNano())
}

// marked says whether boxes are known to work.
func (h *host) marked() bool {
	said, err := os.ReadFile(h.markPath())
	want := sign()
	return err == nil && want != "" && string(said) == want
}

// mark notes that boxes work. A mark that cannot be written only costs time.
func (h *host) mark() {
	if want := sign(); want != "" {
		_ = os.WriteFile(h.markPath(), []byte(want), 0o600)
	}
}

// refused looks for the reason when a box could not be made: what a mark says
// may have changed. An error that has to do with this one program stays as it
// is.
func (r *Runtime) refused(ctx context.Context, err error) error {
	h, herr := r.host()
	if herr != nil || !h.marked() {
		return err
	}
	own := r.tryOne(ctx)
	if own == nil || ctx.Err() != nil {
		return err
	}
	_ = os.Remove(h.markPath())
	why := classify(own, gather())
	return fmt.Errorf("no box can be made here: %s; to make it work: %s (%w)", why.Reason, why.Remedy, err)
}
