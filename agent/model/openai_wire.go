package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/tmaxmax/go-sse"
)

const (
	// errorMost bounds what is read of an error, in bytes.
	errorMost = 64 << 10
	// listMost bounds what is read of a list of models, in bytes.
	listMost = 16 << 20
	// chunkMost bounds one part of a stream, in bytes.
	chunkMost = 8 << 20
)

// refusal is what a server says when it does not do what it was asked, with a
// status of its own, or inside of a stream (then 0).
type refusal struct {
	status         int
	param, message string
}

func (r *refusal) Error() string { return r.message }

// ask sends a request; a nil body asks with GET.
func (o *OpenAI) ask(ctx context.Context, path string, body any) (*http.Response, error) {
	method, content := http.MethodGet, io.Reader(http.NoBody)
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		method, content = http.MethodPost, bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, o.host+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+o.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := o.client.Do(req)
	if err != nil || resp.StatusCode < 400 {
		return resp, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, errorMost))
	if err != nil {
		return nil, err
	}
	return nil, readRefusal(resp.StatusCode, text)
}

// readRefusal finds the message: servers write {"error":{"message":"text"}},
// {"error":"text"}, other members, or no JSON at all.
func readRefusal(status int, body []byte) *refusal {
	var shaped struct {
		Error struct{ Message, Param string }
	}
	_ = json.Unmarshal(body, &shaped)
	var flat struct{ Error, Message, Detail word }
	_ = json.Unmarshal(body, &flat)
	message := cmp.Or(shaped.Error.Message, string(flat.Error), string(flat.Message), string(flat.Detail), string(body))
	return &refusal{status: status, param: shaped.Error.Param, message: message}
}

// word is a text in a server's answer; anything else in its place is no text.
type word string

// UnmarshalJSON implements json.Unmarshaler.
func (w *word) UnmarshalJSON(raw []byte) error {
	var s string
	_ = json.Unmarshal(raw, &s)
	*w = word(s)
	return nil
}

// chunk is one part of a streamed answer.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content, Refusal word
			// Servers have two names for thought.
			Thought   word       `json:"reasoning_content"`
			Reasoning word       `json:"reasoning"`
			Calls     []fragment `json:"tool_calls"`
		}
		Finish word `json:"finish_reason"`
	}
	Usage struct {
		Prompt int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
		Total  int `json:"total_tokens"`
	}
	Error json.RawMessage
}

// fragment is a piece of a call.
type fragment struct {
	Index    int
	ID       string
	Function struct{ Name, Arguments string }
}

// stream asks for a chat and gives what comes back, part by part.
func (o *OpenAI) stream(ctx context.Context, body any) iter.Seq2[chunk, error] {
	return func(yield func(chunk, error) bool) {
		resp, err := o.ask(ctx, "/chat/completions", body)
		if err != nil {
			yield(chunk{}, err)
			return
		}
		defer resp.Body.Close()
		for e, err := range sse.Read(resp.Body, &sse.ReadConfig{MaxEventSize: chunkMost}) {
			if err == nil && strings.HasPrefix(e.Data, "[DONE]") {
				return
			}
			var c chunk
			if err == nil {
				c, err = readChunk(e.Data)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func readChunk(data string) (c chunk, err error) {
	if err = json.Unmarshal([]byte(data), &c); err == nil && len(c.Error) > 0 && string(c.Error) != "null" {
		err = readRefusal(0, []byte(data))
	}
	return c, err
}
