package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"kintsugi/ui"
)

func newKeys() *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "List what keys do in the workbench, and how to have others",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := findPlaces()
			if err != nil {
				return err
			}
			own, err := ownKeys(p)
			if err != nil {
				return err
			}
			table, err := ui.KeyTable(own)
			if err != nil {
				return fmt.Errorf("%s: %w", keysFile(p), err)
			}
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, k := range table {
				fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", k.ID, strings.Join(k.Keys, ", "), k.Where, k.Help)
			}
			if err := out.Flush(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "\nFor other keys write lines such as  palette = [\"ctrl+k\"]  into %s\n", keysFile(p))
			return err
		},
	}
}

// keysFile is where the user's own keys are.
func keysFile(p places) string { return filepath.Join(p.config, "keys.toml") }

// ownKeys are the user's own keys, by the names of what they do.
func ownKeys(p places) (map[string][]string, error) {
	var keys map[string][]string
	_, err := toml.DecodeFile(keysFile(p), &keys)
	var wrong toml.ParseError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("%s, line %d: %s; a line is a name and its keys: palette = [\"ctrl+k\"]", keysFile(p), wrong.Position.Line, wrong.Message)
	case err != nil:
		return nil, fmt.Errorf("%s: %w; a line is a name and its keys: palette = [\"ctrl+k\"]", keysFile(p), err)
	}
	return keys, nil
}
