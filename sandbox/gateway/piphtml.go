package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"
)

// parsePipHTML reads the links of an index page in its HTML form.
func parsePipHTML(home *url.URL, body []byte) ([]pipFile, error) {
	z := html.NewTokenizer(bytes.NewReader(body))
	var out []pipFile
	for {
		switch z.Next() {
		case html.ErrorToken:
			if errors.Is(z.Err(), io.EOF) {
				return out, nil
			}
			return nil, z.Err()
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch t.Data {
			case "base":
				home = baseOf(home, t)
			case "a":
				if f, ok := linkOf(home, t); ok {
					out = append(out, f)
				}
			}
		}
	}
}

func baseOf(home *url.URL, t html.Token) *url.URL {
	for _, a := range t.Attr {
		if u, err := home.Parse(a.Val); a.Key == "href" && err == nil {
			return u
		}
	}
	return home
}

func linkOf(home *url.URL, t html.Token) (pipFile, bool) {
	var f pipFile
	for _, a := range t.Attr {
		switch a.Key {
		case "href":
			u, err := home.Parse(a.Val)
			if err != nil {
				return f, false
			}
			f.Sum = strongest(pairs(u.Fragment))
			u.Fragment = ""
			f.URL, f.Name = u.String(), path.Base(u.Path)
		case "data-requires-python":
			f.Python = a.Val
		case "data-yanked":
			f.Yanked = a.Val
			if a.Val == "" {
				f.Yanked = true
			}
		case "data-core-metadata", "data-dist-info-metadata":
			if hex := pairs(a.Val)["sha256"]; isHex(hex, 64) {
				f.Metadata = hex
			}
		}
	}
	return f, f.URL != ""
}

// pairs reads "sha256=…&other=…".
func pairs(s string) map[string]string {
	out := map[string]string{}
	for _, p := range strings.Split(s, "&") {
		if k, v, ok := strings.Cut(p, "="); ok {
			out[k] = v
		}
	}
	return out
}
