package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
)

func noticesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "notices",
		Short: "List notices of payment channels, and why one was refused",
		Long: `List the notices of payment channels, the newest first: what followed from each one,
and why one was refused or is about another amount. ORDER is the channel's number
while bellman has no such order.`,
		Example: "  bellman notices --result refused\n  bellman notices --merchant-no M1001 --order-no 20261120000001",
		Args:    flagsAlone,
	}
	var f client.NoticeFilter
	c.Flags().StringVar(&f.Queue, "queue", "", "only notices to this queue")
	c.Flags().StringVar(&f.MerchantNo, "merchant-no", "", "only notices about orders of this merchant")
	c.Flags().StringVar(&f.OrderNo, "order-no", "", "only notices about this order")
	c.Flags().StringVar(&f.Result, "result", "", "only notices with this result: applied, duplicate, held, mismatch or refused")
	limit := c.Flags().Int("limit", 50, "number of notices, the newest first")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, _ []string) error {
		all, next, err := upTo(*limit, func(limit int, cursor string) (*client.Notices, error) {
			f.Limit, f.Cursor = limit, cursor
			return to.ListNotices(ctx, f)
		}, func(p *client.Notices) ([]client.Notice, string) { return p.Notices, p.NextCursor })
		if err != nil {
			return err
		}
		return to.print(client.Notices{Notices: all, NextCursor: next}, func(t *rows) {
			t.heads("CAME", "RESULT", "QUEUE", "ACCOUNT", "OF", "MERCHANT", "ORDER", "REF NO", "STATE", "WHY")
			for _, n := range all {
				t.row(n.Came, n.Result, n.Queue, n.Account, n.Of, n.MerchantNo, cmp.Or(n.OrderNo, n.ChannelOrderNo), n.RefNo, n.State, n.Why)
			}
		})
	})
}
