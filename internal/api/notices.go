package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// Notices takes the notices of payment channels.
type Notices interface {
	// Receive verifies a notice for the orders of an account of a queue, or of the queue's own if
	// account is empty, and applies each of its items. When it returns nil, all is committed. An
	// error of the notice itself, such as a wrong signature, is an [order.RefusedNotice].
	Receive(ctx context.Context, queue, account string, about func(alias string) bool, raw *order.RawNotice) ([]*order.Told, error)
}

func (a *API) registerNotices(h part) {
	register(h, scoped(operation("list-notices", http.MethodGet, "/v1/notices", access.MayRead, "The notices of payment channels, the newest first.")), a.listNotices)
	op := scoped(operation("hand-in-notice", http.MethodPost, orderPath+"/notice", access.MayReport, "Verify and apply a notice about an order that another program received."))
	op.MaxBodyBytes = 2*maxHandIn + maxSmall
	register(partOf(h, a.o.Notices != nil, "this server takes no notices"), op, a.handIn)
}

// maxHandIn is the largest body of a notice.
const maxHandIn = 256 << 10

type noticeListing struct {
	Caller
	Queue      string `query:"queue" maxLength:"128"`
	MerchantNo string `query:"merchant_no" maxLength:"128"`
	OrderNo    string `query:"order_no" maxLength:"128"`
	Result     string `query:"result" enum:"applied,duplicate,held,mismatch,refused"`
	Limit      int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor     string `query:"cursor" maxLength:"64" doc:"The next_cursor of a page of the same filter; default: the newest."`
}

func (a *API) listNotices(ctx context.Context, in *noticeListing) (*answer[client.Notices], error) {
	wanted := client.Filter{Queue: in.Queue, MerchantNo: in.MerchantNo, OrderNo: in.OrderNo, Event: order.EventNotice, Result: in.Result}
	if refused := in.narrow(&wanted); refused != nil {
		return nil, refused
	}
	before, refused := parseTaskCursor(in.Cursor, &wanted)
	if refused != nil {
		return nil, refused
	}
	f := store.Filter{Queue: wanted.Queue, MerchantNo: wanted.MerchantNo, OrderNo: in.OrderNo, Event: order.EventNotice}
	tasks, next, err := a.page(ctx, f, before, in.Limit, true, func(t *bellman.Task) bool {
		told := order.ToldOf(t)
		if told == nil || !in.sees(t) || in.Result != "" && string(told.Result) != in.Result {
			return false
		}
		came := told.Result == order.NoticeHeld && t.State == bellman.Succeeded && t.Reason == string(order.NoticeHeld)
		return !came // its order has the record of what the notice did
	})
	if err != nil {
		return nil, err
	}
	page := client.Notices{Notices: make([]client.Notice, len(tasks)), NextCursor: taskCursor(next, &wanted)}
	for i, t := range tasks {
		page.Notices[i] = noticeOf(t, order.ToldOf(t), in.may)
	}
	return ok(page)
}

// noticeOf describes a notice. Its content is for those who may operate.
func noticeOf(t *bellman.Task, told *order.Told, may access.Rights) client.Notice {
	n := client.Notice{
		Queue: t.Queue, Account: told.Account, Of: string(told.Of), MerchantNo: t.MerchantNo, OrderNo: t.OrderNo,
		ChannelOrderNo: told.OrderNo, RefNo: told.RefNo, Result: string(told.Result), Why: told.Why, State: told.Reading, Came: client.At(told.Came),
	}
	if !t.ID.IsZero() {
		n.Task = t.ID.String()
	}
	if may&access.MayOperate != 0 {
		n.Content = told.Content
	}
	return n
}

func (a *API) handIn(ctx context.Context, in *struct {
	Caller
	OrderNumbers
	Body client.HandIn
}) (*answer[client.HandedIn], error) {
	tasks, _, err := a.tasksOf(ctx, &in.holder, &in.OrderNumbers)
	if err != nil {
		return nil, err
	}
	own := a.own(tasks)
	if len(own) == 0 {
		return nil, in.missing()
	}
	raw := &order.RawNotice{Header: http.Header{}, Body: []byte(in.Body.Body), At: time.Now()}
	for name, value := range in.Body.Headers {
		raw.Header.Set(name, value)
	}
	about := func(alias string) bool {
		return slices.ContainsFunc(tasks, func(t *bellman.Task) bool { return t.Alias() == alias })
	}
	t, told, err := a.receive(ctx, own, about, raw)
	if refused, is := errors.AsType[*order.RefusedNotice](err); is {
		return nil, wrongField("body.body", refused.Error())
	}
	if err != nil {
		return nil, err
	}
	out := client.HandedIn{Notices: []client.Notice{}}
	for _, n := range told {
		out.Notices = append(out.Notices, noticeOf(&bellman.Task{Queue: t.Queue, MerchantNo: in.MerchantNo, OrderNo: in.OrderNo}, n, in.may|access.MayOperate))
	}
	return ok(out)
}

// receive offers a notice to the channels of an order's own tasks, the pending ones first, until
// one verifies it, and returns a task of that channel. If all refuse it, the error is that of the
// first.
func (a *API) receive(ctx context.Context, own []*bellman.Task, about func(alias string) bool, raw *order.RawNotice) (_ *bellman.Task, _ []*order.Told, err error) {
	type channel struct{ queue, account string }
	offered := map[channel]bool{}
	for _, ended := range []bool{false, true} {
		for _, t := range own {
			c := channel{t.Queue, order.AccountOf(t)}
			if t.State.Ended() != ended || offered[c] {
				continue
			}
			offered[c] = true
			told, wrong := a.o.Notices.Receive(ctx, c.queue, c.account, about, raw)
			if _, is := errors.AsType[*order.RefusedNotice](wrong); !is {
				return t, told, wrong
			}
			err = cmp.Or(err, wrong)
		}
	}
	return nil, nil, err
}
