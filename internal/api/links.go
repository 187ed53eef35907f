package api

import (
	"context"
	"net/http"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/sharelink"
	"github.com/bellmanhq/bellman/schedule"
)

// Links makes and ends links that show a merchant its notices. Its errors are those of an [Engine].
type Links interface {
	// Make creates a link with in's MerchantNo, OrderNo, Who and Reason.
	Make(ctx context.Context, in sharelink.Link, life time.Duration) (sharelink.Link, error)

	Revoke(ctx context.Context, id bellman.ID, by bellman.By) (sharelink.Link, error)

	// Known reports whether a notification names the merchant, and the order if one is given.
	Known(ctx context.Context, merchantNo, orderNo string, notice func(*bellman.Task) bool, merchants sharelink.Merchants) (bool, error)

	// List returns the newest links: of a merchant, or without a number of all.
	List(ctx context.Context, merchantNo string, limit int) ([]sharelink.Link, error)
}

const (
	newestLinks = 200
	linkLife    = 24 * time.Hour // the default lifetime
)

// sharedPath is the path at which the console shows a link.
const sharedPath = "/shared/"

func (a *API) registerLinks(h part) {
	p := partOf(h, a.o.Links != nil, "this server makes no links")
	op := operation("make-link", http.MethodPost, "/v1/links", access.MayOperate, "A link that shows a merchant's notices, or those of one order, to whoever has it: read-only, until it expires or is revoked.")
	op.DefaultStatus = http.StatusCreated
	register(p, op, a.makeLink)
	register(p, operation("list-links", http.MethodGet, "/v1/links", access.MayRead, "The newest 200 links, without their addresses."), a.listLinks)
	register(p, operation("revoke-link", http.MethodPost, "/v1/links/{id}/revoke", access.MayOperate, "End a link, at once and at every node."), a.revokeLink)
}

func (a *API) makeLink(ctx context.Context, in *struct {
	Caller
	Body client.MakeLink
}) (*answer[client.Link], error) {
	life := linkLife
	if in.Body.Life != "" {
		var err error
		if life, err = schedule.ParseDuration(in.Body.Life); err != nil {
			return nil, wrongField("body.life", "want a duration such as 24h, from 1h to 30d")
		}
	}
	warning, err := a.unknown(ctx, in.Body.MerchantNo, in.Body.OrderNo)
	if err != nil {
		return nil, err
	}
	made, err := a.o.Links.Make(ctx, sharelink.Link{MerchantNo: in.Body.MerchantNo, OrderNo: in.Body.OrderNo, Who: in.who, Reason: in.Body.Reason, From: in.from}, life)
	if err != nil {
		return nil, err
	}
	out := shownLink(&made)
	out.Path, out.Warning = sharedPath+made.Token, warning
	if a.o.PublicURL != "" {
		out.URL = a.o.PublicURL + out.Path
	}
	return ok(out)
}

// unknown returns why a link may show nothing; empty: it shows something.
func (a *API) unknown(ctx context.Context, merchantNo, orderNo string) (string, error) {
	known, err := a.o.Links.Known(ctx, merchantNo, orderNo, func(t *bellman.Task) bool { return t.Kind == bellman.KindNotify }, a.o.Merchants)
	switch {
	case err != nil:
		return "", err
	case known:
		return "", nil
	case orderNo != "":
		return "no notices of this order are known: the link shows nothing until there are", nil
	}
	return "no notices and no registration of this merchant number are known: the link shows nothing until there are", nil
}

func (a *API) listLinks(ctx context.Context, in *struct {
	Caller
	MerchantNo string `query:"merchant_no" maxLength:"128" doc:"Only those of this merchant."`
}) (*answer[client.Links], error) {
	found, err := a.o.Links.List(ctx, in.MerchantNo, newestLinks)
	if err != nil {
		return nil, err
	}
	return ok(client.Links{Links: each(found, shownLink)})
}

func (a *API) revokeLink(ctx context.Context, in *struct {
	Caller
	ID   string `path:"id" format:"uuid" doc:"The link's id."`
	Body *client.Because
}) (*answer[client.Link], error) {
	id, err := parseID(in.ID)
	if err != nil {
		return nil, err
	}
	ended, err := a.o.Links.Revoke(ctx, id, in.by(given(in.Body).Reason))
	return answered(shownLink(&ended), missing(err, "link "+id.String()))
}

func shownLink(l *sharelink.Link) client.Link {
	return client.Link{
		ID: l.ID.String(), MerchantNo: l.MerchantNo, OrderNo: l.OrderNo, Made: client.At(l.Made), Expires: client.At(l.Expires),
		Who: l.Who, Reason: l.Reason, Revoked: optional(l.Revoked),
	}
}
