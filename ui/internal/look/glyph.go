package look

// Glyphs are the signs of the screen. Every one is a single cell wide in every
// terminal.
type Glyphs struct {
	Idle, Running, OK, Failed, Remedy, Seam, Ask, Skip, Limit, Note, Warn, Check string

	Step, User, Call, Open, Closed, Thought string
	Focus, Prompt, Follow, Paused, Offline  string
	Dot, Bullet, Ellipsis, Arrow, Past      string
	Stderr, Stdout, Quote, Tree, TreeEnd    string
	Artefact                                string
	Seams, SeamL, SeamR                     string // the line of a seam and its two ends
	TL, TR, BL, BR, H, V, TJ, BJ            string
	FillOn, FillOff                         string
	Spinner                                 []string
}

func unicodeGlyphs() Glyphs {
	return Glyphs{
		Idle: "○", Running: "●", OK: "✓", Failed: "✗", Remedy: "⚒", Seam: "━", Ask: "?", Skip: "⊝", Limit: "■",
		Note: "i", Warn: "!", Check: "◇",
		Step: "◆", User: "▌", Call: "▸", Open: "▾", Closed: "▸", Thought: "∴",
		Focus: "▸", Prompt: "❯", Follow: "▾", Paused: "‖", Offline: "⊘",
		Dot: "·", Bullet: "•", Ellipsis: "…", Arrow: "→", Past: "↶",
		Stderr: "▍", Stdout: " ", Quote: "▏", Tree: "├", TreeEnd: "└",
		Artefact: "▣",
		Seams:    "━", SeamL: "╸", SeamR: "╺",
		TL: "╭", TR: "╮", BL: "╰", BR: "╯", H: "─", V: "│", TJ: "┬", BJ: "┴",
		FillOn: "▰", FillOff: "▱",
		Spinner: []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"},
	}
}

func asciiGlyphs() Glyphs {
	return Glyphs{
		Idle: "o", Running: "*", OK: "+", Failed: "x", Remedy: "&", Seam: "=", Ask: "?", Skip: "-", Limit: "#",
		Note: "i", Warn: "!", Check: "@",
		Step: "#", User: "|", Call: ">", Open: "v", Closed: ">", Thought: ":",
		Focus: ">", Prompt: ">", Follow: "v", Paused: "\"", Offline: "%",
		Dot: "-", Bullet: "*", Ellipsis: "~", Arrow: ">", Past: "<",
		Stderr: "!", Stdout: " ", Quote: "|", Tree: "|", TreeEnd: "`",
		Artefact: "=",
		Seams:    "=", SeamL: "=", SeamR: "=",
		TL: "+", TR: "+", BL: "+", BR: "+", H: "-", V: "|", TJ: "+", BJ: "+",
		FillOn: "#", FillOff: ".",
		Spinner: []string{"|", "/", "-", "\\"},
	}
}
