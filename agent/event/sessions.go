package event

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Root is the directory that holds the sessions of this user, from getenv
// (os.Getenv) and the platform's custom. It need not exist.
func Root(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kintsugi", "sessions"), nil
	}
	if runtime.GOOS == "windows" {
		if dir := getenv("LOCALAPPDATA"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "kintsugi", "sessions"), nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no place for sessions: %w; set XDG_STATE_HOME to a directory", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "kintsugi", "sessions"), nil
	}
	return filepath.Join(home, ".local", "state", "kintsugi", "sessions"), nil
}

// The words of session names.
var (
	glazes  = [...]string{"amber", "ash", "blue", "bright", "calm", "celadon", "clear", "copper", "dawn", "deep", "early", "fine", "gilded", "green", "honey", "indigo", "ivory", "jade", "kind", "late", "moss", "night", "ochre", "pale", "quiet", "rain", "red", "river", "round", "slow", "snow", "warm"}
	vessels = [...]string{"basin", "bead", "bell", "bowl", "brick", "crock", "cup", "dish", "ewer", "flask", "jar", "jug", "kiln", "lamp", "lid", "mortar", "mug", "pan", "pitcher", "plate", "platter", "pot", "saucer", "shard", "spoon", "teapot", "tile", "tray", "urn", "vase", "vessel", "wheel"}
)

// NewID names a session: its UTC time to the millisecond, so that names sort
// by age, and two words so that people can tell them apart. rnd is
// crypto/rand.Reader.
func NewID(at time.Time, rnd io.Reader) (string, error) {
	var b [2]byte
	if _, err := io.ReadFull(rnd, b[:]); err != nil {
		return "", fmt.Errorf("naming a session: %w", err)
	}
	stamp := strings.Replace(at.UTC().Format("20060102-150405.000"), ".", "-", 1)
	return stamp + "-" + glazes[int(b[0])%len(glazes)] + "-" + vessels[int(b[1])%len(vessels)], nil
}

// Summary is a line of a list of sessions.
type Summary struct {
	ID, Dir string
	Title   string // the session's own, or its first task or call
	Project string
	Lesson  string
	Image   string // what boxes saw, when it was not this machine
	Start   time.Time
	Last    time.Time // of the last event
	Events  int64     // number of the last event
	Ended   bool      // closed in order; a crashed or live one is not
	Exit    int
	Live    bool // some process has it open
}

// Sessions lists the sessions below root, newest first. What cannot be read as
// a session is left out; a root that does not exist has none.
func Sessions(root string) ([]Summary, error) {
	entries, err := os.ReadDir(root)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	var out []Summary
	for _, entry := range entries {
		if sum, err := Summarise(filepath.Join(root, entry.Name())); err == nil {
			out = append(out, sum)
		}
	}
	slices.SortStableFunc(out, func(a, b Summary) int { return strings.Compare(b.ID, a.ID) })
	return out, nil
}

// summaryBytes is how much of each end of a log a Summary looks at.
const summaryBytes = 64 << 10

// Summarise reads the two ends of the log in dir.
func Summarise(dir string) (Summary, error) {
	file, err := openLog(dir)
	if err != nil {
		return Summary{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Summary{}, fmt.Errorf("session log: %w", err)
	}
	sum := Summary{ID: filepath.Base(dir), Dir: dir, Live: Live(dir)}
	head := io.NewSectionReader(file, 0, min(summaryBytes, info.Size()))
	sum.scan(head, 0)
	if sum.Start.IsZero() {
		return Summary{}, fmt.Errorf("%s holds no session", dir)
	}
	if from := info.Size() - summaryBytes; from > 0 {
		sum.scan(io.NewSectionReader(file, from, summaryBytes), 1)
	}
	return sum, nil
}

// scan takes what it can from a piece of a log, leaving out the first skip
// lines (the piece may begin inside one).
func (sum *Summary) scan(r io.ReaderAt, skip int) {
	lines := newLines(r)
	for n := 0; ; n++ {
		line, err := lines.next()
		if err != nil || line == nil {
			return
		}
		if n < skip {
			continue
		}
		if e, err := Decode(line); err == nil {
			sum.add(e)
		}
	}
}

func (sum *Summary) add(e Event) {
	if sum.Start.IsZero() {
		sum.Start = e.At
	}
	sum.Last, sum.Events, sum.Ended = e.At, e.Seq, false
	switch b := e.Body.(type) {
	case Session:
		sum.Project = b.Project
		sum.Lesson = first(b.Lesson, sum.Lesson)
		sum.Image = first(b.Image, sum.Image)
		sum.Title = first(b.Title, sum.Title)
	case Task:
		sum.Title = first(sum.Title, oneLine(b.Text))
	case Call:
		sum.Title = first(sum.Title, oneLine(first(strings.Join(b.Argv, " "), b.Text)))
	case End:
		sum.Ended, sum.Exit = true, b.Exit
	}
}

// oneLine shortens text for a list.
func oneLine(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return string(runes)
}
