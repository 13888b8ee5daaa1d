package gateway

import (
	"context"
	"strings"
)

// askGo prints the settings in force and go's own defaults.
const askGo = `go env GOPROXY GOSUMDB GONOSUMDB GOPRIVATE || exit
GOPROXY= GOSUMDB= GOENV=off go env GOPROXY GOSUMDB`

func (l Learner) gomod(ctx context.Context) (Learned, error) {
	out, err := l.Prober.Run(ctx, []string{"sh", "-c", askGo}, []string{"GOTOOLCHAIN=local"})
	lines := strings.Split(out, "\n")
	if err != nil || len(lines) < 6 {
		return Learned{}, absentClient("go", "GOPROXY")
	}
	return readGo(lines[0], lines[1], lines[4], lines[2]+lines[3] != "")
}

// readGo reads a list of proxies: "," goes on when a proxy lacks a module, "|"
// whatever goes wrong.
func readGo(proxies, sumdb, ownProxies string, exceptions bool) (Learned, error) {
	var found Learned
	isDefault := proxies == ownProxies
	origin := "go env GOPROXY"
	if isDefault {
		origin = "go's own default"
	}
	for proxies != "" {
		end := strings.IndexAny(proxies, ",|")
		entry, sep := proxies, byte(',')
		if proxies = ""; end >= 0 {
			entry, sep, proxies = entry[:end], entry[end], entry[end+1:]
		}
		if entry = strings.TrimSpace(entry); !strings.HasPrefix(entry, "http") {
			if entry != "direct" || !isDefault {
				found.note("go", "%q in GOPROXY is not followed: modules come from a proxy only", entry)
			}
			continue
		}
		if err := found.add("go", entry, origin, isDefault); err != nil {
			return found, err
		}
		up := &found.Upstreams[len(found.Upstreams)-1]
		up.Any = sep == '|'
		if sumdb != "off" {
			up.Sum = sumdb
		}
	}
	if exceptions {
		found.note("go", "GOPRIVATE and GONOSUMDB are not followed: every module is checked")
	}
	if len(found.Upstreams) == 0 {
		return found, absentClient("a module proxy", "GOPROXY")
	}
	return found, nil
}
