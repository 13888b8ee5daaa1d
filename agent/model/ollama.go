package model

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ollama/ollama/api"
)

// Ollama is a server of the Ollama kind.
type Ollama struct {
	server
	client *api.Client

	mu   sync.Mutex
	caps map[string]Caps
}

// NewOllama makes a provider for the server that host (the value of
// OLLAMA_HOST) names. It connects to nothing yet. Nil client means one without
// time limits; its Transport may be a test's.
func NewOllama(host string, client *http.Client) *Ollama {
	if client == nil {
		client = &http.Client{}
	}
	base := HostURL(host)
	return &Ollama{server: ollamaServer(base.String()), client: api.NewClient(base, client), caps: map[string]Caps{}}
}

// Name implements Provider.
func (o *Ollama) Name() string { return "ollama" }

// Host is the server's address.
func (o *Ollama) Host() string { return o.host }

// Models implements Provider.
func (o *Ollama) Models(ctx context.Context) ([]Info, error) {
	list, err := o.client.List(ctx)
	if err != nil {
		return nil, o.explain(ctx, "", err)
	}
	var out []Info
	for _, m := range list.Models {
		out = append(out, Info{Name: m.Name, Size: m.Size, Params: m.Details.ParameterSize, Quant: m.Details.QuantizationLevel})
	}
	return out, nil
}

// Capabilities implements Provider.
func (o *Ollama) Capabilities(ctx context.Context, model string) (Caps, error) {
	o.mu.Lock()
	caps, known := o.caps[model]
	o.mu.Unlock()
	if known {
		return caps, nil
	}
	show, err := o.client.Show(ctx, &api.ShowRequest{Model: model})
	if err != nil {
		return Caps{}, o.explain(ctx, model, err)
	}
	caps = capsOf(show)
	caps.Size = o.size(ctx, model)
	o.keep(model, caps)
	return caps, nil
}

func (o *Ollama) keep(model string, caps Caps) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.caps[model] = caps
}

// size is what the list says of a model's weights; 0 when it says nothing.
func (o *Ollama) size(ctx context.Context, model string) int64 {
	list, err := o.client.List(ctx)
	if err != nil {
		return 0
	}
	for _, m := range list.Models {
		if m.Name == model || m.Name == model+":latest" {
			return m.Size
		}
	}
	return 0
}

func capsOf(show *api.ShowResponse) Caps {
	var caps Caps
	for _, c := range show.Capabilities {
		caps.Tools = caps.Tools || c == "tools"
		caps.Thinking = caps.Thinking || c == "thinking"
	}
	arch, _ := show.ModelInfo["general.architecture"].(string)
	// The gpt-oss family reasons in levels and cannot be silenced.
	caps.Levels = caps.Thinking && slices.Contains([]string{"gptoss", "gpt-oss"}, strings.ToLower(arch))
	info := modelInfo{show.ModelInfo, arch}
	caps.Context = info.num("context_length")
	caps.TokenBytes = info.tokenBytes()
	return caps
}

// modelInfo reads the numbers of a model's description.
type modelInfo struct {
	m    map[string]any
	arch string
}

func (i modelInfo) num(key string) int {
	switch v := i.m[i.arch+"."+key].(type) {
	case float64:
		return int(v)
	case []any: // one number per layer: take the largest
		most := 0
		for _, x := range v {
			if f, ok := x.(float64); ok {
				most = max(most, int(f))
			}
		}
		return most
	}
	return 0
}

// tokenBytes is what the key-value cache takes for one token: keys and values
// of 16 bits, in every layer, for each of the heads that have them.
func (i modelInfo) tokenBytes() int64 {
	layers, heads := i.num("block_count"), i.num("attention.head_count_kv")
	key, value := i.num("attention.key_length"), i.num("attention.value_length")
	if n := i.num("attention.head_count"); key == 0 && n > 0 {
		key = i.num("embedding_length") / n
	}
	if value == 0 {
		value = key
	}
	return 2 * int64(layers) * int64(heads) * int64(key+value)
}

// Pull implements Provider.
func (o *Ollama) Pull(ctx context.Context, model string, on func(Progress)) error {
	if on == nil {
		on = func(Progress) {}
	}
	sum, done := parts{}, false
	err := o.client.Pull(ctx, &api.PullRequest{Model: model}, func(p api.ProgressResponse) error {
		done = p.Status == "success"
		sum.add(p)
		on(sum.progress(p.Status))
		return nil
	})
	switch {
	case err != nil:
		return o.explainPull(ctx, model, err)
	case ctx.Err() != nil:
		return ctx.Err()
	case !done:
		return &Error{Kind: Died, Text: "the download of " + model + " stopped before its end; what is there is kept", Command: "ollama pull " + model}
	}
	return nil
}

// parts adds up the parts of a download.
type parts map[string][2]int64

func (s parts) add(p api.ProgressResponse) {
	if p.Digest == "" {
		return
	}
	old := s[p.Digest]
	s[p.Digest] = [2]int64{max(old[0], p.Completed), max(old[1], p.Total)}
}

func (s parts) progress(status string) Progress {
	p := Progress{Status: status}
	for _, part := range s {
		p.Done += part[0]
		p.Total += part[1]
	}
	return p
}

var _ Provider = (*Ollama)(nil)
