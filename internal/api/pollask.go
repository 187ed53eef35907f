package api

import (
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// askPoll does the same as ask for a queue of kind poll.
func (a *API) askPoll(in *client.CreateTask, f *faults) *bellman.Task {
	t := &bellman.Task{
		Queue: in.Queue, Key: in.Key,
		MerchantNo: in.MerchantNo, OrderNo: in.OrderNo, Event: in.Event,
		Schedule: in.Schedule, StartAt: in.Due.Time,
	}
	askLabels(in, f)
	bounded(f, "ref_no", in.RefNo, bellman.MaxName)
	if in.MerchantNo == "" && !f.has("merchant_no") {
		f.add("merchant_no", "is required: the queue is of kind poll")
	}
	if strings.HasPrefix(in.Event, ownPollEvents) {
		f.add("event", "those that begin with "+ownPollEvents+" are bellman's own: want another, or none")
	}
	notForPolls(in, f)
	bounded(f, "schedule", in.Schedule, bellman.MaxRule)
	askTimes(in, f, t)
	ask := poll.Ask{RefNo: in.RefNo, Vars: in.Vars}
	if vars(f, in.Vars); f.has("vars") {
		ask.Vars = nil // the rest is checked without it
	}
	if in.Notify != nil {
		if notify(f, in.Notify); !f.has("notify") {
			ask.Notify = order.Notify{URL: in.Notify.URL, JSON: in.Notify.JSON}
		}
	}
	var err error
	if t.Body, err = ask.Encode(); err != nil {
		f.add("", err.Error())
	}
	return t
}

// ownPollEvents is the prefix of the events of tasks that bellman adds for a poll.
const ownPollEvents = "poll."

// notForPolls rejects fields that have no meaning for a refund or transfer.
func notForPolls(in *client.CreateTask, f *faults) {
	for _, field := range []struct {
		name  string
		given bool
		right string
	}{
		{"url", in.URL != "", "the queue's query says where the channel is asked; where the merchant is told is notify.url"},
		{"method", in.Method != "", "the queue's query says how the channel is asked"},
		{"headers", in.Headers != nil, "the queue's query says how the channel is asked; give what is the refund's own as vars"},
		{"body", in.Body != "", "what the merchant is told is notify.json, what the channel needs is vars"},
		{"json", in.JSON != nil, "what the merchant is told is notify.json, what the channel needs is vars"},
		{"success", in.Success != "", "the queue's states say what an answer means"},
		{"max_age", in.MaxAge != "", "it is asked about until the channel says how it ended"},
		{"expires", in.Expires != "", "it is asked about until the channel says how it ended"},
		{"code_life", in.CodeLife != "", "it is asked about until the channel says how it ended"},
		{"order_created", !in.OrderCreated.IsZero(), "when its schedule begins is due or delay"},
		{"repeat", in.Repeat != "", "a refund or transfer is decided once"},
		{"ordering_key", in.OrderingKey != "", "refunds and transfers wait for nobody"},
		{"supersedes", in.Supersedes, "refunds and transfers wait for nobody"},
		{"resume", in.Resume != nil, "what is known of it is asked anew"},
	} {
		if field.given && !f.has(field.name) {
			f.add(field.name, "the queue is of kind poll: "+field.right)
		}
	}
}
