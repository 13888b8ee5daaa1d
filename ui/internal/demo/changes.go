package demo

import "strings"

// Line is a changed line: '+', '-' or ' ' and its text.
type Line struct {
	Op   byte
	Text string
}

// Lines makes lines of a text in which each begins with its sign.
func Lines(text string) []Line {
	var out []Line
	for l := range strings.Lines(text) {
		out = append(out, Line{l[0], l[1:]})
	}
	return out
}

// The hunks of the changes that the story of a review shows.
const (
	FirstHunk = " import pandas as pd\n-df = pd.read_csv(\"temps.csv\")\n+df = pd.read_csv(\"temps.csv\", parse_dates=[\"day\"])\n by = df.groupby(df.day.dt.month).temp.mean()\n"
	LastHunk  = " print(by.round(1))\n-by.plot()\n+by.plot(kind=\"bar\").figure.savefig(\"months.png\")\n"
	NewFile   = "+# Weather\n+\n+Draws the monthly means of temps.csv.\n"
)
