package main

import (
	"context"
	"fmt"

	"kintsugi/sandbox/workspace"
	"kintsugi/sandbox/workspace/beneath"
	"kintsugi/ui"
)

// The bounds of what the screen is given to look at; kintsugi diff has no
// bounds.
const (
	maxReviewed = 500    // paths
	maxLines    = 20_000 // of all hunks together
)

// changes compares the session's workspace with the project as it is now.
func (s *session) changes() (ui.Changes, error) {
	out := ui.Changes{Checkpoint: s.store.tree.Head(), Project: s.project.Source}
	c, err := s.store.Compare(out.Checkpoint)
	if err != nil {
		return out, err
	}
	defer c.Close()
	lines := 0
	for ch, err := range c.Changes() {
		if err != nil {
			return out, err
		}
		if ch.Kind == workspace.Added && ch.New.Kind == beneath.Directory {
			continue // it comes with what is in it
		}
		if len(out.Files) >= maxReviewed {
			out.More++
			continue
		}
		f, err := reviewed(c, ch, maxLines-lines)
		if err != nil {
			return out, err
		}
		for _, h := range f.Hunks {
			lines += len(h.Lines)
		}
		out.Files = append(out.Files, f)
	}
	return out, nil
}

// reviewed is a change as the screen shows it, with at most room lines.
func reviewed(c *workspace.Comparison, ch workspace.Change, room int) (ui.Change, error) {
	f := ui.Change{
		Path: ch.Path, What: ch.Kind.String(), Conflict: ch.Conflict, Held: ch.Held, Flag: ch.Flag,
	}
	if ch.New.Kind == beneath.File {
		f.Size = ch.New.Size
	}
	if ch.Kind == workspace.Skipped {
		f.Skipped = ch.Notice
		return f, nil
	}
	if ch.Kind == workspace.Remoded {
		f.NoText = fmt.Sprintf("permissions %03o, were %03o", ch.New.Mode, ch.Old.Mode)
		return f, nil
	}
	d, err := c.Diff(ch)
	if err != nil {
		return f, err
	}
	f.NoText, f.Parts = noText(d), ch.Kind == workspace.Modified && ch.New.Kind == beneath.File
	if f.NoText == "" {
		f.Hunks, f.NoText = hunksOf(d, room)
	}
	f.Parts = f.Parts && f.NoText == ""
	return f, nil
}

func noText(d workspace.FileDiff) string {
	switch {
	case d.TooBig:
		return "too large to show as text"
	case d.Binary && d.Kind != workspace.Modified:
		return "not text"
	case d.Binary:
		return "not text: " + workspace.Size(d.New.Size) + ", was " + workspace.Size(d.Old.Size)
	case d.Old.Kind == beneath.Directory || d.New.Kind == beneath.Directory:
		return "a directory"
	}
	return ""
}

func hunksOf(d workspace.FileDiff, room int) ([]ui.Hunk, string) {
	var out []ui.Hunk
	for i := range d.Hunks {
		h := &d.Hunks[i]
		if room -= len(h.Lines); room < 0 {
			return nil, "too much to show here; see: kintsugi diff"
		}
		u := ui.Hunk{ID: h.ID, Header: h.Header()}
		for _, l := range h.Lines {
			u.Lines = append(u.Lines, ui.DiffLine{Op: l.Op, Text: l.Text})
		}
		out = append(out, u)
	}
	return out, ""
}

// Take implements ui.Taker.
func (c *controller) Take(choice ui.Choice) {
	c.queue(func(ctx context.Context) error {
		sel := workspace.Selection{Paths: choice.Paths, Hunks: choice.Hunks}
		if choice.All {
			sel = workspace.Selection{}
		}
		rep, err := c.s.store.Apply(ctx, choice.Checkpoint, sel, workspace.ApplyOptions{Confirm: choice.Confirm, SkipConflicts: true})
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%d changes are in the project now", rep.Applied.Total)
		if n := rep.Conflicts.Total + rep.Held.Total + rep.Skipped.Total; n > 0 {
			text += fmt.Sprintf(", %d were left out", n)
		}
		return c.tell("%s", text)
	})
}

var _ ui.Taker = (*controller)(nil)
