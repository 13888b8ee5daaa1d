package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kintsugi/agent/heal"
	"kintsugi/sandbox/inert"
)

// maxErrorText is how much of an error text is read; a diagnosis looks at the
// last megabyte only.
const maxErrorText = 16 << 20

func newExplain() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [FILE]",
		Short: "Say what an error text means and what would mend it, without running anything",
		Long: `Reads an error text from FILE, or from standard input, and prints the diagnosis:
what went wrong, in plain words, and what would mend it. Nothing is run and
nothing is looked up.`,
		Example: `  python3 plot.py 2>&1 | kintsugi explain
  kintsugi explain build.log --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := errorText(args, os.Stdin)
			if err != nil {
				return err
			}
			return explain(cmd.OutOrStdout(), text, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the diagnosis as JSON")
	return cmd
}

// errorText reads the text to explain.
func errorText(args []string, stdin *os.File) (string, error) {
	in := io.Reader(stdin)
	if len(args) == 1 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return "", plainOpenError(args[0], err)
		}
		defer f.Close()
		in = f
	} else if isTerminal(stdin) {
		fmt.Fprintln(os.Stderr, "kintsugi: paste the error text, then press Ctrl-D")
	}
	data, err := io.ReadAll(io.LimitReader(in, maxErrorText))
	if err != nil {
		return "", fmt.Errorf("cannot read the error text: %w", err)
	}
	if strings.TrimSpace(string(data)) == "" {
		return "", errors.New("there is no text to explain: pipe an error into kintsugi explain, or name a file")
	}
	return string(data), nil
}

func plainOpenError(path string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: there is no such file", path)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s: you may not read this file", path)
	}
	return err
}

func explain(w io.Writer, text string, asJSON bool) error {
	places, err := findPlaces()
	if err != nil {
		return err
	}
	rules, err := heal.Load(userManifests(places)...)
	if err != nil {
		return err
	}
	d := rules.Diagnose(heal.Input{Text: text, Exit: -1})
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(d)
	}
	_, err = io.WriteString(w, diagnosisText(d))
	return err
}

// diagnosisText tells a diagnosis to a person.
func diagnosisText(d heal.Diagnosis) string {
	var b strings.Builder
	fmt.Fprintf(&b, "What:     %s\n", diagnosisTitle(d))
	for _, line := range d.Evidence {
		fmt.Fprintf(&b, "Evidence: %s\n", inert.String(strings.TrimSpace(line)))
	}
	fmt.Fprintf(&b, "Why:      %s\n", strings.ReplaceAll(strings.TrimSpace(d.Explanation), "\n", "\n          "))
	fmt.Fprintf(&b, "Mended:   %s\n", map[heal.Class]string{
		heal.Auto:  "by a rule, inside the sandbox, without asking",
		heal.Ask:   "by a rule, after you agree",
		heal.Model: "by changing the code",
		heal.None:  "not by installing anything",
	}[d.Heal])
	for _, m := range d.Remedies {
		fmt.Fprintf(&b, "Remedy:   %s\n", remedyText(m))
	}
	return b.String()
}

func diagnosisTitle(d heal.Diagnosis) string {
	title := strings.ReplaceAll(d.Kind, "_", " ")
	if title == "" {
		title = "nothing that the rules know"
	}
	if d.Subject != "" {
		title += ": " + inert.String(d.Subject)
	}
	if d.Ecosystem != "" {
		title += " (" + d.Ecosystem + ")"
	}
	return title
}

func remedyText(m heal.Remedy) string {
	text := m.Action
	if len(m.Packages) > 0 {
		text += " " + strings.Join(m.Packages, " ") + " with " + m.Manager
	}
	if len(m.Env) > 0 {
		text += " " + strings.Join(m.Env, " ")
	}
	if len(m.Argv) > 0 {
		text += " " + strings.Join(m.Argv, " ")
	}
	if m.Note != "" {
		text += " (" + m.Note + ")"
	}
	if m.Command != "" {
		text += "\n          you could type: " + m.Command
	}
	return text
}
