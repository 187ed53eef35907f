package poll

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// Check fills in the RefNo of the Body where the queue requests the refund, and Key
// (MERCHANT/ORDER/REF), Event and Endpoint if they are empty. It returns an *[bellman.Invalid] that
// names every wrong field. The ChannelOrderNo of a refund is filled in as [Rules] says.
func (h *Handler) Check(task *bellman.Task) error {
	bad := new(bellman.Invalid)
	if task.MerchantNo == "" {
		bad.Add("merchant_no", "is missing: a refund or transfer needs it")
	}
	if task.URL != "" {
		bad.Add("url", "a poll is no request: want the merchant's address in notify.url")
	}
	if task.Repeat != "" {
		bad.Add("repeat", "a refund or transfer is decided once")
	}
	ask, err := ParseAsk(task.Body)
	if wrong, is := errors.AsType[*bellman.Invalid](err); is {
		bad.Fields = append(bad.Fields, wrong.Fields...)
		return bad.Err()
	}
	if ask.Created.IsZero() {
		ask.Created = h.rules.Now().UTC().Truncate(time.Millisecond)
	}
	own, given := task.Event == EventPoll, ask.ChannelOrderNo != "" // own: bellman wants it, of an order that was checked
	task.Event = cmp.Or(task.Event, EventPoll)
	at, err := h.accept(bad, task.Queue, &ask)
	if err != nil {
		return err
	}
	task.Endpoint = cmp.Or(task.Endpoint, at.Endpoint)
	duplicate, err := h.findOrder(bad, task, &ask, at.Identity)
	if err == nil && !own {
		err = h.checkOwner(bad, task, &ask, at.Identity, given)
	}
	if err != nil {
		return err
	}
	if ask.RefNo == "" && h.rules.Request && task.OrderNo != "" {
		ask.RefNo = deriveRefNo(cmp.Or(ask.ChannelOrderNo, task.OrderNo), duplicate)
	}
	if ask.RefNo == "" {
		bad.Add("ref_no", "is missing: want the number of the refund or transfer at the channel")
	}
	if task.Key == "" {
		parts := slices.DeleteFunc([]string{task.MerchantNo, task.OrderNo, ask.RefNo}, func(s string) bool { return s == "" })
		if task.Key = strings.Join(parts, "/"); len(task.Key) > bellman.MaxKey {
			bad.Add("key", fmt.Sprintf("merchant_no/order_no/ref_no is longer than %d bytes: give a shorter one", bellman.MaxKey))
		}
	}
	h.rules.Then.CheckNotify(bad, ask.Notify, func() order.News {
		return (&polled{task: task, ask: ask, life: Life{Stage: Decided, State: StateDone}}).news()
	})
	h.checkRef(bad, at.Channel, task, &ask)
	if o := ask.order(task); o.Vars["amount"] != "" && !bad.Has("vars.amount") {
		if _, err := AmountVar(&o, "amount"); err != nil {
			bad.Add("vars.amount", err.Error())
		}
	}
	if ask.RefNo != "" && task.Alias() == "" {
		task.SetAlias(order.Alias(at.Identity, h.rules.Of, ask.RefNo))
	}
	if h.rules.Request && task.StartAt.IsZero() && task.Delay <= 0 {
		task.Due = h.rules.Now() // the first gap of the schedule is one after the request
	}
	if len(bad.Fields) == 0 {
		if task.Body, err = ask.Encode(); err != nil { // cannot happen: it was read just now
			bad.Add("body", err.Error())
		}
	}
	return bad.Err()
}

// checkRef fills in the currency of an amount, and checks that the channel can be queried, and
// requested where the queue does so.
func (h *Handler) checkRef(bad *bellman.Invalid, channel Channel, task *bellman.Task, ask *Ask) {
	if c, ok := channel.(interface{ Currency() string }); ok {
		ask.fillCurrency(c.Currency())
	}
	c, ok := channel.(RefChecker)
	if !ok || task.MerchantNo == "" || ask.RefNo == "" {
		return
	}
	o := ask.order(task)
	err := c.CheckRef(&o, h.rules.Request)
	if wrong, is := errors.AsType[*bellman.Invalid](err); is {
		bad.Fields = append(bad.Fields, wrong.Fields...)
	} else if err != nil {
		bad.Add("ref_no", err.Error())
	}
}
