package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/sharelink"
	"github.com/bellmanhq/bellman/schedule"
)

// Links makes and revokes links that show a merchant's notifications. Its errors are those of an
// [Engine].
type Links interface {
	// Make makes a link from in's MerchantNo, OrderNo, Who and Reason.
	Make(ctx context.Context, in sharelink.Link, life time.Duration) (sharelink.Link, error)

	// Open returns the link of a token, or ErrNotFound. The link may have expired.
	Open(ctx context.Context, token string) (sharelink.Link, error)

	Get(ctx context.Context, id bellman.ID) (sharelink.Link, error)
	Revoke(ctx context.Context, id bellman.ID, by bellman.By) (sharelink.Link, error)

	// Known reports whether a task for which notice is true names the merchant, and the order if
	// one is given.
	Known(ctx context.Context, merchantNo, orderNo string, notice func(*bellman.Task) bool, merchants sharelink.Merchants) (bool, error)

	// List returns the newest links of a merchant; with an empty number, of all merchants.
	List(ctx context.Context, merchantNo string, limit int) ([]sharelink.Link, error)
}

// newestLinks is the number of links in the list.
const newestLinks = 100

// lives are the durations of a link that the form offers.
var lives = []string{"1h", "6h", "24h", "3d", "7d", "30d"}

const usualLife = "24h"

type linksView struct {
	*view
	MerchantNo string
	Rows       []shownLink
	More       bool // there may be older ones
}

type shownLink struct {
	sharelink.Link
	State string // good, expired or revoked
}

func stateOf(l *sharelink.Link) string {
	switch {
	case !l.Revoked.IsZero():
		return "revoked"
	case l.Over(time.Now()):
		return "expired"
	}
	return "good"
}

func (q *request) linkList() error {
	v := &linksView{view: q.view("page.links"), MerchantNo: bounded(strings.TrimSpace(q.r.URL.Query().Get("merchant_no")), 400)}
	found, err := q.o.Links.List(q.r.Context(), v.MerchantNo, newestLinks+1)
	if err != nil {
		return err
	}
	if v.More = len(found) > newestLinks; v.More {
		found = found[:newestLinks]
	}
	for _, l := range found {
		v.Rows = append(v.Rows, shownLink{l, stateOf(&l)})
	}
	return q.render(http.StatusOK, "links", v)
}

// A newLinkView is the form that makes a link.
type newLinkView struct {
	*view
	MerchantNo, OrderNo string
	Life                string
	Unknown             string // warning that the link would show nothing; empty: it shows something
	pauseForm
}

// Sure is the value by which the form confirms a link that shows nothing, after the warning.
func (v *newLinkView) Sure() string { return v.MerchantNo + " " + v.OrderNo }

// unknown returns a warning if a link would show nothing, unless the visitor has confirmed it.
func (q *request) unknown(v *newLinkView) (string, error) {
	if q.r.PostForm.Get("sure") == v.Sure() {
		return "", nil
	}
	known, err := q.o.Links.Known(q.r.Context(), v.MerchantNo, v.OrderNo, q.told, q.o.Merchants)
	switch {
	case err != nil || known:
		return "", err
	case v.OrderNo != "":
		return q.visitor.lang.say("link.no_order"), nil
	}
	return q.visitor.lang.say("link.no_merchant"), nil
}

func (q *request) newLink() error {
	in := q.r.URL.Query()
	return q.showNewLink(http.StatusOK, &newLinkView{MerchantNo: in.Get("merchant_no"), OrderNo: in.Get("order_no"), Life: usualLife})
}

func (q *request) showNewLink(status int, v *newLinkView) error {
	v.view = q.view("page.newlink")
	v.MerchantNo, v.OrderNo = bounded(v.MerchantNo, 400), bounded(v.OrderNo, 400)
	return q.render(status, "newlink", v)
}

func (q *request) makeLink() error {
	in := q.r.PostForm
	v := &newLinkView{MerchantNo: strings.TrimSpace(in.Get("merchant_no")), OrderNo: strings.TrimSpace(in.Get("order_no")), Life: in.Get("life"),
		pauseForm: pauseForm{Reason: strings.TrimSpace(in.Get("reason"))}}
	life, err := schedule.ParseDuration(v.Life)
	wrong := mistakes{nil, nil, unreasoned(v.Reason)}
	if v.MerchantNo == "" {
		wrong[0] = errMerchant
	}
	if err != nil || !slices.Contains(lives, v.Life) {
		wrong[1] = errLife
	}
	if wrong[0] == nil {
		v.Unknown, wrong[0] = q.unknown(v)
	}
	err = wrong.err()
	status := http.StatusUnprocessableEntity
	if err == nil && v.Unknown == "" {
		var made sharelink.Link
		made, err = q.o.Links.Make(q.r.Context(), sharelink.Link{MerchantNo: v.MerchantNo, OrderNo: v.OrderNo, Who: q.visitor.Who, Reason: v.Reason, From: q.visitor.From}, life)
		if err == nil {
			return q.goDone("/links/"+made.ID.String(), "link")
		}
	}
	if err != nil {
		status, v.Wrong = q.wrong(err)
	}
	return q.showNewLink(status, v)
}

type linkView struct {
	*view
	Link    shownLink
	Address string // complete address; empty if the visitor may not hand it out, or if the link has ended
	pauseForm
}

func (q *request) linkPage() error { return q.showLink(http.StatusOK, pauseForm{}) }

func (q *request) showLink(status int, form pauseForm) error {
	id, err := q.pathID()
	if err != nil {
		return err
	}
	found, err := q.o.Links.Get(q.r.Context(), id)
	if err != nil {
		return err
	}
	v := &linkView{view: q.view("page.link"), Link: shownLink{found, stateOf(&found)}, pauseForm: form}
	if q.visitor.May(access.Operate) && v.Link.State == "good" {
		v.Address = q.publicAddress() + sharedPath + found.Token
	}
	return q.render(status, "link", v)
}

// publicAddress returns the address at which merchants reach this server: the configured one, or
// else that of the present request.
func (q *request) publicAddress() string {
	if q.o.PublicURL != "" {
		return q.o.PublicURL
	}
	return q.reached()
}

// reached returns the address at which the visitor reached this server.
func (q *request) reached() string {
	scheme := "http://"
	if q.o.Proxies.Secure(q.r) {
		scheme = "https://"
	}
	return scheme + q.r.Host
}

func (q *request) revokeLink() error {
	return q.end(ending{
		below: "/links/", done: "revoke", show: q.showLink,
		ended: func(id bellman.ID) (bool, error) {
			l, err := q.o.Links.Get(q.r.Context(), id)
			return stateOf(&l) != "good", err
		},
		do: func(id bellman.ID, by bellman.By) (bool, error) {
			_, err := q.o.Links.Revoke(q.r.Context(), id, by)
			return false, err
		},
	})
}
