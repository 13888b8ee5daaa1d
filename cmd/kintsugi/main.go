// Command kintsugi is the terminal workbench: it runs code in throw-away
// boxes, shows what breaks, and mends what rules can mend.
//
// This package is wiring only: one file per command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kintsugi/cmd/kintsugi/early"
	"kintsugi/sandbox/docker/keeper"
)

// version is set by the release build.
var version = "development"

// Exit codes of Kintsugi's own, as timeout(1) and env(1) use them.
const (
	exitConsent = 123 // a package was needed that only the user may allow
	exitTimeout = 124 // the time limit ended the program
	exitOwn     = 125 // Kintsugi itself failed
)

// exitError carries an exit code through cobra. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

func main() { os.Exit(execute(os.Args[1:])) }

// execute runs the command line and gives the exit code. Whatever goes wrong
// is one line on standard error.
func execute(args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "kintsugi: internal error: %v (this is a bug; nothing outside the session was changed)\n", p)
			code = exitOwn
		}
	}()
	if len(args) > 0 && (args[0] == probeWord || args[0] == victimWord) {
		return hidden(args)
	}
	if len(args) > 0 && args[0] == keeper.Word {
		return keeper.Main(args[1:])
	}
	defer early.Close()
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.err == nil:
		return exit.code
	}
	fmt.Fprintf(os.Stderr, "kintsugi: %s\n", oneLine(err.Error()))
	if exit.code != 0 {
		return exit.code
	}
	return exitOwn
}

// oneLine keeps an error message on one line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

func newRoot() *cobra.Command {
	var o workbenchOptions
	root := &cobra.Command{
		Use:   "kintsugi",
		Short: "Run code in a throw-away sandbox, watch it break, see it mended",
		Long: `Kintsugi runs code in throw-away sandboxes, shows what breaks, and mends what
rules can mend: a missing library or command is installed inside the sandbox
and the program is run again. Your machine and your project stay as they are.

Without a command it opens the workbench.`,
		Args:          cobra.NoArgs,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return workbench(cmd.Context(), o) },
	}
	o.flags(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (see: %s --help)", err, cmd.CommandPath())
	})
	root.AddCommand(newRun(), newAsk(), newModels(), newEnv(), newResume(), newRace(), newExplain(), newDiff(), newApply(), newRewind(),
		newDoctor(), newSessions(), newPicture(), newReplay(), newSandbox(), newHeal())
	root.AddCommand(newLock(), newCache(), newKeys())
	return root
}
