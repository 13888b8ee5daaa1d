package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// OpenAI is a server that speaks OpenAI's chat completions: llama.cpp, LM
// Studio, vLLM, a cloud. Such servers differ in what they take; what one
// refuses is left out from then on.
type OpenAI struct {
	server
	client openai.Client

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
		client: openai.NewClient(option.WithBaseURL(base+"/"), option.WithAPIKey(key), option.WithHTTPClient(client), option.WithMaxRetries(0), option.WithMiddleware(plainErrors)),
		caps:   map[string]Caps{}, lacks: map[string]bool{},
	}
}

// Name implements Provider.
func (o *OpenAI) Name() string { return "openai" }

// Host is the server's address.
func (o *OpenAI) Host() string { return o.host }

// listed is what servers say of a model in their list, each in its own words.
type listed struct {
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
	page, err := o.client.Models.List(ctx)
	if err != nil {
		return nil, o.explain(ctx, "", err)
	}
	var out []Info
	for _, m := range page.Data {
		out = append(out, Info{Name: m.ID})
		o.learn(m.ID, m.RawJSON())
	}
	return out, nil
}

// learn keeps what the list says of a model. Most servers say little: tools are
// then taken for granted until a request with tools is refused.
func (o *OpenAI) learn(name, raw string) {
	var l listed
	_ = json.Unmarshal([]byte(raw), &l)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.caps[name]; known {
		return
	}
	caps := Caps{Tools: true, Fixed: true, Context: l.context()}
	if len(l.Parameters) > 0 {
		caps.Tools = strings.Contains(strings.Join(l.Parameters, " "), "tools")
	}
	o.caps[name] = caps
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
	var status *openai.Error
	var inside *ssestream.StreamError
	switch {
	case errors.As(err, &status):
		if status.StatusCode == http.StatusUnauthorized || status.StatusCode == http.StatusForbidden {
			return &Error{Kind: Refused, Text: o.host + " does not accept the key; set OPENAI_API_KEY", Err: err}
		}
		return o.explainStatus(model, status.StatusCode, status.Message, err)
	case errors.As(err, &inside):
		return o.explainText(model, strings.TrimPrefix(inside.Message, "received error while streaming: "), err)
	}
	return o.explainWire(model, err)
}

// errorMost bounds what is read of an error, in bytes.
const errorMost = 64 << 10

// plainErrors gives errors the shape that the client reads: some servers write
// {"error":"text"}, or no JSON at all.
func plainErrors(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(r)
	if err != nil || resp.StatusCode < 400 {
		return resp, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, errorMost))
	if err != nil {
		return resp, err
	}
	_ = resp.Body.Close()
	var shaped struct{ Error struct{ Message string } }
	if json.Unmarshal(body, &shaped) != nil || shaped.Error.Message == "" {
		var text struct{ Error, Message, Detail string }
		_ = json.Unmarshal(body, &text)
		body, err = json.Marshal(map[string]any{"error": map[string]any{"message": cmp.Or(text.Error, text.Message, text.Detail, string(body))}})
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

var _ Provider = (*OpenAI)(nil)
