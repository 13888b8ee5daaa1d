package main

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"kintsugi/agent/model"
)

// findModel asks this machine's model server for its models and takes the
// wanted one, or the best for the task when want is empty.
func findModel(ctx context.Context, want string) (model.Provider, string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelWait)
	defer cancel()
	o := model.NewOllama(os.Getenv("OLLAMA_HOST"), nil)
	list, err := o.Models(ctx)
	if err != nil {
		return nil, "", howToGetModels(err)
	}
	name := want
	if name == "" {
		name = preferred(ctx, o, list)
	}
	if name == "" {
		return nil, "", &model.Error{Kind: model.NoModel, Text: "the model server has no model", Command: "kintsugi models pull " + smallModel}
	}
	if _, err := o.Capabilities(ctx, name); err != nil {
		return nil, "", err
	}
	return o, name, nil
}

// smallModel is named to those who have none.
const smallModel = "qwen3:4b"

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
			Command: "kintsugi models pull " + smallModel, Err: err,
		}
	}
	return err
}
