package sandbox

import (
	"strings"
)

// passed are the variables a box inherits from the host. Anything that could
// carry a secret, a socket or a path into the user's session stays out.
var passed = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true,
	"TERM": true, "COLORTERM": true, "TZ": true, "COLUMNS": true, "LINES": true,
	"NO_COLOR": true,
}

// fixed are set in every box. The locale is fixed so that error messages are
// the ones the rules know. Package managers that would wait for a network are
// told that there is none.
var fixed = []string{
	"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "LANGUAGE=", "TMPDIR=/tmp", "KINTSUGI=1",
	"GOPROXY=off", "GOTOOLCHAIN=local", "CARGO_NET_OFFLINE=true",
}

// BaseEnv is the environment of a box: the allowlisted part of the host's
// (as os.Environ gives it), a fixed locale, and extra on top ("KEY=value";
// later entries win).
func BaseEnv(host []string, extra ...string) []string {
	var env []string
	for _, kv := range host {
		if key, _, ok := strings.Cut(kv, "="); ok && passed[key] {
			env = append(env, kv)
		}
	}
	return MergeEnv(append(env, fixed...), extra...)
}

// MergeEnv sets extra in env: a key of extra replaces the one in env.
func MergeEnv(env []string, extra ...string) []string {
	at := map[string]int{}
	var out []string
	for _, kv := range append(append([]string{}, env...), extra...) {
		key, _, _ := strings.Cut(kv, "=")
		if i, seen := at[key]; seen {
			out[i] = kv
			continue
		}
		at[key] = len(out)
		out = append(out, kv)
	}
	return out
}

// usualPath is the search path of images that set none.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// ImageEnv is the environment of a program in an image: what the image sets,
// over it env, in which the host's search path, wherever it stands, is the
// image's.
func ImageEnv(env, image []string, hosts string) []string {
	search := usualPath
	for _, kv := range image {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	out := MergeEnv(image, env...)
	for i, kv := range out {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok && hosts != "" {
			out[i] = "PATH=" + strings.Replace(v, hosts, search, 1)
		}
	}
	return out
}
