package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

func checkConfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check-config FILE",
		Short: "Validate a configuration file",
		Long: `Validate a configuration file without the environment. Names of unknown BELLMAN_
variables are reported too. Every mistake is printed with its line, and the exit
status is 2. A secret (env: or file:), or the ca or credentials of a connection, that
does not exist here is a warning on standard error: it may exist on the server's machine.
So is a channel of kind program, which a program of your own has, and a notice without
notices.listen.`,
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
			for _, err := range []error{settings.CheckSecrets(), settings.CheckFiles(), settings.CheckPrograms(), settings.CheckNotices()} {
				var missing config.Problems
				errors.As(err, &missing)
				for _, p := range missing {
					fmt.Fprintln(c.ErrOrStderr(), "warning: "+p.String())
				}
			}
			names := make([]string, len(settings.Queues))
			for i, q := range settings.Queues {
				names[i] = q.Name
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s is in order: queues %s\n", args[0], strings.Join(names, ", "))
			return err
		},
	}
}
