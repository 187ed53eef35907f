package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
)

func linkCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "link MERCHANT [ORDER] --reason WHY | --list [MERCHANT] | --revoke ID",
		Short: "Make a link by which a merchant sees its notices without an account",
		Long: `Make a link that shows a merchant's notices, or those of one order, to everybody who
has the link: when each was sent, and what the merchant answered. It is read-only, and
valid until it expires or is revoked. --list shows the newest links, without their
addresses; --revoke ends one.`,
		Example: `  bellman link M1001 20261120000001 --life 24h --reason "asks whether we sent it"
  bellman link --revoke 0199b5a0-7c1e-7d55-8c13-1f2a3b4c5d6e --reason "sent to the wrong one"`,
		Args: arguments(0, 2, "a merchant's number, and an order's for that order alone"),
	}
	life := c.Flags().String("life", "24h", "lifetime of the link: 1h to 30d")
	reason := c.Flags().String("reason", "", "why, for the audit record")
	list := c.Flags().Bool("list", false, "show the newest links")
	revoke := c.Flags().String("revoke", "", "end the link with this id")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		switch {
		case *list && *revoke != "", *revoke != "" && len(args) > 0, *list && len(args) > 1:
			return wrong{fmt.Errorf("want a merchant's number, --list, or --revoke ID")}
		case *list:
			links, err := to.Links(ctx, strings.Join(args, ""))
			return show(to, client.Links{Links: links}, err, func(t *rows, all client.Links) { t.links(all.Links...) })
		case *revoke != "":
			ended, err := to.RevokeLink(ctx, *revoke, client.Because{Reason: *reason})
			return show(to, ended, err, (*rows).oneLink)
		case len(args) == 0 || *reason == "":
			return wrong{fmt.Errorf(`want a merchant's number and --reason: bellman link M1001 --reason "asks whether we sent it"`)}
		}
		if len(args) > 1 && args[1] == "" { // without an order, the link would show all notices
			return wrong{fmt.Errorf("ORDER is empty: name an order, or leave it out to show all notices of merchant %s", args[0])}
		}
		in := client.MakeLink{MerchantNo: args[0], Life: *life, Reason: *reason}
		if len(args) > 1 {
			in.OrderNo = args[1]
		}
		made, err := to.MakeLink(ctx, in)
		if err != nil {
			return err
		}
		if made.Warning != "" {
			fmt.Fprintf(to.err, "bellman: the link is made, and %s\n", made.Warning)
		}
		if made.URL == "" { // without a public URL: use the address by which the operator reaches the server
			made.URL = strings.TrimSuffix(to.at, "/") + made.Path
		}
		return to.print(made, func(t *rows) {
			t.row("link", made.URL)
			t.row("id", made.ID)
			t.row("expires", made.Expires)
		})
	})
}

func (t *rows) oneLink(l *client.Link) { t.links(*l) }

func (t *rows) links(all ...client.Link) {
	t.heads("ID", "MERCHANT", "ORDER", "MADE", "EXPIRES", "REVOKED", "WHO", "REASON")
	for _, l := range all {
		t.row(l.ID, l.MerchantNo, l.OrderNo, l.Made, l.Expires, when(l.Revoked), l.Who, l.Reason)
	}
}
