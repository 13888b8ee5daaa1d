package gateway

import (
	"context"
	"encoding/xml"
	"fmt"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// askMaven runs Maven offline for a plugin that it cannot have: the error names
// the repository that it would ask. At the same time it runs with no settings,
// for its own default, and then tells the settings, for the credentials.
const askMaven = `command -v mvn >/dev/null || exit 1
echo '<settings/>' > none.xml
ask() { mvn -B -o -Dmaven.repo.local="$PWD/repo-$1" "$@" probe:probe-maven-plugin:1:go 2>&1; }
ask -Dprobe=own -s none.xml -gs none.xml > own.txt &
ask -Dprobe=set
wait
echo "#end"
cat own.txt
echo "#end"
user=$HOME/.m2/settings.xml
home=$(cd "$(dirname "$(readlink -f "$(command -v mvn)")")/.." && pwd -P)
cat "$user" 2>/dev/null
grep -q '[$][{]' "$user" 2>/dev/null && exit 0
echo
echo "#kintsugi-files"
printf '%s\n' "$user" "$home/conf/settings.xml" "$HOME/.mavenrc" /etc/mavenrc /usr/local/etc/mavenrc`

var mavenWanted = lazyregexp.New(`Cannot access (\S+) \((https?://[^)\s]+)\) in offline mode`)

func (l Learner) maven(ctx context.Context) (Learned, error) {
	out, err := l.Prober.Run(ctx, []string{"sh", "-c", askMaven}, []string{"MAVEN_ARGS="})
	if err != nil {
		return Learned{}, absentClient("mvn", "a mirror in ~/.m2/settings.xml")
	}
	out, files := settingsFiles(out)
	part := strings.SplitN(out, "#end\n", 3)
	m := mavenWanted.FindStringSubmatch(part[0])
	if m == nil || len(part) < 3 {
		return Learned{}, fmt.Errorf("mvn did not say which repository it uses; mvn -o validate may say why")
	}
	found := Learned{files: files}
	if own := mavenWanted.FindStringSubmatch(part[1]); own != nil && own[2] == m[2] {
		return found, found.add("maven", m[2], "Maven's own default", true)
	}
	if err := found.add("maven", m[2], "the mirror "+m[1]+" in Maven's settings", false); err != nil {
		return found, err
	}
	found.mavenLogin(m[1], part[2])
	return found, nil
}

// mavenLogin takes the credentials that Maven's settings have for the mirror of
// that id.
func (l *Learned) mavenLogin(id, settings string) {
	var doc struct {
		Servers []struct {
			ID       string `xml:"id"`
			Username string `xml:"username"`
			Password string `xml:"password"`
		} `xml:"servers>server"`
	}
	if xml.Unmarshal([]byte(settings), &doc) != nil {
		return
	}
	for _, s := range doc.Servers {
		switch {
		case s.ID != id || s.Username == "":
		case strings.ContainsAny(s.Password, "{$"):
			l.note("maven", "the password of the server %s is encrypted or a variable, and is not used", id)
		default:
			l.Upstreams[len(l.Upstreams)-1].Auth = basic(s.Username, s.Password)
		}
	}
}
