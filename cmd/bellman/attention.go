package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/money"
)

func attentionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "attention",
		Short: "Show what needs a person now",
		Long: `Show what needs a person now: endpoints, merchants and queues in trouble, orders
without a decision, differences of the bill, nodes, certificates. What stops
every task comes first, then what affects most money, then most tasks.`,
		Args: flagsAlone,
	}
	return remoteCommand(c, func(ctx context.Context, to *call, _ []string) error {
		all, err := to.Attention(ctx)
		return show(to, all, err, func(t *rows, all *client.Attentions) {
			t.heads("KIND", "NAME", "SINCE", "TASKS", "AMOUNT", "WHY", "PAGE")
			for i := range all.Items {
				a := &all.Items[i]
				tasks := ""
				if a.Tasks > 0 {
					tasks = fmt.Sprint(a.Tasks)
				}
				if a.More {
					tasks += "+"
				}
				t.row(a.Kind, a.Name, when(a.Since), tasks, amounts(a.Amounts), reason(a), a.Page)
			}
		})
	})
}

// amounts writes sums as the console does: 99.00 CNY.
func amounts(all []client.AttentionAmount) string {
	return strings.Join(each(all, func(a client.AttentionAmount) string { return money.Format(a.Amount, a.Currency) }), ", ")
}

// reason writes why something needs a person.
func reason(a *client.Attention) string {
	var out []string
	if a.Why != "" {
		out = append(out, a.Why)
	}
	if f := a.Failure; f != nil {
		said := f.Result
		if f.Status != 0 {
			said += fmt.Sprintf(" %d", f.Status)
		}
		if f.Error != "" {
			said += ": " + f.Error
		}
		out = append(out, said)
	}
	if a.Expires != nil {
		out = append(out, "expires at "+a.Expires.String())
	}
	if a.Off != "" {
		out = append(out, a.Off)
	}
	if a.Untold != "" {
		out = append(out, "not told: "+a.Untold)
	}
	return strings.Join(out, "; ")
}
