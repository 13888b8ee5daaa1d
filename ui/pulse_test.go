package ui

import (
	"bytes"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// seeker looks for the frame clock of the program that runs it.
type seeker struct {
	program *tea.Program
	found   *time.Ticker
}

func (s *seeker) Init() tea.Cmd  { return tea.Quit }
func (s *seeker) View() tea.View { return tea.NewView("") }
func (s *seeker) Update(tea.Msg) (tea.Model, tea.Cmd) {
	s.found = frameClock(s.program)
	return s, nil
}

// TestFrameClockIsWhereItWas fails when a version of the terminal library
// keeps its clock elsewhere.
func TestFrameClockIsWhereItWas(t *testing.T) {
	t.Parallel()
	s := &seeker{}
	s.program = tea.NewProgram(s, tea.WithInput(nil), tea.WithOutput(&bytes.Buffer{}), tea.WithWindowSize(80, 24), tea.WithoutSignalHandler())
	if _, err := s.program.Run(); err != nil {
		t.Fatal(err)
	}
	if s.found == nil {
		t.Error("the clock was not found: an idle screen ticks at full speed")
	}
}

func TestPulseRestsAndWakes(t *testing.T) {
	t.Parallel()
	p := &pulse{clock: time.NewTicker(time.Hour)}
	p.sleep = time.AfterFunc(time.Hour, p.rest)
	p.beat()
	if p.slow {
		t.Error("slow after a message")
	}
	p.rest()
	if !p.slow {
		t.Error("not slow at rest")
	}
	p.clock.Reset(time.Hour)
	p.beat()
	select {
	case <-p.clock.C:
	case <-time.After(10 * time.Second):
		t.Error("a message did not wake the clock")
	}
	p.end()
}
