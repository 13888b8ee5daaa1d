package gateway

import (
	"context"
	"strings"
)

const askGem = `puts Gem.sources.to_a, "", Gem.default_sources`

func (l Learner) gem(ctx context.Context) (Learned, error) {
	out, err := l.Prober.Run(ctx, []string{"ruby", "-rrubygems", "-e", askGem}, nil)
	sources, own, ok := strings.Cut(out, "\n\n")
	list := strings.Fields(sources)
	if err != nil || !ok || len(list) == 0 {
		return Learned{}, absentClient("gem", "a source in ~/.gemrc")
	}
	var found Learned
	for _, other := range list[1:] {
		found.note("gem", "the source %s is not followed: one source, so that names cannot be mixed up", hideUser(other))
	}
	if contains(strings.Fields(own), list[0]) {
		return found, found.add("gem", list[0], "gem's own default", true)
	}
	return found, found.add("gem", list[0], "gem sources", false)
}

// hideUser drops credentials from an address that is shown.
func hideUser(addr string) string {
	if at := strings.LastIndexByte(addr, '@'); at >= 0 {
		if scheme := strings.Index(addr, "://"); scheme >= 0 && scheme < at {
			return addr[:scheme+3] + addr[at+1:]
		}
	}
	return addr
}
