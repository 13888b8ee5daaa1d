package gateway

import (
	"context"
	"net/url"
	"strings"
)

// askNpm prints the registry in force, npm's own default, and the user's
// settings file, which is the only place that has credentials.
const askNpm = `npm config get globalconfig > global &
npm config get registry || exit
(unset npm_config_registry NPM_CONFIG_REGISTRY NPM_CONFIG_USERCONFIG NPM_CONFIG_GLOBALCONFIG
 npm_config_userconfig=/nonexistent/npmrc npm_config_globalconfig=/dev/null npm config get registry)
user=${npm_config_userconfig:-${NPM_CONFIG_USERCONFIG:-$HOME/.npmrc}}
cat "$user" 2>/dev/null
wait
grep -q '[$][{]' "$user" $(cat global) 2>/dev/null && exit 0
echo
echo "#kintsugi-files"
echo "$user"
cat global
cd "$(dirname "$(readlink -f "$(command -v npm)")")/.." && echo "$(pwd -P)/npmrc"
true`

func (l Learner) npm(ctx context.Context) (Learned, error) {
	out, err := l.Prober.Run(ctx, []string{"sh", "-c", askNpm}, []string{"npm_config_update_notifier=false"})
	out, files := settingsFiles(out)
	lines := strings.SplitN(out, "\n", 3)
	if err != nil || len(lines) < 3 || !strings.HasPrefix(lines[0], "http") {
		return Learned{}, absentClient("npm", "npm_config_registry")
	}
	found := Learned{files: files}
	isDefault := strings.TrimSuffix(lines[0], "/") == strings.TrimSuffix(lines[1], "/")
	origin := "npm config get registry"
	if isDefault {
		origin = "npm's own default"
	}
	if err := found.add("npm", lines[0], origin, isDefault); err != nil {
		return found, err
	}
	up := &found.Upstreams[0]
	settings := npmSettings(lines[2])
	if auth := npmAuth(settings, up.URL); auth != "" {
		up.Auth = auth
	}
	for key := range settings {
		if strings.HasPrefix(key, "@") {
			found.note("npm", "%s is not followed: one registry, so that names cannot be mixed up", key)
		}
	}
	return found, nil
}

// npmSettings reads key=value lines; values may name variables, which stay
// unresolved and are then of no use.
func npmSettings(text string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		key, v, ok := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); ok && key != "" && key[0] != '#' && key[0] != ';' && !strings.Contains(v, "${") {
			out[key] = strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return out
}

// npmAuth gives the Authorization header that npm would send to the registry.
func npmAuth(settings map[string]string, registry string) string {
	u, err := url.Parse(registry)
	if err != nil {
		return ""
	}
	path := u.Path
	for {
		prefix := "//" + u.Host + strings.TrimSuffix(path, "/") + "/:"
		if t := settings[prefix+"_authToken"]; t != "" {
			return "Bearer " + t
		}
		if t := settings[prefix+"_auth"]; t != "" {
			return "Basic " + t
		}
		if strings.Trim(path, "/") == "" {
			return ""
		}
		path = path[:strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')]
	}
}
