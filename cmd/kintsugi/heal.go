package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kintsugi/agent/heal"
)

func newHeal() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "heal",
		Short: "Look at the rules that mend programs, try new ones, measure them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHealList(), newHealShow(), newHealTest(), newHealAdd(), newHealTable())
	return cmd
}

// healRules loads the built-in rules, the user's and then more, with the
// explanations in a language ("" for English).
func healRules(lang string, more ...fs.FS) (*heal.Rules, error) {
	places, err := findPlaces()
	if err != nil {
		return nil, err
	}
	over := append(userManifests(places), more...)
	if lang == "" {
		return heal.Load(over...)
	}
	return heal.LoadLang(lang, over...)
}

func newHealList() *cobra.Command {
	return &cobra.Command{
		Use:   "list [ECOSYSTEM]",
		Short: "List the rules, and every outcome of a rule",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rules, err := healRules("")
			if err != nil {
				return err
			}
			return listRules(cmd.OutOrStdout(), rules.List(), args)
		},
	}
}

func listRules(w io.Writer, list []heal.RuleInfo, only []string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "RULE\tFAILURE\tMENDED\tREMEDY")
	shown := 0
	for _, r := range list {
		if len(only) > 0 && r.Ecosystem != only[0] {
			continue
		}
		shown++
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.ID, dash(strings.ReplaceAll(r.Kind, "_", " ")), dash(string(r.Heal)), dash(strings.Join(r.Remedies, "; ")))
	}
	if shown == 0 {
		return fmt.Errorf("no rules are for %s; see: kintsugi heal list", only[0])
	}
	return tw.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func newHealShow() *cobra.Command {
	var lang string
	cmd := &cobra.Command{
		Use:   "show RULE",
		Short: "Show one rule: what it looks for, what it says, what it does",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rules, err := healRules(lang)
			if err != nil {
				return err
			}
			return showRule(cmd.OutOrStdout(), rules.List(), args[0])
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "", "language of the explanation, such as hi")
	return cmd
}

func showRule(w io.Writer, list []heal.RuleInfo, id string) error {
	shown := 0
	for _, r := range list {
		if r.ID != id && !strings.HasPrefix(r.ID, id+".") {
			continue
		}
		shown++
		writeRule(w, r)
	}
	if shown == 0 {
		return fmt.Errorf("there is no rule %s; see: kintsugi heal list", id)
	}
	return nil
}

func writeRule(w io.Writer, r heal.RuleInfo) {
	fmt.Fprintf(w, "%s\n", r.ID)
	for _, row := range [][2]string{
		{"failure", r.Kind}, {"mended", string(r.Heal)}, {"priority", fmt.Sprint(r.Priority)},
		{"words", strings.Join(r.Literals, " | ")}, {"patterns", strings.Join(r.Patterns, "\n            ")},
		{"map", r.Map}, {"says", r.Explain}, {"remedies", strings.Join(r.Remedies, "; ")},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "  %-9s %s\n", row[0], row[1])
		}
	}
}

func newHealTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test MANIFEST SAMPLE...",
		Short: "Try a manifest on error texts before it is added",
		Long: `Lays the rules of MANIFEST (a TOML file) over the others, in memory only, and
says what each SAMPLE (a file with an error text, or - for standard input) now
means. Ends with 1 when no rule of the manifest explains any sample.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			rules, own, err := withManifest(args[0])
			if err != nil {
				return err
			}
			return testSamples(cmd.OutOrStdout(), rules, own, args[1:])
		},
	}
}

// withManifest lays one manifest over the rules, and names its own rules.
func withManifest(path string) (*heal.Rules, map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, plainOpenError(path, err)
	}
	dir, err := os.MkdirTemp("", "kintsugi-heal-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	if err := writeText(filepath.Join(dir, "manifests", filepath.Base(path)), string(text)); err != nil {
		return nil, nil, err
	}
	before, err := healRules("")
	if err != nil {
		return nil, nil, err
	}
	after, err := healRules("", os.DirFS(dir))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return after, ownRules(before.List(), after.List()), nil
}

// ownRules are the ids of rules that are new or differ.
func ownRules(before, after []heal.RuleInfo) map[string]bool {
	old := map[string]string{}
	for _, r := range before {
		old[r.ID] = fmt.Sprint(r)
	}
	own := map[string]bool{}
	for _, r := range after {
		if old[r.ID] != fmt.Sprint(r) {
			id, _, _ := strings.Cut(r.ID, ".")
			own[r.ID], own[id] = true, true
		}
	}
	return own
}

func testSamples(w io.Writer, rules *heal.Rules, own map[string]bool, samples []string) error {
	hits := 0
	for _, sample := range samples {
		text, err := errorText([]string{sample}, os.Stdin)
		if err != nil {
			return err
		}
		d := rules.Diagnose(heal.Input{Text: text, Exit: -1})
		by := d.Rule
		if own[d.Rule] {
			hits++
			by += ", of this manifest"
		}
		fmt.Fprintf(w, "%s: %s\n%s\n", sample, by, diagnosisText(d))
	}
	fmt.Fprintf(w, "%d of %d samples are explained by this manifest\n", hits, len(samples))
	if hits == 0 {
		return exitError{code: 1}
	}
	return nil
}

func newHealAdd() *cobra.Command {
	return &cobra.Command{
		Use:   "add MANIFEST",
		Short: "Add a manifest to your own rules, which win over the built-in ones",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := freeManifest(args[0])
			if err != nil {
				return err
			}
			_, own, err := withManifest(args[0])
			if err != nil {
				return err
			}
			if len(own) == 0 {
				return fmt.Errorf("%s changes no rule: there is nothing to add", args[0])
			}
			return addManifest(cmd.OutOrStdout(), args[0], to)
		},
	}
}

// freeManifest is where a manifest of the user's goes; it is not replaced.
func freeManifest(path string) (string, error) {
	places, err := findPlaces()
	if err != nil {
		return "", err
	}
	to := filepath.Join(places.config, "manifests", filepath.Base(path))
	if _, err := os.Lstat(to); err == nil {
		return "", fmt.Errorf("%s is there already: remove it first", to)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return to, nil
}

func addManifest(w io.Writer, path, to string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return plainOpenError(path, err)
	}
	if err := writeText(to, string(text)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "added as %s (remove the file to undo)\n", to)
	return err
}

// writeText writes a file, and the folders that lead to it.
func writeText(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
