package gateway

import (
	"context"
	"errors"
	"strings"
)

// askApt prints every file of apt's sources behind a line with its name.
const askApt = `command -v apt-get >/dev/null || exit 1
list=/etc/apt/sources.list parts=/etc/apt/sources.list.d/
eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
for f in "$list" "${parts%/}"/*.list "${parts%/}"/*.sources; do
  if [ -f "$f" ]; then printf '\n\n#file %s\n' "$f"; cat "$f"; fi
done
for f in /etc/apt/auth.conf /etc/apt/auth.conf.d/*.conf; do
  if [ -r "$f" ]; then printf '\n\n#auth %s\n' "$f"; cat "$f"; fi
done`

func (l Learner) apt(ctx context.Context) (Learned, error) {
	out, err := l.Prober.Run(ctx, []string{"sh", "-c", askApt}, nil)
	if err != nil {
		return Learned{}, errors.New("this system has no apt")
	}
	var found Learned
	var auth string
	for _, part := range strings.Split(out, "\n\n#")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		kind, name, _ := strings.Cut(head, " ")
		switch {
		case kind == "auth":
			auth += body + "\n"
		case strings.HasSuffix(name, ".sources"):
			found.deb822(name, body)
		default:
			found.oneLine(name, body)
		}
	}
	for i := range found.Upstreams {
		found.Upstreams[i].login(auth)
	}
	if len(found.Upstreams) == 0 {
		return found, errors.New("apt has no source that is reached by http or https")
	}
	return found, nil
}

// source adds one archive for each of the addresses.
func (l *Learned) source(origin string, uris []string, fields []Field) {
	for _, uri := range uris {
		if !strings.HasPrefix(uri, "http://") && !strings.HasPrefix(uri, "https://") {
			l.note("apt", "%s in %s is not followed: only http and https are", uri, origin)
			continue
		}
		if err := l.add("apt", uri, origin, false); err != nil {
			l.note("apt", "%v", err)
			continue
		}
		l.Upstreams[len(l.Upstreams)-1].Source = fields
	}
}

// deb822 reads sources in paragraphs of fields.
func (l *Learned) deb822(origin, text string) {
	for _, fields := range paragraphs(text) {
		var uris []string
		var rest []Field
		use := true
		for _, f := range fields {
			switch strings.ToLower(f.Name) {
			case "uris":
				uris = strings.Fields(f.Value)
			case "types":
				use = use && contains(strings.Fields(f.Value), "deb")
			case "enabled":
				use = use && !contains([]string{"no", "false", "without", "off", "disable"}, strings.ToLower(f.Value))
			default:
				rest = append(rest, f)
			}
		}
		if use {
			l.source(origin, uris, rest)
		}
	}
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

func paragraphs(text string) [][]Field {
	var out [][]Field
	var now []Field
	for _, line := range append(strings.Split(text, "\n"), "") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			if len(now) > 0 {
				out, now = append(out, now), nil
			}
		case (line[0] == ' ' || line[0] == '\t') && len(now) > 0:
			now[len(now)-1].Value += "\n" + line
		default:
			if name, v, ok := strings.Cut(line, ":"); ok {
				now = append(now, Field{strings.TrimSpace(name), strings.TrimSpace(v)})
			}
		}
	}
	return out
}

// aptOptions are the options of one-line sources whose fields are not simply
// the same word.
var aptOptions = map[string]string{"arch": "Architectures", "lang": "Languages", "target": "Targets", "pdiffs": "PDiffs"}

// oneLine reads sources of the form: deb [option=value …] address suite part…
func (l *Learned) oneLine(origin, text string) {
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind != "deb" {
			continue
		}
		var fields []Field
		if opts, after, ok := strings.Cut(strings.TrimSpace(rest), "]"); ok && strings.HasPrefix(opts, "[") {
			fields, rest = aptFields(opts[1:]), after
		}
		words := strings.Fields(rest)
		if len(words) < 2 {
			continue
		}
		fields = append(fields, Field{"Suites", words[1]})
		if len(words) > 2 {
			fields = append(fields, Field{"Components", strings.Join(words[2:], " ")})
		}
		l.source(origin, words[:1], fields)
	}
}

func aptFields(opts string) []Field {
	var out []Field
	for _, o := range strings.Fields(opts) {
		name, v, ok := strings.Cut(o, "=")
		if !ok || name == "" {
			continue
		}
		field, known := aptOptions[name]
		if !known {
			field = strings.ToUpper(name[:1]) + name[1:]
		}
		out = append(out, Field{field, strings.ReplaceAll(v, ",", " ")})
	}
	return out
}

// login takes the credentials for an archive from apt's own file of them.
func (u *Upstream) login(auth string) {
	words := strings.Fields(auth)
	var machine, user string
	for i := 0; i+1 < len(words); i++ {
		switch words[i] {
		case "machine":
			machine, user = words[i+1], ""
		case "login":
			user = words[i+1]
		case "password":
			if u.at(machine) {
				u.Auth = basic(user, words[i+1])
				return
			}
		}
	}
}

// at says whether an entry of the credentials file is for this archive.
func (u *Upstream) at(machine string) bool {
	if scheme, rest, ok := strings.Cut(machine, "://"); ok {
		return strings.HasPrefix(u.URL, scheme+"://") && hasPathPrefix(strings.TrimPrefix(u.URL, scheme+"://"), rest)
	}
	rest, secure := strings.CutPrefix(u.URL, "https://") // without a scheme: encrypted only
	return secure && machine != "" && hasPathPrefix(rest, machine)
}

func hasPathPrefix(s, prefix string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(prefix, "/"))
}
