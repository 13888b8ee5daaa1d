package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"kintsugi/agent/model"
)

// modelServer is a provider that has an address.
type modelServer interface {
	model.Provider
	Host() string
}

// openaiPrefix before a model's name means the server that OPENAI_BASE_URL
// names.
const openaiPrefix = "openai:"

// modelFinder looks for models, and talks to the user about what it needs.
type modelFinder struct {
	// ask puts a question; answered is false when nobody can answer.
	ask  func(ctx context.Context, question string) (yes, answered bool)
	tell func(text string)
}

// onTerminal talks on standard error, and asks when somebody is there.
func onTerminal() modelFinder {
	return modelFinder{
		ask: func(_ context.Context, question string) (yes, answered bool) {
			if !isTerminal(os.Stdin) || !isTerminal(os.Stderr) {
				return false, false
			}
			return askYes(question), true
		},
		tell: func(text string) { fmt.Fprintf(os.Stderr, "kintsugi: %s\n", oneLine(text)) },
	}
}

// model looks for the wanted model, or for the best one that is here when
// want is empty: on the Ollama server, or on the OpenAI-compatible one that
// OPENAI_BASE_URL names.
func (f modelFinder) model(ctx context.Context, want string) (model.Provider, string, error) {
	if name, ok := strings.CutPrefix(want, openaiPrefix); ok {
		return openaiModel(ctx, name)
	}
	p, list, err := f.server(ctx)
	if err != nil {
		if want == "" && os.Getenv("OPENAI_BASE_URL") != "" {
			return openaiModel(ctx, "")
		}
		return nil, "", err
	}
	name := want
	if name == "" {
		name = preferred(ctx, p, list)
	}
	if name == "" {
		return nil, "", &model.Error{Kind: model.NoModel, Text: "the model server has no model", Command: "kintsugi models pull " + suggestion()}
	}
	if _, err := p.Capabilities(ctx, name); err != nil {
		return nil, "", err
	}
	return p, name, nil
}

// server asks the Ollama server for its models. One that does not run is
// started when the user allows it.
func (f modelFinder) server(ctx context.Context) (modelServer, []model.Info, error) {
	o := model.NewOllama(os.Getenv("OLLAMA_HOST"), nil)
	list, err := modelsOf(ctx, o)
	var e *model.Error
	if errors.As(err, &e) && e.Kind == model.Absent && f.startServer(ctx, o.Host()) {
		list, err = modelsOf(ctx, o)
	}
	return o, list, howToGetModels(err)
}

func modelsOf(ctx context.Context, p model.Provider) ([]model.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, modelWait)
	defer cancel()
	return p.Models(ctx)
}

func openaiModel(ctx context.Context, name string) (model.Provider, string, error) {
	base := os.Getenv("OPENAI_BASE_URL")
	if base == "" {
		return nil, "", errors.New("openai: names no server; set OPENAI_BASE_URL, for example to http://127.0.0.1:8080/v1")
	}
	p := model.NewOpenAI(base, os.Getenv("OPENAI_API_KEY"), nil)
	list, err := modelsOf(ctx, p)
	if err != nil {
		return nil, "", err
	}
	if name == "" && len(list) > 0 {
		name = list[0].Name
	}
	if name == "" {
		return nil, "", &model.Error{Kind: model.NoModel, Text: base + " has no model"}
	}
	_, err = p.Capabilities(ctx, name)
	return p, name, err
}

// preferred chooses among the models that are here: one that calls tools, fits
// the memory, and stands high in the recommendations.
func preferred(ctx context.Context, p model.Provider, list []model.Info) string {
	picks, err := modelPicks()
	if err != nil {
		picks = nil // a broken list of the user's is told by kintsugi models
	}
	best, most := "", -1
	for _, m := range list {
		caps, err := p.Capabilities(ctx, m.Name)
		if err != nil {
			continue
		}
		if worth := worthOf(m, caps, picks, model.MachineMemory()); worth > most {
			best, most = m.Name, worth
		}
	}
	return best
}

func worthOf(m model.Info, caps model.Caps, picks []model.Pick, memory int64) int {
	worth := 0
	if caps.Tools {
		worth += 1000
	}
	if memory <= 0 || m.Size < memory*3/4 {
		worth += 500
	}
	i := slices.IndexFunc(picks, func(p model.Pick) bool { return p.Name == m.Name || p.Name+":latest" == m.Name })
	if i >= 0 {
		worth += 100 - min(i, 99)
	}
	return worth
}

// suggestion names a model for those who have none.
func suggestion() string {
	picks, err := modelPicks()
	if err != nil {
		picks, err = model.Picks("")
	}
	if fits := model.Recommend(picks, model.MachineMemory()); err == nil && len(fits) > 0 {
		return fits[0].Name
	}
	return "NAME"
}

// howToGetModels says what to do when no server answers: start it, or install
// it first.
func howToGetModels(err error) error {
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.Absent {
		return err
	}
	if _, look := exec.LookPath("ollama"); look != nil && os.Getenv("OLLAMA_HOST") == "" {
		return &model.Error{
			Kind: model.Absent, Text: "no model: Ollama is not installed here; install it (your package manager may have it) and start it with: ollama serve",
			Command: "kintsugi models pull " + suggestion(), Err: err,
		}
	}
	return err
}
