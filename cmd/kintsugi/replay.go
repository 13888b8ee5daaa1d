package main

import (
	"github.com/spf13/cobra"

	"kintsugi/ui"
	"kintsugi/ui/plain"
)

func newReplay() *cobra.Command {
	var o workbenchOptions
	cmd := &cobra.Command{
		Use:   "replay [SESSION]",
		Short: "Show a recorded session again in the workbench, at its own pace or faster",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := findPlaces()
			if err != nil {
				return err
			}
			sum, events, err := recorded(p, args)
			if err != nil {
				return err
			}
			if o.plain {
				plain.New(cmd.OutOrStdout()).Write(events...)
				return nil
			}
			if err := o.checkTerminal(); err != nil {
				return err
			}
			screen, err := o.screen(p)
			if err != nil {
				return err
			}
			screen.History, screen.Replay, screen.Title = events, true, "Kintsugi "+sum.ID
			screen.ThemeChanged = watchThemes(cmd.Context(), themesDir(p))
			screen.File = recordedFiles(sum)
			return ui.Run(cmd.Context(), screen)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.theme, "theme", "", "colours (default: chosen for the terminal)")
	f.BoolVar(&o.plain, "plain", false, "plain lines instead of a screen")
	f.BoolVar(&o.present, "present", false, "presenter mode")
	f.BoolVar(&o.reduced, "reduced-motion", false, "nothing on the screen moves by itself")
	return cmd
}
