package main

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
)

func alarmsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "alarms",
		Short: "Show raised alarms, and alarms that ended lately",
		Long: `Show raised alarms, and alarms that ended within a day, or within a week if they are
about an order, refund or transfer: start, value, and the queue that reports them, or why
no queue reports them.`,
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
			t.heads("ALARM", "WHEN", "QUEUE", "ENDPOINT", "STATE", "SINCE", "UNTIL", "VALUE", "ABOVE", "TOLD BY", "ABOUT")
			for _, a := range all.Alarms {
				state, until := "raised", ""
				if a.Until != nil {
					state, until = a.Reason, a.Until.String()
				}
				by := a.To
				if a.Untold != "" {
					by = fmt.Sprintf("nobody: %s", a.Untold)
				}
				t.row(a.Name, a.When, a.Queue, a.Endpoint, state, a.Since, until, math.Round(a.Value*100)/100, a.Above, by, about(&a))
			}
		})
	})
}

// about writes what an alarm is about beside its queue and endpoint.
func about(a *client.Alarm) string {
	switch {
	case a.Credential != "" && a.Expires != nil:
		return a.Credential + " expires at " + a.Expires.String()
	case a.Decision != nil:
		return fmt.Sprintf("order %s of merchant %s by %s: %s", a.Decision.OrderNo, a.Decision.MerchantNo, cmp.Or(a.Decision.Who, "somebody"), a.Decision.Reason)
	case a.Affected != nil:
		what := "order " + a.Affected.OrderNo
		if a.Affected.RefNo != "" {
			what = "refund or transfer " + a.Affected.RefNo + " of " + what
		}
		return fmt.Sprintf("%s of merchant %s is %s: %s", what, a.Affected.MerchantNo, a.Affected.State, a.Affected.Why)
	}
	return a.Credential
}
