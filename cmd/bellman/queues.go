package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
)

func queuesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "queues",
		Short: "Show queues: waiting tasks, lateness, pauses",
		Args:  flagsAlone,
	}
	return remoteCommand(c, func(ctx context.Context, to *call, _ []string) error {
		queues, err := to.Queues(ctx)
		if err != nil {
			return err
		}
		to.warnSilent(queues.Whole)
		to.warnClosed(queues.Intake)
		return to.print(queues, func(t *rows) {
			t.heads("QUEUE", "SCHEDULE", "PENDING", "SUCCEEDED", "FAILED", "CANCELLED", "WAITING", "HELD", "IN FLIGHT", "OLDEST OVERDUE", "PAUSED")
			for _, q := range queues.Queues {
				t.row(q.Name, q.Schedule, q.Depth.Pending, q.Depth.Succeeded, q.Depth.Failed, q.Depth.Cancelled,
					q.Waiting, q.Held, q.InFlight, when(q.OldestOverdue), paused(q.Paused))
			}
		})
	})
}

func endpointsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "endpoints",
		Short: "Show endpoints: in flight, success rate, breaker, pauses",
		Args:  flagsAlone,
	}
	return remoteCommand(c, func(ctx context.Context, to *call, _ []string) error {
		endpoints, err := to.Endpoints(ctx)
		if err != nil {
			return err
		}
		to.warnSilent(endpoints.Whole)
		return to.print(endpoints, func(t *rows) {
			t.heads("ENDPOINT", "IN FLIGHT", "LIMIT", "RATE", "WAITING", "OLDEST", "SUCCESS", "LAST HOUR", "STATE", "PAUSED")
			for _, e := range endpoints.Endpoints {
				rate := ""
				if e.SuccessRate != nil {
					rate = fmt.Sprintf("%.1f%%", *e.SuccessRate*100)
				}
				state, pace := "breaker "+e.Breaker, ""
				switch {
				case e.Breaker != "closed":
				case e.SuccessRate != nil && *e.SuccessRate == 0:
					state = "failing"
				default:
					state = "normal"
				}
				if e.Rate > 0 {
					pace = fmt.Sprintf("%.3g/s", e.Rate)
					if e.Breaker == "closed" {
						state = "throttled"
					}
				}
				t.row(e.Endpoint, e.InFlight, e.Limit, pace, e.Waiting, when(e.Oldest), rate, lastHour(e.Hour), state, paused(e.Paused))
			}
		})
	})
}

// paused describes who paused something, and why.
func paused(p *client.Pause) string {
	if p == nil {
		return ""
	}
	text := "since " + p.At.String()
	if p.Who != "" {
		text += " by " + p.Who
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

func pauseCommand() *cobra.Command {
	return stopCommand("pause", "Stop attempts of a queue's tasks, or to an endpoint",
		named((*client.Client).PauseQueue), (*client.Client).PauseEndpoint)
}

func resumeCommand() *cobra.Command {
	return stopCommand("resume", "End a pause", (*client.Client).EndQueuePause, (*client.Client).ResumeEndpoint)
}

// stopCommand returns the command that pauses, or the one that resumes.
func stopCommand(name, short string, queue,
	endpoint func(*client.Client, context.Context, string, client.Because) ([]string, error)) *cobra.Command {
	c := &cobra.Command{
		Use:   name + " QUEUE | --endpoint HOST",
		Short: short,
		Args:  arguments(0, 1, "a queue's name, or --endpoint and a host"),
	}
	host := c.Flags().String("endpoint", "", "a host, host:port, scheme://host:port, or an account such as wechatpay:1900000001")
	reason := c.Flags().String("reason", "", "why, for the audit record")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		if (len(args) == 1) == (*host != "") {
			return wrong{fmt.Errorf("%s: want a queue's name, or --endpoint and a host", name)}
		}
		do, what := endpoint, *host
		if len(args) == 1 {
			do, what = queue, args[0]
		}
		names, err := do(to.Client, ctx, what, client.Because{Reason: *reason})
		if err != nil {
			return err
		}
		return to.stopped(name, what, names)
	})
}

// named adapts a call that returns only an error to one that returns the name it was given.
func named(do func(*client.Client, context.Context, string, client.Because) error) func(*client.Client, context.Context, string, client.Because) ([]string, error) {
	return func(c *client.Client, ctx context.Context, name string, in client.Because) ([]string, error) {
		return []string{name}, do(c, ctx, name, in)
	}
}

// stopped prints what was paused or resumed, or that nothing was.
func (to *call) stopped(command, what string, names []string) error {
	done, shown := map[string]string{"pause": "paused", "resume": "resumed"}[command], names
	if len(names) == 0 {
		done, shown = "not paused, nothing was done", []string{what}
	}
	return to.print(client.Paused{Names: names}, func(t *rows) { t.row(done, strings.Join(shown, ", ")) })
}
