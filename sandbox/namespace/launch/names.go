package launch

import (
	"fmt"
	"strings"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// callName is the name of a call on this architecture.
func callName(nr uint32) string {
	switch nr {
	case opJumpIf:
		return "jump"
	case opSet:
		return "set"
	}
	if info, err := arch.GetInfo(""); err == nil {
		if name, known := info.SyscallNumbers[int(nr)]; known {
			return name
		}
	}
	return fmt.Sprintf("call %d", nr)
}

// String lists the program, one operation a line: index, call, arguments,
// where its failure goes, and what it is for.
func (p *Program) String() string {
	var out strings.Builder
	for i := range p.ops {
		o := &p.ops[i]
		args := make([]string, o.argc)
		for n := range args {
			args[n] = p.describe(o.args[n])
		}
		fmt.Fprintf(&out, "%3d %s(%s)", i, callName(o.nr), strings.Join(args, ", "))
		if o.fail != Next {
			fmt.Fprintf(&out, " else %d", p.labels[o.fail])
		}
		if o.note != "" {
			fmt.Fprintf(&out, "  # %s", o.note)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func (p *Program) describe(a arg) string {
	switch a.kind {
	case argCell:
		return fmt.Sprintf("[%#x]", a.value)
	case argAddr:
		return p.describeData(a.value)
	}
	return fmt.Sprintf("%#x", a.value)
}

// describeData shows text as text and anything else as its place.
func (p *Program) describeData(at uint64) string {
	if at >= uint64(len(p.data)) {
		return fmt.Sprintf("&%#x", at)
	}
	text, _, found := strings.Cut(string(p.data[at:]), "\x00")
	if !found || text == "" || strings.ContainsFunc(text, unprintable) {
		return fmt.Sprintf("&%#x", at)
	}
	return fmt.Sprintf("%q", text)
}

func unprintable(r rune) bool { return r < ' ' || r > '~' }
