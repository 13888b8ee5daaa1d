package envs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"kintsugi/agent/heal"
	"kintsugi/agent/model"
)

// Voucher says how well a name is known; *heal.Rules is one.
type Voucher interface {
	Vouch(manager, name string) heal.Verdict
}

// guessSchema is what a model answers with.
const guessSchema = `{"type":"object","properties":{"packages":{"type":"array","maxItems":20,"items":{"type":"object","properties":{` +
	`"word":{"type":"string","maxLength":60},"manager":{"enum":["pip","npm","apt"]},"name":{"type":"string","maxLength":60}},` +
	`"required":["word","manager","name"],"additionalProperties":false}}},"required":["packages"],"additionalProperties":false}`

const guessPrompt = `Someone describes a programming environment. Say which package each of the words below means: its manager (pip for Python, npm for Node, apt for commands and system libraries) and its exact name there. Leave out words that name no package.`

// Ask asks a model about the words that no rule knows, and adds what it says to
// the manifest as far as the names are known; its word alone is not enough. It
// gives the words that stay unknown.
func Ask(ctx context.Context, p model.Provider, name string, m Manifest, unknown []Unknown, rules Voucher) (Manifest, []Unknown, error) {
	var words []string
	for _, u := range unknown {
		words = append(words, u.Word)
	}
	reply, err := p.Chat(ctx, model.Request{
		Model: name, Schema: json.RawMessage(guessSchema), MaxTokens: 600,
		Messages: []model.Message{
			{Role: model.System, Text: guessPrompt},
			{Role: model.User, Text: fmt.Sprintf("The environment: %s\nThe words: %s", m.About, strings.Join(words, ", "))},
		},
	}, nil)
	if err != nil {
		return m, unknown, err
	}
	var said struct {
		Packages []struct{ Word, Manager, Name string }
	}
	if err := json.Unmarshal([]byte(reply.Text), &said); err != nil {
		return m, unknown, nil //nolint:nilerr // a garbled answer is no answer
	}
	meant := map[string]bool{}
	for _, g := range said.Packages {
		if rules.Vouch(g.Manager, g.Name).Trust != heal.Unknown && asked(unknown, g.Word) {
			m.add(g.Manager, g.Name)
			meant[strings.ToLower(g.Word)] = true
		}
	}
	var rest []Unknown
	for _, u := range unknown {
		if !meant[u.Word] {
			rest = append(rest, u)
		}
	}
	return m, rest, m.Check()
}

func asked(unknown []Unknown, word string) bool {
	for _, u := range unknown {
		if strings.EqualFold(u.Word, word) {
			return true
		}
	}
	return false
}
