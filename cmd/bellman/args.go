package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// arguments returns a check that accepts least to most arguments; otherwise its error says what the command
// wants.
func arguments(least, most int, want string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("%s: want %s", c.Name(), want)
		}
		return nil
	}
}

// openInput opens the file that an argument or a flag names; "-" is standard input.
func openInput(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(path)
}

// flagsAlone is a check that accepts no arguments.
func flagsAlone(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s: want no argument, not %q: see bellman %s --help", c.Name(), args[0], c.Name())
	}
	return nil
}
