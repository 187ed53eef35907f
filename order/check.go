package order

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/schedule"
)

// Check fills in Key (MERCHANT/ORDER), Event and Endpoint if they are empty, and sets Due. It
// writes the expiry, the time of creation and the account into the Body, so that a later change of
// the queue's rules does not move them. It returns an *[bellman.Invalid] that names every wrong
// field: merchant_no, order_no, key, url, repeat, account, the fields of the body, and notify.url
// if the merchant could not be notified.
func (h *Handler) Check(task *bellman.Task) error {
	if task.Event == EventNotice {
		return h.checkNotice(task)
	}
	bad := new(bellman.Invalid)
	if task.MerchantNo == "" {
		bad.Add("merchant_no", "is missing: an order task needs it")
	}
	if task.OrderNo == "" {
		bad.Add("order_no", "is missing: an order task needs it")
	}
	if task.URL != "" {
		bad.Add("url", "an order task is no request: want the merchant's address in notify.url")
	}
	if task.Repeat != "" {
		bad.Add("repeat", "an order is decided once")
	}
	ask, err := ParseAsk(task.Body)
	if wrong, is := errors.AsType[*bellman.Invalid](err); is {
		bad.Fields = append(bad.Fields, wrong.Fields...)
		return bad.Err()
	}
	if task.Key == "" {
		task.Key = task.MerchantNo + "/" + task.OrderNo
	}
	task.Event = cmp.Or(task.Event, EventWatch)
	at := Account[Channel]{Endpoint: h.rules.Endpoint} // of a watch, whose account may have gone since
	if ask.Watch == nil {
		if at, err = h.accept(bad, task.Queue, &ask); err != nil {
			return err
		}
	}
	task.Endpoint = cmp.Or(task.Endpoint, at.Endpoint)
	if task.Alias() == "" && at.Identity != "" && task.OrderNo != "" {
		task.SetAlias(Alias(at.Identity, OfPayment, ask.channelNo(task)))
	}
	if ask.Watch == nil && strings.HasSuffix(task.Key, lateWatchKey) {
		bad.Add("key", "ends in "+lateWatchKey+", as the key of the watch that follows a close does")
	}
	if ask.Created.IsZero() {
		ask.Created = h.rules.Now().UTC().Truncate(time.Millisecond)
	}
	if !ask.ExpiresAt.IsZero() {
		if ask.Expires = ask.ExpiresAt.Sub(ask.Created); ask.Expires <= 0 {
			bad.Add("expires_at", fmt.Sprintf("is not after the order's creation, %s: want until when it can be paid", wire.When(ask.Created)))
		} else if ask.Expires > schedule.MaxDuration {
			bad.Add("expires_at", "is more than ten years ahead")
		}
		ask.ExpiresAt = time.Time{}
	}
	ask.Expires = cmp.Or(ask.Expires, h.rules.Expires)
	if ask.Watch == nil {
		h.rules.Then.CheckNotify(bad, ask.Notify, func() News {
			w := watched{task: task, ask: ask, order: ask.order(task), life: Life{Stage: Decided, State: Paid.String(), Late: Paid.String()}}
			return w.news(move{tell: tellLate}, sampleTaken(&ask), ask.Created)
		})
		checkChannel(bad, at.Channel, task, &ask)
		_, task.Due = h.ends(&ask) // the close does not wait for a schedule that begins later
	}
	if len(bad.Fields) == 0 {
		task.Body = ask.encode()
	}
	return bad.Err()
}

// Alias returns the alias of the task that asks a channel about a payment, refund or transfer: the
// account's Identity, what it is, and the number by which the channel knows it. It is how a notice
// finds its task.
func Alias(account string, of NoticeOf, number string) string {
	return account + "/" + string(of) + ":" + number
}

// KnownAs returns the account and the number by which the channel knows the order of a task, as its
// alias has them. ok is false if the task is neither an order's own nor a watch for its late
// payment.
func KnownAs(task *bellman.Task) (account, number string, ok bool) {
	ask, err := ParseAsk(task.Body)
	if err != nil {
		return "", "", false
	}
	number = ask.channelNo(task)
	account, ok = strings.CutSuffix((&watched{task: task, ask: ask}).alias(), Alias("", OfPayment, number))
	return account, number, ok && task.Event != EventNotice
}

// KnowsPayment reports whether the task of an order, or of a watch for its late payment, knows the
// payment with this number of the channel. duplicate says that it is a second payment of the order.
func KnowsPayment(task *bellman.Task, number string) (known, duplicate bool) {
	l, err := ParseLife(task.Data)
	if err != nil || number == "" {
		return false, false
	}
	first, at := l.firstPayment(), slices.Index(l.Payments, hashed(number))
	return number == first || at >= 0, number != first && (at > 0 || at == 0 && first != "")
}

// AccountIn returns the account of an alias that [Alias] made of a payment, refund or transfer;
// empty: it is another text.
func AccountIn(alias string) string {
	end := -1
	for _, of := range []NoticeOf{OfPayment, OfRefund, OfTransfer} {
		if i := strings.Index(alias, "/"+string(of)+":"); i >= 0 && (end < 0 || i < end) {
			end = i
		}
	}
	return alias[:max(end, 0)]
}

// sampleTaken are fields of a payment of an order, for checks.
func sampleTaken(ask *Ask) []byte {
	taken, _ := encodeTaken(Taken{"transaction_id": "1", "amount": max(ask.Amount, 1), "currency": cmp.Or(ask.Currency, "CNY")})
	return taken // it is text and numbers
}

// checkNotice checks the record of a notice, which is added as ended, or a notice that is held.
func (h *Handler) checkNotice(task *bellman.Task) error {
	ask, err := ParseAsk(task.Body)
	if err != nil {
		return err
	}
	bad := new(bellman.Invalid)
	if ask.Notice == nil {
		bad.Add("body.notice", "is missing: a task with the event "+EventNotice+" is the record of a channel's notice")
		return bad.Err()
	}
	switch ask.Notice.Result {
	case NoticeHeld:
		if h.rules.Tell == nil {
			bad.Add("body.notice", "cannot be held: the queue receives no notices")
		}
	case NoticeApplied, NoticeDuplicate, NoticeMismatch, NoticeRefused:
		task.Status = ask.Notice.Result.ended()
	default:
		bad.Add("body.notice", fmt.Sprintf("%.40q is no result of a notice", ask.Notice.Result))
	}
	return bad.Err()
}

// checkChannel checks that the channel can be queried about the order.
func checkChannel(bad *bellman.Invalid, channel Channel, task *bellman.Task, ask *Ask) {
	c, ok := channel.(OrderChecker)
	if !ok || task.MerchantNo == "" || task.OrderNo == "" {
		return
	}
	o := ask.order(task)
	err := c.CheckOrder(&o)
	if wrong, is := errors.AsType[*bellman.Invalid](err); is {
		for _, f := range wrong.Fields {
			if f.Field == "order_no" && ask.ChannelOrderNo != "" {
				f.Field = "channel_order_no"
			}
			bad.Fields = append(bad.Fields, f)
		}
	} else if err != nil {
		bad.Add("order_no", err.Error())
	}
}
