package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/schedule"
)

// askOrder does the same as ask for a queue of kind order.
func (a *API) askOrder(in *client.CreateTask, f *faults) *bellman.Task {
	t := askChannel(in, f)
	for _, number := range []struct{ name, value string }{{"merchant_no", in.MerchantNo}, {"order_no", in.OrderNo}} {
		if number.value == "" && !f.has(number.name) {
			f.add(number.name, "is required: the queue is of kind order")
		}
	}
	if t.Key == "" && !f.has("key") {
		t.Key = in.MerchantNo + "/" + in.OrderNo
		if len(t.Key) > bellman.MaxKey && utf8.RuneCountInString(in.MerchantNo) <= bellman.MaxName && utf8.RuneCountInString(in.OrderNo) <= bellman.MaxName {
			f.add("key", fmt.Sprintf("merchant_no/order_no is longer than %d bytes: give a shorter one", bellman.MaxKey))
		}
	}
	askPlan(in, f, t, ownEvents, notForOrders)
	ask := order.Ask{
		Expires: duration(f, "expires", in.Expires, time.Millisecond, schedule.MaxDuration), ExpiresAt: in.ExpiresAt.Time,
		ChannelOrderNo: in.ChannelOrderNo, Account: in.Account, Amount: in.Amount, Currency: in.Currency,
	}
	bounded(f, "channel_order_no", in.ChannelOrderNo, bellman.MaxName)
	bounded(f, "account", in.Account, bellman.MaxName)
	ask.CodeLife = duration(f, "code_life", in.CodeLife, time.Millisecond, schedule.MaxDuration)
	ask.Vars = vars(f, in.Vars)
	ask.Created = orderCreated(f, in.OrderCreated)
	ask.Notify = notify(f, in.Notify)
	// An invalid time cannot be stored, so the rest is checked without it.
	if f.has("expires_at") {
		ask.ExpiresAt = time.Time{}
	}
	if f.has("amount") || f.has("currency") {
		ask.Amount, ask.Currency = 0, ""
	}
	var err error
	if t.Body, err = ask.Encode(); err != nil {
		f.add("", err.Error())
	}
	return t
}

// askChannel begins the task of an order or poll.
func askChannel(in *client.CreateTask, f *faults) *bellman.Task {
	askLabels(in, f)
	return &bellman.Task{
		Queue: in.Queue, Key: in.Key,
		MerchantNo: in.MerchantNo, OrderNo: in.OrderNo, Event: in.Event,
		Schedule: in.Schedule, StartAt: in.Due.Time,
	}
}

// askPlan reads when an order or poll is queried. own is the prefix of bellman's own events, and
// misplaced rejects the fields that have no meaning for it.
func askPlan(in *client.CreateTask, f *faults, t *bellman.Task, own string, misplaced func(*client.CreateTask, *faults)) {
	if strings.HasPrefix(in.Event, own) {
		f.add("event", "those that begin with "+own+" are bellman's own: want another, or none")
	}
	misplaced(in, f)
	bounded(f, "schedule", in.Schedule, bellman.MaxRule)
	askTimes(in, f, t)
}

// ownEvents is the prefix of the events of tasks that bellman adds for an order.
const ownEvents = "order."

// A misplaced field is one that the caller gave, although it has no meaning for the kind of the
// queue.
type misplaced struct {
	name  string
	given bool
	right string // what would be right
}

// reject notes the misplaced fields. kind says what the queue is.
func reject(f *faults, kind string, fields ...misplaced) {
	for _, field := range fields {
		if field.given && !f.has(field.name) {
			f.add(field.name, kind+": "+field.right)
		}
	}
}

// notForChannels returns the fields that a task which queries a channel cannot have. requests are
// those that the queue makes, and one is what it queries about.
func notForChannels(in *client.CreateTask, requests, one string) []misplaced {
	how := "the queue's " + requests + " the channel is asked"
	return []misplaced{
		{"url", in.URL != "", strings.Replace(how, " how ", " where ", 1) + "; where the merchant is told is notify.url"},
		{"method", in.Method != "", how},
		{"headers", in.Headers != nil, how + "; give what is " + one + "'s own as vars"},
		{"body", in.Body != "", "what the merchant is told is notify.json, what the channel needs is vars"},
		{"json", in.JSON != nil, "what the merchant is told is notify.json, what the channel needs is vars"},
		{"success", in.Success != "", "the queue's states say what an answer means"},
		{"repeat", in.Repeat != "", one + " is decided once"},
		{"ordering_key", in.OrderingKey != "", one + " waits for nobody"},
		{"supersedes", in.Supersedes, one + " waits for nobody"},
		{"resume", in.Resume != nil, "what is known of " + one + " is asked anew"},
	}
}

// notForOrders rejects fields that have no meaning for an order.
func notForOrders(in *client.CreateTask, f *faults) {
	reject(f, "the queue is of kind order", append(notForChannels(in, "query and close say how", "an order"),
		misplaced{"max_age", in.MaxAge != "", "when an order is closed is expires"},
		misplaced{"ref_no", in.RefNo != "", noRef})...)
}

const noRef = "a refund or transfer is a task of a queue of kind poll"

// noOrder rejects fields that have a meaning only for an order.
func noOrder(in *client.CreateTask, f *faults) {
	reject(f, "the queue is not of kind order",
		misplaced{"order_created", !in.OrderCreated.IsZero(), "when a task begins is due or delay"},
		misplaced{"expires", in.Expires != "", "how long a task is attempted is max_age"},
		misplaced{"expires_at", !in.ExpiresAt.IsZero(), "how long a task is attempted is max_age"},
		misplaced{"code_life", in.CodeLife != "", "how long a task is attempted is max_age"},
		misplaced{"channel_order_no", in.ChannelOrderNo != "", "nothing is asked of a channel"},
		misplaced{"account", in.Account != "", "nothing is asked of a channel"},
		misplaced{"amount", in.Amount != 0, "what is sent is json or body"},
		misplaced{"currency", in.Currency != "", "what is sent is json or body"},
		misplaced{"vars", in.Vars != nil, "what is sent is json or body"},
		misplaced{"notify", in.Notify != nil, "where a task goes is url, and what is sent is json or body"},
		misplaced{"ref_no", in.RefNo != "", noRef})
}

// noTell rejects the key of a notification that bellman itself adds for an order, refund or
// transfer. A task that had that key first would stop the notification.
func (a *API) noTell(in *client.CreateTask, f *faults) {
	of := order.Tells(in.Key)
	if kind := a.kindOf(of); kind == "order" || kind == "poll" {
		f.add("key", fmt.Sprintf("is that of bellman's own notification of queue %s: want another key", of))
	}
}

// maxOrderAge is the largest age of a new order. No channel accepts a payment later, and the zero
// of a clock must not cause an immediate close.
const maxOrderAge = 31 * 24 * time.Hour

// orderCreated checks the creation time of an order, and returns it if it is right. Its creator's
// clock may be a minute ahead.
func orderCreated(f *faults, at client.Time) time.Time {
	switch now := time.Now(); {
	case at.IsZero():
	case at.After(now.Add(time.Minute)):
		f.add("order_created", fmt.Sprintf("is more than a minute after this server's now, %s: want when the order was created at the channel", client.At(now)))
	case at.Before(now.Add(-maxOrderAge)):
		f.add("order_created", fmt.Sprintf("is more than 31 days before this server's now, %s: want when the order was created at the channel", client.At(now)))
	}
	if f.has("order_created") {
		return time.Time{}
	}
	return at.Time
}

// vars checks the vars of an order or poll, and returns them if they are right.
func vars(f *faults, vars map[string]string) map[string]string {
	if len(vars) > maxVars {
		f.add("vars", fmt.Sprintf("has %d names: want at most %d", len(vars), maxVars))
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		at := "vars." + cut(name)
		if !word(name) {
			f.add(at, fmt.Sprintf("is no name: want 1 to %d letters, digits or _", maxVarName))
			continue
		}
		bounded(f, at, vars[name], maxVar)
	}
	if f.has("vars") {
		return nil
	}
	return vars
}

// word reports whether s is valid in a template, as {vars.s}.
func word(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		default:
			return false
		}
	}
	return s != "" && len(s) <= maxVarName
}

// notify checks the address and the content of a notification, and returns both if they are right.
func notify(f *faults, n *client.Notify) order.Notify {
	if n == nil {
		return order.Notify{}
	}
	if n.URL == "" && n.JSON == nil && !f.has("notify") {
		f.add("notify", "says nothing: give url, json, or both")
	}
	if n.URL != "" && bounded(f, "notify.url", n.URL, bellman.MaxURL) {
		if err := deliver.CheckURL(n.URL); err != nil {
			f.add("notify.url", err.Error())
		}
	}
	if n.JSON != nil && n.JSON[0] != '{' {
		f.add("notify.json", "want an object: order_no, order_state and more are added to it")
	}
	if f.has("notify") {
		return order.Notify{}
	}
	return order.Notify{URL: n.URL, JSON: n.JSON}
}
