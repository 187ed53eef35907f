package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
)

func resendCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resend " + taskArgs + " | --all FILTER...",
		Short: "Resend one task now, or many",
		Long: `Resend a task now, in any state. With --all, resend all tasks that the filter selects,
at a rate, as a job that survives restarts of the server. At least one flag of the
filter is required. --dry-run only counts.`,
		Example: `  bellman resend 0199b5a0-7c1e-7d55-8c13-1f2a3b4c5d6e --reason "merchant asked"
  bellman resend --all --state failed --merchant-no M1001 --created-from 6h --dry-run`,
		Args: arguments(0, 2, "a task's id, or its queue and key; or --all and a filter"),
	}
	var f filter
	f.flags(c.Flags())
	mode := c.Flags().String("mode", "once", "once: one attempt now; restart: the schedule starts again")
	reason := c.Flags().String("reason", "", "why, for the audit record")
	all := c.Flags().Bool("all", false, "all tasks that the filter selects")
	rate := c.Flags().String("rate", "", "with --all: the rate (default 50/s)")
	dry := c.Flags().Bool("dry-run", false, "with --all: only count")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		wanted, err := f.filter(time.Now())
		if err != nil {
			return err
		}
		if *all {
			if err := checkGiven(c.Flags()); err != nil {
				return err
			}
			if len(args) > 0 || wanted == (client.Filter{}) {
				return wrong{fmt.Errorf("--all: want a filter such as --state failed, and no task by name")}
			}
			return resendMany(ctx, to, client.BulkResend{Filter: wanted, Mode: *mode, Reason: *reason, Rate: *rate, DryRun: *dry})
		}
		if len(args) == 0 || wanted != (client.Filter{}) || *rate != "" || *dry {
			return wrong{fmt.Errorf("want a task's id, or its queue and key; or --all and a filter")}
		}
		task, err := to.Resend(ctx, ref(args), client.ResendTask{Mode: *mode, Reason: *reason})
		return show(to, task, err, (*rows).oneTask)
	})
}

func resendMany(ctx context.Context, to *call, in client.BulkResend) error {
	if in.DryRun {
		count, err := to.CountResend(ctx, in)
		return show(to, count, err, func(t *rows, count *client.ResendCount) {
			more := map[bool]string{true: " or more"}[count.More]
			t.row("would resend", fmt.Sprintf("%s tasks%s of %d merchants", grouped(int64(count.Tasks)), more, count.Merchants))
			for _, m := range count.Top {
				t.row("merchant", shown(m.MerchantNo)+": "+grouped(int64(m.Tasks)))
			}
		})
	}
	job, err := to.StartResend(ctx, in)
	return show(to, job, err, (*rows).oneResend)
}

func resendsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resends [ID]",
		Short: "Show the progress of bulk resends",
		Args:  arguments(0, 1, "the id of one bulk resend, or none: all"),
	}
	cancel := c.Flags().Bool("cancel", false, "end the bulk resend with this id")
	reason := c.Flags().String("reason", "", "why it is ended, for the audit record")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		if len(args) == 0 {
			if *cancel {
				return wrong{fmt.Errorf("--cancel: want the id of a bulk resend")}
			}
			jobs, err := to.BulkResends(ctx)
			return show(to, client.Resends{Resends: jobs}, err, func(t *rows, all client.Resends) { t.resends(all.Resends...) })
		}
		job, err := to.BulkResend(ctx, args[0])
		if err == nil && *cancel {
			if was := job.State; was != "running" {
				fmt.Fprintf(to.err, "bellman: the bulk resend is %s already, nothing was done\n", was)
			} else {
				job, err = to.CancelResend(ctx, args[0], client.Because{Reason: *reason})
			}
		}
		return show(to, job, err, (*rows).oneResend)
	})
}

func (t *rows) oneResend(j *client.Resend) { t.resends(*j) }

func (t *rows) resends(all ...client.Resend) {
	t.heads("ID", "STATE", "MODE", "RATE", "EXAMINED", "OF", "RESENT", "SKIPPED", "FAILED", "STARTED", "REASON")
	for _, j := range all {
		of := ""
		if j.Total > 0 {
			of = fmt.Sprint(j.Total) + map[bool]string{true: " or more"}[j.More]
		}
		t.row(j.ID, j.State, j.Mode, j.Rate, j.Examined, of, j.Resent, j.Skipped, j.Failed, j.Created, j.Reason)
	}
}
