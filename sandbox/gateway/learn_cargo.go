package gateway

import (
	"context"
	"fmt"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// askCargo runs cargo in an empty project with the network leading nowhere:
// the error names the index that it wanted. With the user's configuration
// first, with none second.
const askCargo = `command -v cargo >/dev/null || exit 1
dir=$(pwd)
mkdir -p p/src home
printf '[package]\nname = "probe"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nprobed = "1"\n' > p/Cargo.toml
: > p/src/lib.rs
ask() { (cd p && CARGO_HOME="$dir/home" cargo fetch 2>&1); echo "#end"; }
cp "${CARGO_HOME:-$HOME/.cargo}/config.toml" "${CARGO_HOME:-$HOME/.cargo}/config" home/ 2>/dev/null
ask
if [ -e home/config.toml ] || [ -e home/config ]; then rm -f home/config.toml home/config; ask; fi`

// Some cargos name the address in the error, others only in their log.
var cargoWanted = lazyregexp.New("(?:`|url=\")(https?://[^`\"]+)/config\\.json[`\"]")

func (l Learner) cargo(ctx context.Context) (Learned, error) {
	// Port 9 is "discard": nobody answers there.
	nowhere := "http://127.0.0.1:9"
	out, err := l.Prober.Run(ctx, []string{"sh", "-c", askCargo}, []string{
		"CARGO_HTTP_PROXY=" + nowhere, "http_proxy=" + nowhere, "https_proxy=" + nowhere, "CARGO_NET_RETRY=0",
		"CARGO_TERM_COLOR=never", "CARGO_NET_OFFLINE=false", "CARGO_LOG=network::fetch=debug", "NO_PROXY=", "no_proxy=",
	})
	if err != nil {
		return Learned{}, absentClient("cargo", "a source replacement in its config.toml")
	}
	configured, own, again := strings.Cut(out, "#end")
	m := cargoWanted.FindStringSubmatch(configured)
	if m == nil {
		return Learned{}, fmt.Errorf("cargo did not say which index it uses; only sparse ones can be followed")
	}
	isDefault, origin := true, "cargo's own default"
	if n := cargoWanted.FindStringSubmatch(own); again && n != nil && n[1] != m[1] {
		isDefault, origin = false, "cargo's config.toml"
	}
	var found Learned
	return found, found.add("cargo", m[1], origin, isDefault)
}
