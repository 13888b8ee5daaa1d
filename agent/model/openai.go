package model

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// OpenAI is a server that speaks OpenAI's chat completions: llama.cpp, LM
// Studio, vLLM, a cloud. Such servers differ in what they take; what one
// refuses is left out from then on.
type OpenAI struct {
	server
	client *http.Client
	key    string

	mu   sync.Mutex
	caps map[string]Caps
	// lacks are the optional parts of a request that the server refused.
	lacks map[string]bool
}

// NewOpenAI makes a provider for the server at base, such as
// http://127.0.0.1:8080/v1. It connects to nothing yet. key may be empty for a
// server that asks for none. Nil client means one without time limits.
func NewOpenAI(base, key string, client *http.Client) *OpenAI {
	if client == nil {
		client = &http.Client{}
	}
	if key == "" {
		key = "none" // local servers want the header and not its content
	}
	base = strings.TrimRight(base, "/")
	return &OpenAI{
		server: server{kind: "OpenAI-compatible", host: base, setting: "OPENAI_BASE_URL"},
		client: client, key: key,
		caps: map[string]Caps{}, lacks: map[string]bool{},
	}
}

// Name implements Provider.
func (o *OpenAI) Name() string { return "openai" }

// Host is the server's address.
func (o *OpenAI) Host() string { return o.host }

// listed is what servers say of a model in their list, each in its own words.
type listed struct {
	ID            string
	MaxModelLen   int `json:"max_model_len"`      // vLLM
	ContextLength int `json:"context_length"`     // several clouds
	Loaded        int `json:"max_context_length"` // LM Studio
	Meta          struct {
		Context int `json:"n_ctx"`
		Trained int `json:"n_ctx_train"`
	} `json:"meta"` // llama.cpp
	Parameters []string `json:"supported_parameters"`
}

func (l listed) context() int {
	for _, n := range []int{l.Meta.Context, l.MaxModelLen, l.ContextLength, l.Loaded, l.Meta.Trained} {
		if n > 0 {
			return n
		}
	}
	return 0
}

// Models implements Provider.
func (o *OpenAI) Models(ctx context.Context) ([]Info, error) {
	resp, err := o.ask(ctx, "/models", nil)
	if err != nil {
		return nil, o.explain(ctx, "", err)
	}
	defer resp.Body.Close()
	var page struct{ Data []json.RawMessage }
	if err := json.NewDecoder(io.LimitReader(resp.Body, listMost)).Decode(&page); err != nil {
		return nil, o.explain(ctx, "", err)
	}
	var out []Info
	for _, raw := range page.Data {
		var m listed
		_ = json.Unmarshal(raw, &m) // what is of another type is not known
		out = append(out, Info{Name: m.ID})
		o.learn(m)
	}
	return out, nil
}

// learn keeps what the list says of a model. Most servers say little: tools are
// then taken for granted until a request with tools is refused.
func (o *OpenAI) learn(l listed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.caps[l.ID]; known {
		return
	}
	caps := Caps{Tools: true, Fixed: true, Context: l.context()}
	if len(l.Parameters) > 0 {
		caps.Tools = strings.Contains(strings.Join(l.Parameters, " "), "tools")
	}
	o.caps[l.ID] = caps
}

// Capabilities implements Provider.
func (o *OpenAI) Capabilities(ctx context.Context, model string) (Caps, error) {
	if caps, known := o.known(model); known {
		return caps, nil
	}
	list, err := o.Models(ctx)
	if err != nil {
		return Caps{}, err
	}
	caps, known := o.known(model)
	if !known && len(list) > 0 {
		return Caps{}, &Error{Kind: NoModel, Text: "the server does not have " + model + "; it has " + list[0].Name}
	}
	return caps, nil
}

func (o *OpenAI) known(model string) (Caps, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	caps, known := o.caps[model]
	return caps, known
}

// Pull implements Provider: such servers choose their models themselves.
func (o *OpenAI) Pull(_ context.Context, model string, _ func(Progress)) error {
	return &Error{Kind: Refused, Text: "this server does not download models; give it " + model + " in its own way"}
}

// explain turns an error of the client into one line with a way out.
func (o *OpenAI) explain(ctx context.Context, model string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var said *refusal
	switch {
	case !errors.As(err, &said):
		return o.explainWire(model, err)
	case said.status == 0:
		return o.explainText(model, said.message, err)
	case said.status == http.StatusUnauthorized || said.status == http.StatusForbidden:
		return &Error{Kind: Refused, Text: o.host + " does not accept the key; set OPENAI_API_KEY", Err: err}
	}
	return o.explainStatus(model, said.status, said.message, err)
}

var _ Provider = (*OpenAI)(nil)
