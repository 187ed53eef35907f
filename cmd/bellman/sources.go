package main

import (
	"context"

	"github.com/spf13/cobra"
)

func sourcesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sources",
		Short: "Show the queues and streams of brokers whose messages become tasks",
		Long: `Show the queues and streams of brokers whose messages become tasks: whether they are
read, how many messages became tasks, repeated a task or were invalid since the server
started, and the last error.`,
		Args: flagsAlone,
	}
	return remoteCommand(c, func(ctx context.Context, to *call, _ []string) error {
		sources, err := to.Sources(ctx)
		if err != nil {
			return err
		}
		to.warnClosed(sources.Intake)
		return to.print(sources, func(t *rows) {
			t.heads("SOURCE", "INTO", "STATE", "SINCE", "STORED", "EXISTING", "DEAD", "IN HAND", "FAILURES", "WHY")
			for _, s := range sources.Sources {
				why := s.Why
				if why == "" && s.LastErrorAt != nil {
					why = "last, " + s.LastErrorAt.String() + ": " + s.LastError
				}
				t.row(s.Name, s.Into, s.State, s.Since, s.Stored, s.Existing, s.Dead, s.InHand, s.Failures, why)
			}
		})
	})
}
