package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/mask"
	"github.com/bellmanhq/bellman/internal/merchant"
)

// A rawMerchants is a client.MerchantBatch whose merchants are not decoded yet.
type rawMerchants struct {
	Merchants []json.RawMessage `json:"merchants" nullable:"false" minItems:"1" maxItems:"1000"`
	DryRun    bool              `json:"dry_run,omitempty"`
	Reason    string            `json:"reason,omitempty" maxLength:"500"`
}

var (
	merchantsChecker = newChecker[rawMerchants]()
	merchantChecker  = newChecker[client.PutMerchant]()
)

// A MerchantNo is a merchant's number in a path.
type MerchantNo struct {
	MerchantNo string `path:"merchant_no" maxLength:"128" doc:"The merchant's number, escaped."`
}

func (a *API) registerMerchants(h part) {
	p := partOf(h, a.o.Merchants != nil, "this server keeps no merchants")
	const path, one = "/v1/merchants", "/v1/merchants/{merchant_no}"
	registerPut(p, scoped(operation("put-merchant", http.MethodPut, one, access.MayAdmin, "Register a merchant, or change all of it. The answer has no secret.")), a.putMerchant)
	register(p, scoped(operation("get-merchant", http.MethodGet, one, access.MayRead, "A merchant, without its secrets.")), a.getMerchant)
	register(p, scoped(operation("merchant-stats", http.MethodGet, one+"/stats", access.MayRead, "How a merchant's newest tasks went: success rate, backlog, last failures.")), a.merchantStats)
	gone := scoped(operation("delete-merchant", http.MethodDelete, one, access.MayAdmin, "End a merchant's registration. Its tasks stay; those without an address of their own fail, attempt by attempt, until it is registered again."))
	gone.DefaultStatus = http.StatusNoContent
	register(p, gone, a.deleteMerchant)

	register(p, scoped(operation("list-merchants", http.MethodGet, path, access.MayRead, "Merchants: by name where one is searched by, by number otherwise.")), a.listMerchants)
	register(p, scoped(operation("export-merchants", http.MethodGet, "/v1/merchant-export", access.MayAdmin, "Merchants as PUT takes them back, with their secrets sealed: only a server with the same master key can open them.")), a.exportMerchants)

	batch := scoped(operation("put-merchants", http.MethodPost, path+"/batch", access.MayAdmin, "Register or change up to 1,000 merchants. A wrong one does not stop the others; the same again changes nothing."))
	batch.MaxBodyBytes, batch.SkipValidateBody = maxBatch+1, true
	register(p, batch, a.putMerchants)
	register(p, scoped(operation("rotate-merchant-secret", http.MethodPost, one+"/secrets", access.MayAdmin, "Give a merchant a new secret. For the overlap the former one signs, too, if the scheme has room for two signatures.")), a.rotateMerchant)
	register(p, operation("reseal-merchants", http.MethodPost, path+"/reseal", access.MayAdmin, "Seal all secrets of merchants and accounts under the newest master key, so that older ones can be taken out of the configuration."), a.resealMerchants)
	test := scoped(operation("test-merchant", http.MethodPost, one+"/test", access.MayOperate, "Send a merchant a test: one task with the event bellman.test, attempted once, as any other."))
	test.DefaultStatus = http.StatusCreated
	register(p, test, a.testMerchant)
	register(p, scoped(operation("pause-merchant", http.MethodPost, one+"/pause", access.MayOperate, "Stop attempts of notifications that name a merchant, wherever they go. Their schedules wait.")), a.pausing(merchant.Desk.Pause))
	register(p, scoped(operation("resume-merchant", http.MethodPost, one+"/resume", access.MayOperate, "End a merchant's pause.")), a.pausing(merchant.Desk.Resume))
}

// onMerchant converts the result of an action on one merchant. allQueues says that the action
// concerns the merchant in all queues.
func onMerchant[T any](by *Caller, no string, allQueues bool, do func() (T, error)) (*answer[T], error) {
	if refused := by.checkMerchant(no, allQueues); refused != nil {
		return nil, refused
	}
	out, err := do()
	return answered(out, missing(err, fmt.Sprintf("merchant %q", cut(no))))
}

func (a *API) getMerchant(ctx context.Context, in *struct {
	Caller
	MerchantNo
}) (*answer[client.Merchant], error) {
	no := in.MerchantNo.MerchantNo
	return onMerchant(&in.Caller, no, false, func() (client.Merchant, error) {
		m, err := a.o.Merchants.Get(ctx, no)
		if err != nil {
			return m, err
		}
		one := []client.Merchant{m}
		err = a.showTo(ctx, &in.holder, one)
		return one[0], err
	})
}

func (a *API) merchantStats(ctx context.Context, in *struct {
	Caller
	MerchantNo
}) (*answer[client.MerchantStats], error) {
	no := in.MerchantNo.MerchantNo
	return onMerchant(&in.Caller, no, true, func() (client.MerchantStats, error) { return a.o.Merchants.Stats(ctx, no) })
}

func (a *API) putMerchant(ctx context.Context, in *struct {
	Caller
	MerchantNo
	Body rawBody[client.PutMerchant]
}) (*stated[client.Merchant], error) {
	no := in.MerchantNo.MerchantNo
	if refused := in.checkMerchant(no, true); refused != nil {
		return nil, refused
	}
	asked, faulty, refused := merchantChecker.read(in.Body.raw, "body", "")
	if refused != nil {
		return nil, refused
	}
	if asked.MerchantNo != "" && asked.MerchantNo != no {
		faulty = append(faulty, bellman.FieldError{Field: "merchant_no", Problem: "is another one than the path names: leave it out"})
	}
	asked.MerchantNo = no
	m, isNew, err := a.o.Merchants.Put(ctx, merchant.Wanted{PutMerchant: asked, Wrong: faulty}, in.by(asked.Reason))
	if err != nil {
		return nil, a.overtaken(err, "body.")
	}
	return put(m, isNew), nil
}

func (a *API) deleteMerchant(ctx context.Context, in *struct {
	Caller
	MerchantNo
	Reason string `query:"reason" maxLength:"500" doc:"Written to the audit record."`
}) (*struct{}, error) {
	no := in.MerchantNo.MerchantNo
	_, err := onMerchant(&in.Caller, no, true, func() (struct{}, error) {
		return struct{}{}, a.o.Merchants.Delete(ctx, no, in.by(in.Reason))
	})
	return nil, err
}

// A MerchantQuery is the query of a list of merchants.
type MerchantQuery struct {
	MerchantNo string `query:"merchant_no" maxLength:"128" doc:"Beginning of the number."`
	Name       string `query:"name" maxLength:"100" doc:"Beginning of the name, in upper or lower case."`
	Paused     bool   `query:"paused" doc:"true: only paused ones."`
	State      string `query:"state" enum:"failing,late,paused" doc:"Only merchants in this state. failing: they accept nothing. late: a notification is overdue by more than the alarm overdue allows, among the 1,000 tasks that are overdue the longest."`
	Limit      int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor     string `query:"cursor" maxLength:"2000" doc:"The next_cursor of a page of the same search; default: the first page."`
}

func (a *API) listMerchants(ctx context.Context, in *struct {
	Caller
	MerchantQuery
}) (*answer[client.MerchantPage], error) {
	return a.merchantPage(ctx, &in.holder, &in.MerchantQuery, false)
}

func (a *API) exportMerchants(ctx context.Context, in *struct {
	Caller
	MerchantQuery
}) (*answer[client.MerchantPage], error) {
	if err := a.exporting(ctx, &in.Caller, "merchants"); err != nil {
		return nil, err
	}
	return a.merchantPage(ctx, &in.holder, &in.MerchantQuery, true)
}

// merchantPage returns a page of merchants, with sealed including their sealed secrets.
func (a *API) merchantPage(ctx context.Context, by *holder, q *MerchantQuery, sealed bool) (*answer[client.MerchantPage], error) {
	search := client.MerchantSearch{MerchantNo: q.MerchantNo, Name: q.Name, Paused: q.Paused, State: q.State}
	if q.Paused && q.State != "" && q.State != "paused" {
		return nil, wrongField("query.paused", "give either paused or state")
	}
	if !by.scope.AllQueues() && (q.State == "failing" || q.State == "late") {
		return nil, by.outside("how a merchant's tasks go is of all queues")
	}
	only, refused := by.narrowMerchants(&search)
	if refused != nil {
		return nil, refused
	}
	wanted := search // of all its pages
	after, refused := parseCursor(q.Cursor, 0, &wanted)
	if refused != nil {
		return nil, refused
	}
	search.Limit, search.Sealed = q.Limit, sealed
	if only {
		search.Limit = 1 // that number is before all others that begin with it
	}
	page, next, err := a.o.Merchants.List(ctx, search, string(after))
	if err != nil {
		return nil, err
	}
	if only {
		next = ""
	}
	page = slices.DeleteFunc(page, func(m client.Merchant) bool { return !by.scope.HasMerchant(m.MerchantNo) })
	if page == nil {
		page = []client.Merchant{}
	}
	if !sealed {
		if err := a.showTo(ctx, by, page); err != nil {
			return nil, err
		}
	}
	return ok(client.MerchantPage{Merchants: page, NextCursor: cursor([]byte(next), &wanted)})
}

// showTo sets how the attempts of the last hour to merchants went, and takes away what a key may
// not see. A key with queues does not see how their tasks go: that is of all queues. Who cannot put
// a merchant sees its address as the address of a task is shown.
func (a *API) showTo(ctx context.Context, by *holder, of []client.Merchant) error {
	for i := range of {
		if by.may&access.MayAdmin == 0 {
			of[i].NotifyURL = mask.URL(of[i].NotifyURL)
		}
		if !by.scope.AllQueues() {
			of[i].Failing, of[i].Backlog = false, nil
		}
	}
	if !by.scope.AllQueues() {
		return nil
	}
	ask := figures.RecentAsk{}
	for i := range of {
		ask.Merchants = append(ask.Merchants, of[i].MerchantNo)
	}
	if len(of) == 0 {
		return nil
	}
	f, err := a.o.Engine.Figures(ctx, figures.Ask{Recent: &ask})
	for i := range f.RecentMerchants {
		r := &f.RecentMerchants[i]
		at := slices.IndexFunc(of, func(m client.Merchant) bool { return m.MerchantNo == r.Name })
		if at >= 0 {
			of[at].Hour = hour(r)
		}
	}
	return err
}

func (a *API) putMerchants(ctx context.Context, in *struct {
	Caller
	Body rawBody[client.MerchantBatch]
}) (*answer[client.MerchantBatched], error) {
	asked, faulty, refused := merchantsChecker.read(in.Body.raw, "body", "merchants")
	if refused = unreadBatch(faulty, refused); refused != nil {
		return nil, refused
	}
	all := make([]merchant.Wanted, len(asked.Merchants))
	unread := make([]*client.Problem, len(all))
	for i, data := range asked.Merchants {
		all[i].PutMerchant, all[i].Wrong, unread[i] = merchantChecker.read(data, fmt.Sprintf("body.merchants[%d]", i), "")
		if unread[i] == nil {
			unread[i] = in.checkMerchant(all[i].MerchantNo, true)
			in.refusesPart(unread[i])
		}
		if unread[i] != nil {
			all[i].Wrong = []bellman.FieldError{{Problem: unread[i].Detail}}
		}
	}
	results, err := a.o.Merchants.Import(ctx, all, asked.DryRun, in.by(asked.Reason))
	if err != nil {
		return nil, err
	}
	out := client.MerchantBatched{Results: make([]client.MerchantResult, len(results))}
	for i, r := range results {
		shown := client.MerchantResult{MerchantNo: r.ID}
		shown.Status, shown.Error = a.imported(&r, unread[i], fmt.Sprintf("body.merchants[%d].", i))
		out.Results[i] = shown
	}
	return ok(out)
}

func (a *API) rotateMerchant(ctx context.Context, in *struct {
	Caller
	MerchantNo
	Body client.RotateMerchant
}) (*answer[client.Merchant], error) {
	overlap, refused := overlapOf(in.Body.Overlap)
	if refused != nil {
		return nil, refused
	}
	no := in.MerchantNo.MerchantNo
	return onMerchant(&in.Caller, no, true, func() (client.Merchant, error) {
		return a.o.Merchants.Rotate(ctx, no, in.Body.Secret, overlap, in.by(in.Body.Reason))
	})
}

func (a *API) resealMerchants(ctx context.Context, in *struct {
	Caller
	Body *client.Because
}) (*answer[client.MerchantReseal], error) {
	return answered(a.o.Merchants.Reseal(ctx, in.by(given(in.Body).Reason)))
}

// pauseMerchant is the request of a merchant's pause, and of its end.
type pauseMerchant = struct {
	Caller
	MerchantNo
	Body *client.Because
}

// pausing returns the handler that pauses merchants or ends their pauses.
func (a *API) pausing(do func(merchant.Desk, context.Context, string, bellman.By) error) func(context.Context, *pauseMerchant) (*answer[client.Paused], error) {
	return func(ctx context.Context, in *pauseMerchant) (*answer[client.Paused], error) {
		no := in.MerchantNo.MerchantNo
		return onMerchant(&in.Caller, no, true, func() (client.Paused, error) {
			return paused(no, do(a.o.Merchants, ctx, no, in.by(given(in.Body).Reason)))
		})
	}
}

func (a *API) testMerchant(ctx context.Context, in *struct {
	Caller
	MerchantNo
	Body *client.TestMerchant
}) (*stated[client.Task], error) {
	asked := given(in.Body)
	no := in.MerchantNo.MerchantNo
	if refused := in.checkMerchant(no, asked.Queue == ""); refused != nil {
		return nil, refused
	}
	if asked.Queue != "" && !in.scope.HasQueue(asked.Queue) {
		return nil, in.outsideQueue(asked.Queue)
	}
	t, err := a.o.Merchants.Test(ctx, no, asked.Queue, in.by(asked.Reason))
	if err != nil {
		return nil, missing(err, fmt.Sprintf("merchant %q", cut(no)))
	}
	return &stated[client.Task]{http.StatusCreated, a.Shown(t)}, nil
}
