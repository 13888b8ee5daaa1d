// Package demo holds scripted sessions for tests, pictures and for looking at
// the screen while working on it. Nothing in them runs.
package demo

import (
	"time"

	"kintsugi/agent/event"
)

// Beat is an event and the pause before it.
type Beat struct {
	After time.Duration
	Body  event.Body
}

// Start is when every scripted session begins.
func Start() time.Time { return time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC) }

// Events gives the beats their numbers and times.
func Events(beats []Beat) []event.Event {
	at := Start()
	out := make([]event.Event, len(beats))
	for i, b := range beats {
		at = at.Add(b.After)
		out[i] = event.Event{Seq: int64(i + 1), At: at, Body: b.Body}
	}
	return out
}

const ms = time.Millisecond

// Plot is the story of a missing module: a first step that breaks, is mended
// and works, then a second that works at once.
func Plot() []Beat { return append(opening(), append(mended(), closing()...)...) }

func opening() []Beat {
	return []Beat{
		{0, event.Session{Version: 1, ID: "2026-03-14-092653-k7f3", Runtime: "namespace", Project: "/home/mira/weather", Title: "draw the temperatures"}},
		{20 * ms, event.Model{Name: "qwen3:4b", Provider: "ollama", State: "thinking", Speed: 31.4, Context: 1840, Window: 16384}},
		{10 * ms, event.Task{Text: "Draw the monthly mean temperatures in temps.csv and tell me the warmest month."}},
		{10 * ms, event.StepStart{Step: 1}},
		{300 * ms, event.Reasoning{Step: 1, Thinking: true, Text: "The user has a CSV of temperatures. I should look at the columns first, "}},
		{200 * ms, event.Reasoning{Step: 1, Thinking: true, Text: "then group by month and plot the means. pandas is the natural tool."}},
		{200 * ms, event.Reasoning{Step: 1, Text: "I will read `temps.csv`, take the **mean of each month**, and draw it:\n\n"}},
		{200 * ms, event.Reasoning{Step: 1, Text: "1. parse the dates\n2. group by month\n3. save `months.png`\n"}},
		{100 * ms, event.Call{Step: 1, Tool: "python", Origin: "model", Argv: []string{"python3", "plot.py"}, Text: "import pandas as pd\n\ndf = pd.read_csv(\"temps.csv\", parse_dates=[\"day\"])\nby = df.groupby(df.day.dt.month).temp.mean()\nprint(by.round(1))\nby.plot(kind=\"bar\").figure.savefig(\"months.png\")\n"}},
	}
}

func mended() []Beat {
	limits := "2 GB, 256 processes, 2 min"
	return []Beat{
		{20 * ms, event.Attempt{Step: 1, Attempt: 1, Box: "b1", Argv: []string{"python3", "plot.py"}, Limits: limits}},
		{3 * ms, event.Born{Step: 1, Attempt: 1, Took: 3 * ms}},
		{120 * ms, event.Output{Step: 1, Attempt: 1, Stderr: true, Text: "Traceback (most recent call last):\n  File \"/proj/plot.py\", line 1, in <module>\n    import pandas as pd\nModuleNotFoundError: No module named 'pandas'\n"}},
		{20 * ms, event.AttemptEnd{Step: 1, Attempt: 1, Exit: 1, Took: 143 * ms, CPU: 90 * ms, Memory: 11 << 20}},
		{2 * ms, event.Failure{Step: 1, Attempt: 1, Ecosystem: "python", What: "missing_module", Subject: "pandas",
			Evidence:    []string{"ModuleNotFoundError: No module named 'pandas'"},
			Explanation: "The program imports pandas, and this Python does not have it. It is a well-known package on Python's index, so it can be installed in the sandbox.",
			Heal:        "auto", Rule: "python/missing-module", Command: "pip install pandas"}},
		{2 * ms, event.Remedy{Step: 1, Attempt: 1, ID: "r1", Action: "install", Manager: "pip", Packages: []string{"pandas"}, Origin: "python/missing-module", Title: "install pandas with pip"}},
		{700 * ms, event.Progress{ID: "r1", Text: "downloading pandas 2.3.3 (12 MB)"}},
		{1500 * ms, event.Output{Step: 1, Attempt: 1, Remedy: "r1", Text: "Successfully installed numpy-2.2.6 pandas-2.3.3 python-dateutil-2.9.0 pytz-2025.2 six-1.17.0\n"}},
		{600 * ms, event.RemedyEnd{Step: 1, ID: "r1", OK: true, Layer: "sha256:4d1c", Versions: []string{"pandas 2.3.3", "numpy 2.2.6"}, Took: 2800 * ms}},
		{10 * ms, event.Attempt{Step: 1, Attempt: 2, Box: "b2", Argv: []string{"python3", "plot.py"}, Layers: []string{"sha256:4d1c"}, Limits: limits}},
		{4 * ms, event.Born{Step: 1, Attempt: 2, Took: 4 * ms}},
		{300 * ms, event.Usage{Step: 1, Attempt: 2, CPU: 260 * ms, Memory: 64 << 20, Processes: 1}},
		{200 * ms, event.Output{Step: 1, Attempt: 2, Text: "day\n1      1.4\n2      2.9\n3      6.1\n4     10.2\n5     14.8\n6     18.0\n7     \x1b[1;31m20.3\x1b[0m\n8     19.6\n9     15.4\n10    10.7\n11     5.2\n12     2.3\nName: temp, dtype: float64\n"}},
		{180 * ms, event.AttemptEnd{Step: 1, Attempt: 2, Exit: 0, Took: 684 * ms, CPU: 610 * ms, Memory: 88 << 20}},
		{2 * ms, event.Seam{Step: 1, Attempt: 2, Failures: []string{"missing module pandas"}, Remedies: []string{"install pandas with pip"}, Text: "missing pandas: installed, worked on attempt 2", Took: 2800 * ms}},
		{5 * ms, event.Checkpoint{Step: 1, ID: "c1", Changed: []string{"months.png"}, Total: 1}},
		{0, event.Artefact{Step: 1, Attempt: 2, Path: "months.png", Media: "image/png", Size: 14_336, Checkpoint: "c1"}},
		{2 * ms, event.StepEnd{Step: 1, OK: true}},
	}
}

func closing() []Beat {
	return []Beat{
		{10 * ms, event.StepStart{Step: 2}},
		{200 * ms, event.Reasoning{Step: 2, Thinking: true, Text: "July has the highest mean."}},
		{200 * ms, event.Reasoning{Step: 2, Text: "The warmest month is **July**, with a mean of 20.3 °C.\n\nThe picture is in `months.png`. Each bar is a mean over all years in the file, so one hot summer does not decide."}},
		{10 * ms, event.Model{State: "idle", Speed: 31.4, Context: 2710, Window: 16384}},
		{10 * ms, event.StepEnd{Step: 2, OK: true}},
	}
}

// Results is a run that leaves files: a picture, tables, something large, and
// what looks like a picture and is none.
func Results() []Beat {
	made := func(path, media string, size int64) Beat {
		return Beat{0, event.Artefact{Step: 1, Attempt: 1, Path: path, Media: media, Size: size, Checkpoint: "c1"}}
	}
	return []Beat{
		{0, event.Session{Version: 1, ID: "2026-03-14-092653-k7f3", Runtime: "namespace", Project: "/home/mira/weather", Title: "the files of a run"}},
		{ms, event.StepStart{Step: 1}},
		{ms, event.Call{Step: 1, Tool: "run", Origin: "user", Argv: []string{"python3", "report.py"}}},
		{ms, event.Attempt{Step: 1, Attempt: 1, Box: "b1", Argv: []string{"python3", "report.py"}, Limits: "2 GB, 256 processes, 2 min"}},
		{4 * ms, event.Born{Step: 1, Attempt: 1, Took: 4 * ms}},
		{300 * ms, event.Output{Step: 1, Attempt: 1, Text: "writing the report\n"}},
		{200 * ms, event.AttemptEnd{Step: 1, Attempt: 1, Took: 504 * ms, CPU: 410 * ms, Memory: 72 << 20}},
		{2 * ms, event.Checkpoint{Step: 1, ID: "c1", Changed: []string{"months.png", "months.csv", "fit.txt", "model.bin", "not.png"}, Total: 5}},
		made("months.png", "image/png", 14_336), made("not.png", "image/png", 40), made("months.csv", "text/csv", 137),
		made("fit.txt", "text/plain", 63), made("out/model.bin", "application/octet-stream", 41<<20),
		{2 * ms, event.StepEnd{Step: 1, OK: true}},
	}
}

// Lanes is a race of three agents, one of which still works, and a failure for
// which two remedies are tried side by side.
func Lanes() []Beat {
	return []Beat{
		{0, event.Session{Version: 1, ID: "2026-03-14-092653-k7f3", Runtime: "namespace", Project: "/home/mira/sort", Title: "race: a faster sort"}},
		{ms, event.Task{Text: "Write a faster sort into sort.py"}},
		{ms, event.StepStart{Step: 1}},
		{ms, event.Attempt{Step: 1, Attempt: 1, Box: "b1", Argv: []string{"python3", "sort.py"}}},
		{90 * ms, event.AttemptEnd{Step: 1, Attempt: 1, Exit: 1, Took: 90 * ms}},
		{ms, event.Failure{Step: 1, Attempt: 1, What: "missing_module", Subject: "cv2", Explanation: "The program imports cv2."}},
		{ms, event.Remedy{Step: 1, Attempt: 1, ID: "r1", Action: "install", Title: "install opencv-python with pip", Lane: 1}},
		{400 * ms, event.Remedy{Step: 1, Attempt: 1, ID: "r2", Action: "install", Title: "install python3-opencv with apt", Lane: 2}},
		{1200 * ms, event.RemedyEnd{Step: 1, ID: "r2", OK: true, Took: 1200 * ms}},
		{900 * ms, event.RemedyEnd{Step: 1, ID: "r1", Error: "another was faster", Took: 2500 * ms}},
		{ms, event.Attempt{Step: 1, Attempt: 2, Box: "b2", Argv: []string{"python3", "sort.py"}}},
		{90 * ms, event.AttemptEnd{Step: 1, Attempt: 2, Took: 90 * ms}},
		{ms, event.StepEnd{Step: 1, OK: true}},
		{ms, event.StepStart{Step: 2}},
		{ms, event.Call{Step: 2, Tool: "race", Origin: "user", Text: "qwen3:4b\nlfm2.5:1.2b\nqwen3:4b, without recursion"}},
		{ms, event.Lane{Step: 2, Lane: 1, Name: "qwen3:4b", State: event.LaneRunning}},
		{ms, event.Lane{Step: 2, Lane: 2, Name: "lfm2.5:1.2b", State: event.LaneRunning}},
		{9 * time.Second, event.Lane{Step: 2, Lane: 2, Name: "lfm2.5:1.2b", State: event.LaneFailed, Text: "failed the check", Steps: 4, Attempts: 6, Tokens: 5100}},
		{ms, event.Lane{Step: 2, Lane: 3, Name: "qwen3:4b, without recursion", State: event.LaneRunning}},
		{12 * time.Second, event.Lane{Step: 2, Lane: 1, Name: "qwen3:4b", State: event.LaneWorked, Text: "passed the check", Steps: 3, Attempts: 4, Seams: 1, Tokens: 7200}},
		{4 * time.Second, event.Model{Name: "qwen3:4b", State: "thinking"}},
	}
}

// Running is Plot up to the moment in which pandas is being installed.
func Running() []Beat { return append(opening(), mended()[:7]...) }

// Ask is Running with a question instead of a remedy.
func Ask() []Beat {
	return append(append(opening(), mended()[:5]...), Beat{10 * ms, event.Ask{
		ID: "q1", Step: 1, Question: "Install \"pandsa\" from Python's package index?",
		Why:     []string{"The name is in no list of known packages.", "It is one letter away from pandas."},
		Choices: []string{"Install pandas instead", "Install pandsa once", "Do not install"},
	}})
}

// Hard is text that breaks careless frames: wide, combining, right-to-left,
// emoji, control characters, a long line.
func Hard() []Beat {
	text := "日本語の出力 ここまで\nשלום עולם مرحبا بالعالم\ne\u0301a\u0300 👨‍👩‍👧 ❤️ 👍🏽 🇩🇪 ⚡\n\x1b[38;5;200mpink\x1b[0m \x1b[44mblue back\x1b[49m\ttab\nbar 10%\rbar 55%\rbar 100%\n␛[2K␛[1Gdone\nlong " +
		"longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong end\n"
	return []Beat{
		{0, event.Session{Version: 1, ID: "s1", Runtime: "namespace", Title: "世界 שלום 👨‍👩‍👧"}},
		{0, event.Task{Text: "世界 שלום 👨‍👩‍👧 e\u0301 print everything\u202e reversed"}},
		{ms, event.StepStart{Step: 1}},
		{ms, event.Reasoning{Step: 1, Text: "# 見出し 👩‍🚀\n\nשלום **עולם** `κώδικας` ❤️ text\n\n- 一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十\n"}},
		{ms, event.Call{Step: 1, Tool: "shell", Origin: "user", Argv: []string{"sh", "-c", "echo 世界 👨‍👩‍👧"}}},
		{ms, event.Attempt{Step: 1, Attempt: 1, Argv: []string{"sh", "-c", "echo 世界 👨‍👩‍👧"}}},
		{ms, event.Output{Step: 1, Attempt: 1, Text: text}},
		{ms, event.Output{Step: 1, Attempt: 1, Stderr: true, Text: text}},
		{ms, event.AttemptEnd{Step: 1, Attempt: 1, Exit: 3, Took: 3 * ms}},
		{ms, event.Failure{Step: 1, Attempt: 1, What: "other", Subject: "世界👨‍👩‍👧", Evidence: []string{text}, Explanation: text}},
		{ms, event.StepEnd{Step: 1}},
	}
}
