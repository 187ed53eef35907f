package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/server"
)

func checkConfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check-config FILE",
		Short: "Validate a configuration file",
		Long: `Validate a configuration file as bellman serve does, without its environment: no store is
opened. Names of unknown BELLMAN_ variables are reported too. Every mistake is printed
with its line, and the exit status is 2.

A secret (env: or file:), or the ca or credentials of a connection, that does not exist
here is a warning on standard error: it may exist on the server's machine. Another
warning says what could not be checked without it. A channel of kind program, which a
program of your own has, and a notice without notices.listen are warnings too.`,
		Args: arguments(1, 1, "a FILE: bellman check-config bellman.yaml"),
		RunE: func(c *cobra.Command, args []string) error {
			none := func(string) (string, bool) { return "", false }
			settings, err := config.Read(args[0], none, nil, server.CheckStore)
			if err != nil {
				return wrong{err}
			}
			if err := settings.CheckNames(os.Environ()); err != nil {
				return wrong{err}
			}
			refused, absent := split(server.Check(server.Options{Config: settings, Channels: placeholderChannels(settings)}))
			for i := range absent {
				absent[i].Text += ": its content is not checked"
			}
			for _, p := range slices.Concat(absent, problems(settings.CheckFiles()), problems(settings.CheckPrograms()), problems(settings.Warnings())) {
				fmt.Fprintln(c.ErrOrStderr(), "warning: "+p.String())
			}
			if err := refused.Err(); err != nil {
				return wrong{err}
			}
			names := each(settings.Queues, func(q config.Queue) string { return q.Name })
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s is in order: queues %s\n", args[0], strings.Join(names, ", "))
			return err
		},
	}
}

// placeholderChannels returns placeholders for the channels of kind program. CheckPrograms warns
// about these channels.
func placeholderChannels(c *config.Config) map[string]order.Channel {
	channels := map[string]order.Channel{}
	for _, q := range c.Queues {
		if q.Order.Channel.Kind == "program" {
			channels[q.Name] = order.Unavailable(errors.New("a program of your own has it"))
		}
	}
	return channels
}

// split returns the mistakes in an error, and the secrets that are absent.
func split(err error) (refused, absent config.Problems) {
	for _, p := range problems(err) {
		if p.Absent {
			absent = append(absent, p)
		} else {
			refused = append(refused, p)
		}
	}
	return refused, absent
}

// problems returns an error as problems; none: it is nil.
func problems(err error) (all config.Problems) {
	if err != nil && !errors.As(err, &all) {
		return config.Problems{{Text: err.Error()}}
	}
	return all
}
