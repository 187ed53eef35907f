package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
)

func alarmsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "alarms",
		Short: "Show raised alarms, and alarms that ended within a day",
		Long: `Show raised alarms, and alarms that ended within a day: start, value, and the queue
that reports them, or why no queue reports them.`,
		Args: flagsAlone,
	}
	rules := c.Flags().Bool("rules", false, "show the rules of the answering node instead")
	return remoteCommand(c, func(ctx context.Context, to *call, _ []string) error {
		all, err := to.Alarms(ctx)
		return show(to, all, err, func(t *rows, all *client.Alarms) {
			if *rules {
				t.heads("RULE", "WHEN", "QUEUE", "ABOVE", "FOR", "TO")
				for _, r := range all.Rules {
					t.row(r.Name, r.When, r.Queue, r.Above, r.For, r.To)
				}
				return
			}
			t.heads("ALARM", "WHEN", "QUEUE", "ENDPOINT", "STATE", "SINCE", "UNTIL", "VALUE", "ABOVE", "TOLD BY")
			for _, a := range all.Alarms {
				state, until := "raised", ""
				if a.Until != nil {
					state, until = a.Reason, a.Until.String()
				}
				by := a.To
				if a.Untold != "" {
					by = fmt.Sprintf("nobody: %s", a.Untold)
				}
				t.row(a.Name, a.When, a.Queue, a.Endpoint, state, a.Since, until, a.Value, a.Above, by)
			}
		})
	})
}
