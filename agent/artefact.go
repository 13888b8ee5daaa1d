package agent

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"kintsugi/agent/event"
)

// maxArtefacts is how many files of one call become events.
const maxArtefacts = 24

// artefacts are the events of what a call left for people to look at: pictures
// and tables first, and no files that tools keep for themselves.
func artefacts(step, attempt int, saved Saved) []event.Body {
	files := slices.DeleteFunc(slices.Clone(saved.Files), func(f SavedFile) bool { return private(f.Path) })
	slices.SortStableFunc(files, func(a, b SavedFile) int { return rank(mediaOf(a.Path)) - rank(mediaOf(b.Path)) })
	var out []event.Body
	for _, f := range files[:min(len(files), maxArtefacts)] {
		out = append(out, event.Artefact{
			Step: step, Attempt: attempt, Path: f.Path, Media: mediaOf(f.Path), Size: f.Size, Checkpoint: saved.ID, Changed: f.Changed,
		})
	}
	return out
}

// private says that a path is hidden, a tool's cache, or no text that the log
// could keep.
func private(p string) bool {
	if !utf8.ValidString(p) {
		return true
	}
	return slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || part == "__pycache__" || part == "node_modules"
	})
}

// rank puts pictures before tables before the rest.
func rank(media string) int {
	switch {
	case strings.HasPrefix(media, "image/"):
		return 0
	case media == "text/csv", media == "text/tab-separated-values":
		return 1
	}
	return 2
}

// mediaOf judges a file by its extension. It asks no table of the machine, so
// that a log says the same everywhere.
func mediaOf(p string) string {
	switch strings.ToLower(path.Ext(p)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".bmp":
		return "image/bmp"
	case ".svg":
		return "image/svg+xml"
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	case ".txt", ".log", ".md":
		return "text/plain"
	case ".html", ".htm":
		return "text/html"
	case ".json":
		return "application/json"
	case ".pdf":
		return "application/pdf"
	}
	return "application/octet-stream"
}
