package gateway

import (
	"context"
	"errors"
	"strings"
)

// askPip prints pip's own default index, then its merged configuration. A
// Python without pip may still have the copy that virtual environments get.
const askPip = `import sys, os, glob
try:
    import pip
except ImportError:
    found = glob.glob("/usr/share/python-wheels/pip-*.whl")
    try:
        import ensurepip
        found += glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), "_bundled", "pip-*.whl"))
    except ImportError:
        pass
    sys.path[:0] = found[:1]
from pip._internal.models.index import PyPI
print(PyPI.simple_url)
sys.stdout.flush()
from pip._internal.cli.main import main
main(["--disable-pip-version-check", "config", "list"])
sys.stdout.flush()
try:
    from pip._internal.configuration import get_configuration_files
    files = sum(get_configuration_files().values(), [])
    print("", "#kintsugi-files", os.environ.get("PIP_CONFIG_FILE", ""), *files, sep="\n")
except Exception:
    pass`

func (l Learner) pip(ctx context.Context) (Learned, error) {
	out, err := l.Prober.Run(ctx, []string{"python3", "-c", askPip}, nil)
	if err != nil {
		out, _ = l.Prober.Run(ctx, []string{"python", "-c", askPip}, nil)
	}
	out, files := settingsFiles(out)
	own, settings, _ := strings.Cut(out, "\n")
	if own = strings.TrimSpace(own); own == "" {
		return Learned{}, absentClient("pip", "PIP_INDEX_URL")
	}
	found, err := readPip(own, pipSettings(settings))
	found.files = files
	return found, err
}

// readPip picks the index: the environment wins over the commands' sections,
// and these over the general one, as in pip.
func readPip(own string, set map[string]string) (Learned, error) {
	var found Learned
	for _, not := range []string{"extra-index-url", "find-links"} {
		if key, v := pipSetting(set, not); v != "" {
			found.note("pip", "%s (%s) is not followed: one index, so that names cannot be mixed up", not, key)
		}
	}
	if key, v := pipSetting(set, "no-index"); v != "" && v != "0" && !strings.EqualFold(v, "false") {
		return found, errors.New("pip is configured to use no index (" + key + ")")
	}
	key, v := pipSetting(set, "index-url")
	if v == "" {
		return found, found.add("pip", own, "pip's own default", true)
	}
	return found, found.add("pip", v, key, false)
}

func pipSetting(set map[string]string, name string) (origin, value string) {
	if v := set[":env:."+name]; v != "" {
		return "PIP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")), v
	}
	for _, section := range []string{"install", "download", "global"} {
		if v := set[section+"."+name]; v != "" {
			return "pip configuration, " + section + "." + name, v
		}
	}
	return "", ""
}

// pipSettings reads lines like global.timeout='60'.
func pipSettings(text string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if key, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			out[key] = strings.Trim(v, `'"`)
		}
	}
	return out
}
