package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bellmanhq/bellman/internal/nearest"
)

// arguments returns a check that accepts least to most arguments; otherwise its error says what the
// command wants.
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
		return fmt.Errorf("%s: want no argument, not %q: see %s --help", c.Name(), args[0], c.CommandPath())
	}
	return nil
}

// wrongFlag returns an error of the flags in the words of this program.
func wrongFlag(_ *cobra.Command, err error) error {
	p, is := errors.AsType[*pflag.InvalidValueError](err)
	if !is {
		return err
	}
	flag := "--" + p.GetFlag().Name
	switch p.GetFlag().Value.Type() {
	case "int", "int64":
		return fmt.Errorf("%s %q: want a whole number", flag, p.GetValue())
	case "bool":
		return fmt.Errorf("%s=%s: want true or false, or the flag alone", flag, p.GetValue())
	}
	return fmt.Errorf("%s: %w", flag, p.Unwrap())
}

// A textFlag is a flag for a text of a T.
type textFlag[T any] struct {
	name, usage string
	of          func(*T) *string
}

// textFlags declares flags. set copies the given ones into a T, and leaves its other texts as they
// are.
func textFlags[T any](flags *pflag.FlagSet, texts []textFlag[T]) (set func(*T)) {
	for _, t := range texts {
		flags.String(t.name, "", t.usage)
	}
	return func(to *T) {
		for _, t := range texts {
			if given := flags.Lookup(t.name); given.Changed {
				*t.of(to) = given.Value.String()
			}
		}
	}
}

// family completes a command that does nothing without one of its subcommands.
func family(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	var names []string
	for _, sub := range below {
		names = append(names, sub.Name())
		c.AddCommand(marksFailure(sub))
	}
	want := fmt.Sprintf("want %s: see bellman %s --help", nearest.Either(names), c.Name())
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("%s: there is no %q: %s", c.Name(), args[0], want)
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return wrong{fmt.Errorf("%s: %s", c.Name(), want)} }
	return c
}
