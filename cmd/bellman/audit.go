package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
)

func auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "Show the audit record: who did what, when, why and from where",
		Args:  flagsAlone,
	}
	limit := c.Flags().Int("limit", 50, "number of records, the newest first")
	var f client.AuditFilter
	var within created
	c.Flags().StringVar(&f.Who, "who", "", "only actions of this key")
	c.Flags().StringVar(&f.Action, "action", "", "only this action, such as resend or cancel")
	c.Flags().StringVar(&f.Target, "target", "", "only with this target: a task's id, or queue/NAME, endpoint/HOST, merchant/NUMBER")
	c.Flags().StringVar(&f.Job, "job", "", "only the records of this job, as batch/ID or resend/ID")
	within.flags(c.Flags())
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, _ []string) error {
		if *limit < 1 {
			return wrong{fmt.Errorf("--limit %d: want 1 or more", *limit)}
		}
		if err := within.read(time.Now(), &f.CreatedFrom, &f.CreatedTo); err != nil {
			return err
		}
		page := client.AuditPage{Audits: []client.Audit{}}
		for a, err := range to.Audits(ctx, f) {
			if err != nil {
				return err
			}
			if page.Audits = append(page.Audits, a); len(page.Audits) == *limit {
				break
			}
		}
		return to.print(page, func(t *rows) {
			t.heads("TIME", "WHO", "FROM", "ACTION", "TARGET", "JOB", "REASON", "CHANGES")
			for _, a := range page.Audits {
				t.row(a.At, a.Who, a.From, a.Action, a.Target, a.Job, a.Reason, changesOf(a.Changes))
			}
		})
	})
}

func changesOf(list []client.Changed) string {
	return strings.Join(each(list, func(c client.Changed) string {
		return c.Field + ": " + shown(c.Before) + " → " + shown(c.After)
	}), "; ")
}
