package namespace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A mark beside the leases says that boxes work here, and with which control
// groups. A new process then need not make one to find out: it costs as much as
// running the user's program.
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

// note is what a mark says.
type note struct {
	Sign string `json:"sign"`
	// Own is which control group this process was in, Version, Bases and Why what
	// was found for it.
	Own     string            `json:"own,omitempty"`
	Version int               `json:"version,omitempty"`
	Bases   map[string]string `json:"bases,omitempty"`
	Why     string            `json:"why,omitempty"`
}

// recall reads the mark; it is empty when there is none for this boot and build.
func (h *host) recall() note {
	var n note
	text, err := os.ReadFile(h.markPath())
	if err != nil || json.Unmarshal(text, &n) != nil || n.Sign == "" || n.Sign != sign() {
		return note{}
	}
	return n
}

// marked says whether boxes are known to work.
func (h *host) marked() bool { return h.recall().Sign != "" }

// mark notes that boxes work, with these control groups. A mark that cannot be
// written only costs time.
func (h *host) mark(c *cgroups) {
	n := note{Sign: sign()}
	if c.version != 0 {
		n.Own, n.Version, n.Bases, n.Why = c.own, c.version, c.bases, c.why
	}
	text, err := json.Marshal(n)
	if n.Sign == "" || err != nil {
		return
	}
	draft := fmt.Sprintf("%s-%d", h.markPath(), os.Getpid())
	if os.WriteFile(draft, text, 0o600) == nil {
		_ = os.Rename(draft, h.markPath())
	}
}

// groups are the control groups that the mark tells of, if this process is in
// the same group and still may make some.
func (n note) groups(own string) *cgroups {
	if n.Version == 0 || n.Own != own || own == "" {
		return nil
	}
	for _, base := range n.Bases {
		if unix.Access(base, unix.W_OK|unix.X_OK) != nil {
			return nil
		}
	}
	return &cgroups{version: n.Version, bases: n.Bases, why: n.Why, own: own}
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
