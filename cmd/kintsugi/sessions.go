package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"kintsugi/agent/event"
)

func newSessions() *cobra.Command {
	return &cobra.Command{
		Use:   "sessions",
		Short: "List recorded sessions, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := findPlaces()
			if err != nil {
				return err
			}
			list, err := event.Sessions(p.sessions)
			if err != nil {
				return err
			}
			for _, s := range list {
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %-10s %s\n", s.ID, sessionState(s), s.Title)
			}
			return nil
		},
	}
}

func sessionState(s event.Summary) string {
	switch {
	case s.Live:
		return "live"
	case !s.Ended:
		return "cut off"
	case s.Exit == 0:
		return "ok"
	}
	return fmt.Sprintf("exit %d", s.Exit)
}
