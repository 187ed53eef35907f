package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/order/gateway"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/schedule"
)

// Poll has the settings that only a queue of kind poll has.
type Poll struct {
	Request Request // asks for the refund; empty: none, or BuiltIn
	BuiltIn bool    // the built-in channel asks for the refund
}

// defaultPoll is the schedule of a queue of kind poll whose channel or states have none.
const defaultPoll = "wechat_refund"

// pollFields are the fields of a queue of kind poll.
var pollFields = []field[Queue]{
	kindOfQueue, channelField, queryField,
	{name: "request", read: readPollRequest},
	{name: "states", read: func(r *reader, path string, n ast.Node, q *Queue) {
		q.Order.States = readReadings(r, path, n, compiles(states.CompilePoll), compiles(states.CompilePollRules))
	}},
	aboutField, scheduleField, traceField, thenField, rateField, timeoutField, concurrencyField, signField,
}

// pollChannelFields are the fields of a channel that only a queue of kind poll has.
var pollChannelFields = []field[Channel]{
	{name: "of", set: func(c *Channel, s string) error { return choice(&c.Of, s, "refund", "transfer", "profitsharing") }},
}

// readPollRequest reads the word channel, or the template of a request.
func readPollRequest(r *reader, path string, n ast.Node, q *Queue) {
	if r.isMapping(n, path) {
		requestField(func(q *Queue) *Request { return &q.Poll.Request })(r, path, n, q)
		return
	}
	if text, ok := r.scalar(n, path); ok && text != "channel" {
		r.note(n, path, "want {method: POST, url: …}, or the word channel: the channel's own request")
	}
	q.Poll.BuiltIn = true
}

// toldOfPolls are the fields that every notification about a poll has.
var toldOfPolls = []string{"order_no", "merchant_no", "ref_no", "state", "decided_at"}

// checkPoll reports missing fields of a queue of kind poll, and fills in its schedule.
func checkPoll(r *reader, n ast.Node, path string, q *Queue) {
	o, noted := &q.Order, len(r.problems)
	missing := func(name, want string) { r.note(n, within(path, name), "is missing: want "+want) }
	stated := slices.ContainsFunc(r.entries(n, path), func(e entry) bool { return e.name == "schedule" })
	preset := o.States.Preset
	_, isProvider := providerFields[o.Channel.Kind]
	switch c := &o.Channel; {
	case c.Kind == "program":
		r.note(n, within(path, "channel.kind"), "program is for orders: want another channel, or a query")
	case c.builtIn():
		preset = map[string]string{"wechatpay": "wechat_", "alipay": "alipay_"}[c.Kind] + c.Of
		switch {
		case isProvider && c.Of != "refund":
			r.note(n, within(path, "channel.of"), "the channel "+c.Kind+" queries refunds alone: want refund")
		case isProvider && q.Poll.BuiltIn:
			r.note(n, within(path, "request"), "the channel "+c.Kind+" only queries: leave it out, and request the refund yourself")
		case c.Of == "":
			missing("channel.of", "refund, transfer or profitsharing")
		case c.Of == "profitsharing" && c.Kind == "alipay":
			r.note(n, within(path, "channel.of"), "the channel alipay has none: want refund or transfer")
		case c.Of == "transfer" && c.SubMchID != "":
			r.note(n, within(path, "channel.sub_mch_id"), "a transfer is of the merchant itself: leave it out")
		case q.Poll.BuiltIn && c.Of != "refund":
			r.note(n, within(path, "request"), "the channel requests refunds alone, not a "+c.Of)
		}
		for _, own := range []struct {
			name string
			set  bool
		}{{"query", o.Query.URL != ""}, {"request", q.Poll.Request.URL != ""}, {"states", !o.States.zero()}, {"about", o.About != ""}} {
			if own.set {
				r.note(n, within(path, own.name), "is what the channel "+cmp.Or(c.Kind, "of the account")+" knows by itself: leave one of the two out")
			}
		}
	default:
		switch {
		case o.Query.URL == "":
			missing("query", "{method: GET, url: …}, or a channel")
		case o.States.zero():
			missing("states", "a preset's name, such as wechat_refund, or an expression for done, failed and waiting")
		case o.States.Preset == "" && o.States.Rules["done"] == "":
			r.note(n, within(path, "states"), "has no done: nothing could ever be done")
		case q.Poll.BuiltIn:
			r.note(n, within(path, "request"), "there is no channel: want {method: POST, url: …}")
		}
	}
	if len(r.problems) > noted {
		return
	}
	if _, err := schedule.Parse(preset); err == nil && preset != "" && !stated {
		q.Schedule = preset
	}
	if o.Channel.builtIn() {
		return
	}
	if _, err := gateway.NewPoll(gateway.PollOptions{Query: readable(o.Query), Request: readable(q.Poll.Request), States: new(states.Poll)}); err != nil {
		r.noteRequest(n, path, strings.TrimPrefix(err.Error(), "gateway: "))
	}
}
