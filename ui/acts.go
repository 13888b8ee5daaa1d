package ui

import tea "charm.land/bubbletea/v2"

// Stepper is for Intents that can wait before each act. The question, with
// its choices, then comes as an Ask.
type Stepper interface {
	// StepMode turns the waiting on or off.
	StepMode(on bool)
}

// Traveller is for Intents that can change the session's course.
type Traveller interface {
	// Rewind makes a checkpoint the present workspace.
	Rewind(checkpoint string)
	// Fork goes on in a line of work of its own from a checkpoint; the present
	// line stays as it is.
	Fork(checkpoint string)
}

// Environer is for Intents that can give boxes an environment.
type Environer interface {
	// Environment makes the one that words describe or name. What it would
	// hold comes as an Ask first.
	Environment(words string)
}

// Applier is for Intents that can bring changes to the real project.
type Applier interface {
	// Apply starts it; what is to be decided comes as an Ask.
	Apply()
}

func actBindings() []binding {
	return []binding{
		{id: "step", keys: []string{"alt+s"}, help: "step mode: wait before each act", scope: everywhere, do: (*model).toggleStep, unless: (*model).noStepper},
		{id: "apply", keys: []string{"alt+w"}, help: "changes: look, and bring them to the real project", scope: everywhere, do: (*model).openReview, unless: (*model).noApplier},
		{id: "rewind", keys: []string{"R"}, help: "rewind the workspace to the step's checkpoint", scope: onTimeline, do: (*model).rewind, unless: (*model).noCheckpoint},
		{id: "fork", keys: []string{"K"}, help: "go on in a new line from the step's checkpoint", scope: onTimeline, do: (*model).fork, unless: (*model).noCheckpoint},
	}
}

func (m *model) toggleStep() tea.Cmd {
	m.stepping = !m.stepping
	on := m.stepping
	if on {
		m.say("step mode: each act waits for you")
	} else {
		m.say("step mode is off")
	}
	return m.intend(func(i Intents) { i.(Stepper).StepMode(on) })
}

func (m *model) noStepper() string {
	if _, ok := m.o.Intents.(Stepper); !ok {
		return "this session cannot be stepped"
	}
	return ""
}

func (m *model) noApplier() string {
	if _, ok := m.o.Intents.(Applier); !ok {
		return "changes cannot be applied from here"
	}
	return ""
}

func (m *model) noCheckpoint() string {
	if _, ok := m.o.Intents.(Traveller); !ok {
		return "this session cannot be changed from here"
	}
	if m.timeline.Checkpoint() == "" {
		return "the step has no checkpoint"
	}
	return ""
}

func (m *model) rewind() tea.Cmd {
	id := m.timeline.Checkpoint()
	m.open(newConfirm("Make the workspace as it was at checkpoint "+id+"? What came later stays in the session and can be returned to.",
		"Rewind", func(m *model) tea.Cmd { return m.intend(func(i Intents) { i.(Traveller).Rewind(id) }) }))
	return nil
}

func (m *model) fork() tea.Cmd {
	id := m.timeline.Checkpoint()
	m.open(newConfirm("Go on in a line of work of its own from checkpoint "+id+"? What came later stays as it is.",
		"Fork", func(m *model) tea.Cmd { return m.intend(func(i Intents) { i.(Traveller).Fork(id) }) }))
	return nil
}
