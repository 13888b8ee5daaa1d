// Package model is who reasons: a language model behind one streaming
// interface, whatever serves it.
//
// A Provider streams thinking, text, tool calls and usage. What a model can do
// is asked from its server and never guessed from its name. Calls that a model
// writes into its text instead of the place for calls are found there.
//
// The package never runs a call, never decides what to ask and never downloads
// a model unasked.
package model

import (
	"context"
	"encoding/json"
	"time"
)

// Provider is a server of models.
type Provider interface {
	// Name is "ollama", "script", …
	Name() string
	// Models lists what is there to use now.
	Models(ctx context.Context) ([]Info, error)
	// Capabilities asks the server what a model can do. Answers are kept.
	Capabilities(ctx context.Context, model string) (Caps, error)
	// Chat asks for the next message. on is called, from one goroutine and in
	// order, for each piece as it comes; it may be nil. The Reply holds all of
	// it. There is no time limit but ctx: a large model may load for minutes.
	// Errors are *Error, or ctx.Err(); with an error the Reply holds what came
	// before it.
	Chat(ctx context.Context, req Request, on func(Chunk)) (Reply, error)
	// Pull downloads a model. It goes on where an interrupted pull stopped.
	Pull(ctx context.Context, model string, on func(Progress)) error
}

// Info is a model that a server has.
type Info struct {
	Name   string
	Size   int64  // bytes on disk
	Params string // "4.0B"
	Quant  string // "Q4_K_M"
}

// Caps is what a model can do, as its server says.
type Caps struct {
	Tools    bool // calls tools natively
	Thinking bool // has a private chain of thought
	// Levels: thinking cannot be switched off, only set to low, medium, high.
	Levels bool
	// Context is the longest context the model was made for, in tokens.
	Context int
	// TokenBytes is the memory that one token of context costs; 0: unknown.
	TokenBytes int64
	// Size is the size of the weights in bytes; 0: unknown.
	Size int64
	// Fixed: the server has settled the context already, or runs elsewhere;
	// using all of it costs this machine nothing.
	Fixed bool
}

// Think says how much a model may think before it speaks.
type Think string

// The levels. Off costs small models the fewest mistakes in structured
// answers; a model that cannot be silenced then thinks as little as it can.
const (
	ThinkOff  Think = ""
	ThinkLow  Think = "low"
	ThinkOn   Think = "on"
	ThinkHigh Think = "high"
)

// Request asks for one message.
type Request struct {
	Model    string
	Messages []Message
	// Tools are offered natively when the model can call them. For one that
	// cannot, the provider asks for an Action instead (see Schema) and gives
	// it back as a call all the same.
	Tools []Tool
	// Schema, when set, is a JSON schema that the answer must follow.
	Schema json.RawMessage
	Think  Think
	// Window is the size of the context in tokens. Keep it constant in a
	// session: a change makes the server load the model again. 0 means 8192.
	Window int
	// MaxTokens bounds the answer, thinking included; 0 means 4096.
	MaxTokens int
	// Temperature; nil leaves it to the model.
	Temperature *float64
	// KeepAlive is how long the model stays in memory; 0 means 30 minutes.
	KeepAlive time.Duration
}

// Defaults of a Request.
const (
	DefaultWindow    = 8192
	DefaultMaxTokens = 4096
	DefaultKeepAlive = 30 * time.Minute
)

// Role says who speaks.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	// ToolResult answers the call named in Message.Tool.
	ToolResult Role = "tool"
)

// Message is one message of a chat.
type Message struct {
	Role     Role
	Text     string
	Thinking string // goes back with the tool results of the same turn
	Calls    []Call
	Tool     string // the tool that a ToolResult comes from
	CallID   string
}

// Tool is what a model may call.
type Tool struct {
	Name        string
	Description string
	// Params is a JSON schema of type object, whose properties are in the
	// order in which a model should write them.
	Params json.RawMessage
}

// Call is a tool call that a model made.
type Call struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
	// Clipped: the end of a text among Args is missing, because the model
	// found none.
	Clipped bool `json:"-"`
}

// ChunkKind says what a Chunk brings.
type ChunkKind int

// The kinds of chunks.
const (
	Loading  ChunkKind = iota // the server is silent: it loads the model
	Thinking                  // Text is private thought
	Text                      // Text is meant for the user
	Calling                   // Call is complete
	Used                      // Usage is complete
)

// Chunk is a piece of a reply.
type Chunk struct {
	Kind  ChunkKind
	Text  string
	Call  Call
	Usage Usage
}

// Stop says why a reply ended.
type Stop string

// The reasons.
const (
	Stopped Stop = "stop"   // the model was done
	Length  Stop = "length" // MaxTokens or the window was used up: the end is missing
)

// Reply is one whole message.
type Reply struct {
	Text     string
	Thinking string
	Calls    []Call
	// Leaked: the calls were found in the text, not where they belong.
	Leaked bool
	// Cut: the reply ended inside a call, which is not among Calls.
	Cut   bool
	Stop  Stop
	Usage Usage
}

// Message gives the reply as the next message of the chat.
func (r Reply) Message() Message {
	return Message{Role: Assistant, Text: r.Text, Thinking: r.Thinking, Calls: r.Calls}
}

// Usage is what a reply cost.
type Usage struct {
	Prompt int // tokens that the server read
	Output int // tokens that the model wrote
	Load   time.Duration
	Read   time.Duration // time for the prompt
	Write  time.Duration // time for the output
}

// Speed is tokens written per second; 0 when unknown.
func (u Usage) Speed() float64 {
	if u.Write <= 0 {
		return 0
	}
	return float64(u.Output) / u.Write.Seconds()
}

// Progress is the state of a download.
type Progress struct {
	Status      string
	Done, Total int64 // bytes over all parts known so far
}
