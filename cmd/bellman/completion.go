package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/resend"
)

// completionPatience is how long a shell waits for names from a server.
const completionPatience = 2 * time.Second

// values are the possible values of flags, by the flag's name, for all commands.
var values = map[string][]string{
	"state":  {"pending", "succeeded", "failed", "cancelled"},
	"kind":   {"notify", "order", "poll"},
	"result": {"accepted", "refused", "error_status", "unreachable", "timeout", "blocked", "unknown"},
	"mode":   {"once", "restart"},
	"output": {"table", "json"},
	"scheme": sign.Schemes(),

	"order-state": resend.OrderStates,
}

// ownValues are the possible values of flags of one command that differ from those in values.
var ownValues = map[string][]string{
	"bellman merchants list --state": {"failing", "late", "paused"},
	"bellman notices --result":       {"applied", "duplicate", "held", "mismatch", "refused"},
	"bellman reconcile --output":     {"table", "json", "csv"},
}

// complete adds shell completion of flags and arguments to a command and its subcommands. Names of
// queues and endpoints come from the server; without a server there are none.
func complete(c *cobra.Command) {
	for name, all := range values {
		if own, is := ownValues[c.CommandPath()+" --"+name]; is {
			all = own
		}
		if c.Flags().Lookup(name) != nil {
			register(c, name, cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if c.Flags().Lookup("server") != nil {
		if c.Flags().Lookup("queue") != nil {
			register(c, "queue", queueNames)
		}
		if c.Flags().Lookup("endpoint") != nil {
			register(c, "endpoint", endpointNames)
		}
		if strings.Contains(c.Use, " QUEUE") {
			c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return queueNames(c, args, begun)
			}
		}
	}
	for _, below := range c.Commands() {
		complete(below)
	}
}

func register(c *cobra.Command, flag string, what cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, what); err != nil {
		panic(err) // cannot happen: the flag exists and has no completion yet
	}
}

func queueNames(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return names(c, (*client.Client).Queues, func(all *client.Queues) []string {
		return each(all.Queues, func(q client.Queue) string { return q.Name })
	})
}

func endpointNames(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return names(c, (*client.Client).Endpoints, func(all *client.Endpoints) []string {
		return each(all.Endpoints, func(e client.Endpoint) string { return e.Endpoint })
	})
}

// names requests names from the server that a command's flags name.
func names[T any](c *cobra.Command, ask func(*client.Client, context.Context) (*T, error), of func(*T) []string) ([]string, cobra.ShellCompDirective) {
	r := remote{server: c.Flag("server").Value.String(), key: c.Flag("key").Value.String()}
	from, err := r.client(completionPatience)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), completionPatience)
	defer cancel()
	all, err := ask(from, ctx)
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return of(all), cobra.ShellCompDirectiveNoFileComp
}
