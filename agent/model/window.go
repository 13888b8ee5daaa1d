package model

// The bounds of a window, in tokens. Below 4096 a task with its tools does not
// fit; above 32768 small models lose the thread and laptops their memory.
const (
	minWindow = 4096
	maxWindow = 32768
)

// spare is left to everything else on the machine.
const spare = 2 << 30

// Window chooses the context for a machine with so many bytes of memory: the
// largest of 4096, 8192, 16384 and 32768 tokens that the model was made for
// and whose cost fits beside the weights.
func (c Caps) Window(memory int64) int {
	limit := maxWindow
	if c.Context > 0 {
		limit = min(limit, c.Context)
	}
	if c.Fixed && c.Context > 0 {
		return limit
	}
	best := min(minWindow, limit)
	for w := minWindow; w <= limit; w *= 2 {
		if c.fits(w, memory) {
			best = w
		}
	}
	return best
}

func (c Caps) fits(window int, memory int64) bool {
	if c.TokenBytes == 0 {
		return window <= DefaultWindow
	}
	return c.Size+int64(window)*c.TokenBytes+spare <= memory
}

// Estimate counts the tokens of messages roughly: four bytes a token, and a
// few for the frame of each message. Models differ by about a third.
func Estimate(messages []Message) int {
	n := 0
	for _, m := range messages {
		n += 8 + (len(m.Text)+len(m.Thinking))/4
		for _, c := range m.Calls {
			n += 8 + len(c.Name)/4
			for k, v := range c.Args {
				n += 2 + len(k)/4
				if s, ok := v.(string); ok {
					n += len(s) / 4
				}
			}
		}
	}
	return n
}
