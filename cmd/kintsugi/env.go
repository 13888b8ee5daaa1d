package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kintsugi/agent"
	"kintsugi/agent/envs"
	"kintsugi/agent/event"
)

// envOptions are the flags of kintsugi env.
type envOptions struct {
	box   boxOptions
	name  string
	model string
	build bool
}

func newEnv() *cobra.Command {
	o := envOptions{}
	cmd := &cobra.Command{
		Use:   "env WORDS...",
		Short: "Make an environment from plain words, to run programs in",
		Long: `Makes an environment of what you name in plain words: versions of Python and
Node, packages, commands. It is shown, kept under a name, and built, so that
programs find everything at their first attempt:

  kintsugi run --environment NAME FILE

Rules read the words; a local model is asked about the rest, and nothing is
installed on its word alone. What nobody knows you can name exactly: pip:NAME,
npm:NAME, apt:NAME.`,
		Example: `  kintsugi env "Python 3.12 with pandas and ffmpeg"
  kintsugi env --name web node 20 and express
  kintsugi env edit web`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listEnvironments(cmd.OutOrStdout())
			}
			return o.run(cmd.Context(), strings.Join(args, " "), cmd.OutOrStdout())
		},
	}
	o.box.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.name, "name", "", "what to call it (default: made of what it holds)")
	f.StringVar(&o.model, "model", "", "the model that is asked about words no rule knows (default: the best one here)")
	f.BoolVar(&o.build, "build", true, "install everything now")
	cmd.AddCommand(newEnvList(), newEnvShow(), newEnvEdit(), newEnvRemove())
	return cmd
}

func environments() (envs.Folder, error) {
	p, err := findPlaces()
	return envs.Folder{Dir: filepath.Join(p.config, "environments")}, err
}

// run is kintsugi env WORDS.
func (o envOptions) run(ctx context.Context, text string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := environments()
	if err != nil {
		return err
	}
	m, err := o.read(ctx, text)
	if err != nil {
		return err
	}
	if o.name != "" {
		m.Name = o.name
	}
	if err := folder.Save(m); err != nil {
		return err
	}
	if err := show(out, m); err != nil || !o.build {
		return err
	}
	s, err := openSession(ctx, sessionOptions{box: o.box, title: "environment " + m.Name})
	if err != nil {
		return err
	}
	defer s.Close()
	p := &printer{out: os.Stderr, terminal: isTerminal(os.Stderr), colour: colourWanted(os.Stderr)}
	s.log.watch(p.show)
	code := 0
	err = s.useEnvironment(ctx, m.Name)
	if err != nil {
		code, err = exitUnsolved, exitError{exitUnsolved, err}
	}
	return errors.Join(s.end(code, ""), err)
}

// read makes the manifest: the rules first, a model second.
func (o envOptions) read(ctx context.Context, text string) (envs.Manifest, error) {
	p, err := findPlaces()
	if err != nil {
		return envs.Manifest{}, err
	}
	rules, err := loadRules(p)()
	if err != nil {
		return envs.Manifest{}, err
	}
	m, unknown := envs.Read(text, rules)
	if len(unknown) > 0 {
		finder := modelFinder{ask: func(context.Context, string) (bool, bool) { return false, false }, tell: func(string) {}}
		if model, name, err := finder.model(ctx, o.model); err == nil {
			fmt.Fprintf(os.Stderr, "kintsugi: asking %s about %s\n", name, unknown[0].Word)
			if m, unknown, err = envs.Ask(ctx, model, name, m, unknown, rules); err != nil {
				fmt.Fprintf(os.Stderr, "kintsugi: the model did not help: %s\n", oneLine(err.Error()))
			}
		}
	}
	switch {
	case len(unknown) > 0:
		return m, exitError{exitUnsolved, errors.New(notKnown(unknown))}
	case m.Empty():
		return m, errors.New(`nothing was asked for; try: kintsugi env "Python 3.12 with pandas"`)
	}
	return m, nil
}

func notKnown(unknown []envs.Unknown) string {
	var parts []string
	for _, u := range unknown {
		text := u.Word
		if len(u.Near) > 0 {
			text += " (did you mean " + strings.Join(u.Near, ", ") + "?)"
		}
		parts = append(parts, text)
	}
	return "not known: " + strings.Join(parts, ", ") + "; name it exactly: pip:NAME, npm:NAME or apt:NAME"
}

func show(out io.Writer, m envs.Manifest) error {
	data, err := m.Bytes()
	if err == nil {
		_, err = out.Write(data)
	}
	return err
}

// imageOf is the image to use: the one named, or the environment's, or the one
// that the session to go on with had.
func imageOf(o boxOptions, resume string) (string, error) {
	if o.image == "" && o.environment == "" && resume != "" {
		p, err := findPlaces()
		if err != nil {
			return "", err
		}
		sum, err := findSession(p, []string{resume})
		return sum.Image, err
	}
	if o.image != "" || o.environment == "" {
		return o.image, nil
	}
	folder, err := environments()
	if err != nil {
		return "", err
	}
	m, err := folder.Load(o.environment)
	return m.Image, err
}

// useEnvironment gives the session's boxes what a manifest names, as a step of
// its own. An empty name does nothing.
func (s *session) useEnvironment(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	folder, err := environments()
	if err != nil {
		return err
	}
	m, err := folder.Load(name)
	if err != nil {
		return err
	}
	step := s.nextStep()
	for _, b := range []event.Body{
		event.StepStart{Step: step}, event.Call{Step: step, Tool: "environment", Text: m.Name + ": " + m.About, Origin: "user"},
	} {
		if _, err := s.log.Append(b); err != nil {
			return err
		}
	}
	err = s.provide(ctx, step, m)
	_, lerr := s.log.Append(event.StepEnd{Step: step, OK: err == nil})
	return errors.Join(err, lerr)
}

func (s *session) provide(ctx context.Context, step int, m envs.Manifest) error {
	for language, version := range map[string]string{"python": m.Python, "node": m.Node} {
		if version == "" {
			continue
		}
		ok, why, err := s.engine.UseInterpreter(ctx, step, language, version)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("environment %s: %s", m.Name, why)
		}
	}
	for _, part := range m.Parts() {
		p, err := s.engine.Provide(ctx, agent.Wish{
			Step: step, Manager: part.Manager, Packages: part.Packages, Origin: "environment " + m.Name, Sure: true,
		})
		if err != nil {
			return err
		}
		if !p.OK {
			return fmt.Errorf("environment %s: %s could not be installed: %s", m.Name, strings.Join(part.Packages, ", "), p.Why)
		}
	}
	return nil
}

func newEnvList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the environments", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listEnvironments(cmd.OutOrStdout()) },
	}
}

func listEnvironments(out io.Writer) error {
	folder, err := environments()
	if err != nil {
		return err
	}
	names, err := folder.List()
	for _, name := range names {
		about := "cannot be read; see: kintsugi env show " + name
		if m, err := folder.Load(name); err == nil {
			about = m.About
		}
		fmt.Fprintf(out, "%-28s %s\n", name, about)
	}
	return err
}

func newEnvShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show an environment's manifest", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := environments()
			if err != nil {
				return err
			}
			m, err := folder.Load(args[0])
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), m)
		},
	}
}

func newEnvRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget an environment; what it installed stays in the cache", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := environments()
			if err != nil {
				return err
			}
			return folder.Remove(args[0])
		},
	}
}

func newEnvEdit() *cobra.Command {
	return &cobra.Command{
		Use: "edit NAME", Short: "Edit an environment's manifest with $EDITOR", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := environments()
			if err != nil {
				return err
			}
			if _, err := folder.Load(args[0]); err != nil {
				return err
			}
			path, err := folder.Path(args[0])
			if err != nil {
				return err
			}
			if err := editFile(cmd.Context(), path); err != nil {
				return err
			}
			_, err = folder.Load(args[0])
			return err
		},
	}
}

// editFile opens a file in the user's editor and waits.
func editFile(ctx context.Context, path string) error {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		return fmt.Errorf("no editor is set (EDITOR); the file is %s", path)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor (%s) failed: %w", editor, err)
	}
	return nil
}
