package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order/gateway"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/schedule"
)

// Order has the settings of a queue of kind order: whom to query, and when to close.
type Order struct {
	// Channel is the built-in channel; the zero value: the requests below, to a gateway of your
	// own.
	Channel Channel
	Query   Request
	Close   Request
	Reverse Request // empty: there is none

	States      Readings // meaning of an answer to a query
	CloseStates Readings // meaning of an answer to a close or reverse
	About       string   // CEL: the order number in an answer to a query; empty: not checked

	// Notice says how the notices of a gateway of one's own are verified and read; nil: there are
	// none. A built-in channel knows its own.
	Notice *Notice

	Reconcile *Reconcile // the daily comparison with the channel's bill; nil: there is none

	Expires       time.Duration // age at which the close protocol begins if nobody has paid
	Grace         time.Duration // … plus this time
	OnExhausted   string        // if the schedule ends before: close, reverse, callback or alert
	MinCloseAge   time.Duration // no close before this age; default 5m at WeChat Pay or with an account without a kind, else 0
	MinReverseAge time.Duration // no reverse before this age
	Confirm       string        // a schedule's text: queries after a close
	LateWatch     time.Duration // how long queries go on after CLOSED, REVOKED or FAILED; 0: they do not
	GiveUp        time.Duration // after expiry; then the order is UNKNOWN, with an alert; default 24h, or 7d if OnExhausted is reverse

	// ChannelExpiry means that orders also expire at the channel: an order that is unknown there,
	// both to the query and to the close, counts as closed. Default: true for the channels
	// wechatpay, wechatpay_v2 and alipay, else false.
	ChannelExpiry bool
	CodeLife      time.Duration // age until which an order that is unknown at the channel is watched for a late payment; 0: only LateWatch
	Then          Then          // who gets the result; zero: nobody
}

// A Notice says how the notices of a gateway are verified and read.
type Notice struct {
	Verify   sign.VerifyConfig
	Items    string   // where the body has a list of items: names with dots between them; empty: it is one
	Order    string   // CEL: the channel's order number
	States   Readings // meaning of an item; or State
	State    string   // CEL: the name of the state
	Accepted NoticeAnswer
	Refused  NoticeAnswer
}

// A NoticeAnswer is what a gateway is answered. Zero: 200 success, or 400 fail.
type NoticeAnswer struct {
	Status int
	Body   string
}

// A Request is a template of an HTTP request. Its URL is exempt from the egress guard.
type Request = gateway.Request

// Readings say what an answer means: the name of a preset, or an expression for each reading.
type Readings struct {
	Preset string
	Rules  map[string]string // reading → CEL; nil with a preset
}

// defaults fills in missing fields, also those that depend on others. stated has the names of the
// fields in the file.
func (o *Order) defaults(stated map[string]bool) {
	if !stated["channel_expiry"] {
		o.ChannelExpiry = o.Channel.HasAccount()
	}
	if (o.Channel.ofWeChat() || o.Channel.Account != "" && o.Channel.Kind == "") && !stated["min_close_age"] {
		o.MinCloseAge = 5 * time.Minute // pay.weixin.qq.com/wiki/doc/apiv3, chapter 3_4_3; of v2, chapter 9_3
	}
	if o.OnExhausted == "reverse" && !stated["give_up"] {
		o.GiveUp = 7 * 24 * time.Hour // WeChat Pay accepts a reverse for this long
	}
}

// orderFields are the fields of a queue of kind order.
var orderFields = []field[Queue]{
	kindOfQueue, channelField, queryField,
	{name: "close", read: requestField(func(q *Queue) *Request { return &q.Order.Close })},
	{name: "reverse", read: requestField(func(q *Queue) *Request { return &q.Order.Reverse })},
	{name: "states", read: func(r *reader, path string, n ast.Node, q *Queue) {
		q.Order.States = readReadings(r, path, n, compiles(states.CompileQuery), statesOfOrder)
	}},
	{name: "close_states", read: func(r *reader, path string, n ast.Node, q *Queue) {
		q.Order.CloseStates = readReadings(r, path, n, compiles(states.CompileClose), compiles(states.CompileCloseRules))
	}},
	aboutField, scheduleField,
	{name: "notice", read: readNotice},
	{name: "reconcile.at", set: func(q *Queue, s string) error { return q.Order.reconcile().at(s) }},
	{name: "reconcile.alarm", set: func(q *Queue, s string) error { return name(&q.Order.reconcile().Alarm, s) }},
	{name: "reconcile.refunds", set: func(q *Queue, s string) error { return boolean(&q.Order.reconcile().Refunds, s) }},
	{name: "reconcile.fund_flow", set: func(q *Queue, s string) error { return boolean(&q.Order.reconcile().FundFlow, s) }},
	traceField,
	{name: "expires", set: func(q *Queue, s string) error { return atLeast(&q.Order.Expires, s, time.Second) }},
	{name: "grace", set: func(q *Queue, s string) error { return atLeast(&q.Order.Grace, s, 0) }},
	{name: "on_exhausted", set: func(q *Queue, s string) error {
		return choice(&q.Order.OnExhausted, s, "close", "reverse", "callback", "alert")
	}},
	{name: "min_close_age", set: func(q *Queue, s string) error { return atLeast(&q.Order.MinCloseAge, s, 0) }},
	{name: "min_reverse_age", set: func(q *Queue, s string) error { return atLeast(&q.Order.MinReverseAge, s, 0) }},
	{name: "confirm", set: func(q *Queue, s string) error { return compiled(&q.Order.Confirm, s, schedule.Parse) }},
	{name: "late_watch", set: func(q *Queue, s string) error { return atLeast(&q.Order.LateWatch, s, 0) }},
	{name: "give_up", set: func(q *Queue, s string) error { return atLeast(&q.Order.GiveUp, s, time.Second) }},
	{name: "channel_expiry", set: func(q *Queue, s string) error { return boolean(&q.Order.ChannelExpiry, s) }},
	{name: "code_life", set: func(q *Queue, s string) error { return atLeast(&q.Order.CodeLife, s, 0) }},
	thenField, rateField, timeoutField, concurrencyField, signField,
}

var requestFields = []field[Request]{
	{name: "method", set: func(to *Request, s string) error {
		return choice(&to.Method, s, "GET", "POST", "PUT", "PATCH", "DELETE")
	}},
	{name: "url", set: func(to *Request, s string) error { to.URL = s; return nil }},
	{name: "headers", read: func(r *reader, path string, n ast.Node, to *Request) {
		to.Headers = map[string]string{}
		for e, text := range r.texts(r.entries(n, path)) {
			to.Headers[e.name] = text
			r.places[e.at] = r.place(e.value)
			r.keep(e.value, e.at, text)
		}
	}},
	{name: "body", set: func(to *Request, s string) error { to.Body = s; return nil }},
}

func requestField(of func(*Queue) *Request) func(*reader, string, ast.Node, *Queue) {
	return func(r *reader, path string, n ast.Node, q *Queue) {
		to := of(q)
		if fill(r, n, path, requestFields, to) && to.URL == "" {
			r.note(n, path+".url", "is missing: want http://HOST/… or https://HOST/…")
		}
	}
}

// readReadings reads the name of a preset, or an expression for each reading.
func readReadings(r *reader, path string, n ast.Node, preset func(string) error, rules func(map[string]string) error) (to Readings) {
	noted := len(r.problems)
	var err error
	if r.isMapping(n, path) {
		to.Rules = map[string]string{}
		for e, text := range r.texts(r.entries(n, path)) {
			to.Rules[e.name] = text
		}
		err = rules(to.Rules)
	} else if to.Preset, _ = r.scalar(n, path); len(r.problems) == noted {
		err = preset(to.Preset)
	}
	if err != nil && len(r.problems) == noted {
		r.note(n, path, err.Error())
	}
	return to
}

// statesOfOrder checks the expressions for the states of an order.
func statesOfOrder(rules map[string]string) error {
	if _, err := states.CompileQueryRules(rules); err != nil {
		return err
	}
	if rules["PAID"] == "" {
		return errors.New("has no PAID: no order could ever be paid")
	}
	return nil
}

// compiled keeps a text, and returns the error if it does not compile.
func compiled[Out any](to *string, s string, compile func(string) (Out, error)) error {
	*to = s
	return compiles(compile)(s)
}

// compiles reports only whether a text compiles.
func compiles[In, Out any](compile func(In) (Out, error)) func(In) error {
	return func(in In) error {
		_, err := compile(in)
		return err
	}
}

// checkOrder reports missing fields of an order queue, and fills in its defaults.
func checkOrder(r *reader, n ast.Node, path string, q *Queue) {
	o := &q.Order
	stated := r.names(n, path)
	o.defaults(stated)
	need := func(name string, there bool, want string) { r.need(n, within(path, name), there, want) }
	need("on_exhausted", o.OnExhausted != "", "close, reverse, callback or alert: what happens when the schedule ends and nothing is decided")
	if o.Reconcile != nil {
		checkReconcile(r, n, path, o)
	}
	if stated["channel"] {
		for _, own := range []struct {
			name string
			set  bool
		}{{"query", o.Query.URL != ""}, {"close", o.Close.URL != ""}, {"reverse", o.Reverse.URL != ""},
			{"states", !o.States.zero()}, {"close_states", !o.CloseStates.zero()}, {"about", o.About != ""}, {"notice", o.Notice != nil && o.Channel.Kind != "program"}} {
			if own.set && (o.Channel.Kind != "" || o.Channel.Account != "") {
				r.note(n, within(path, own.name), "is what the channel "+cmp.Or(o.Channel.Kind, "of the account")+" knows by itself: leave one of the two out")
			}
		}
		if _, isProvider := providerFields[o.Channel.Kind]; isProvider && o.OnExhausted == "reverse" {
			r.note(n, within(path, "on_exhausted"), "the channel "+o.Channel.Kind+" has no reverse: want close, callback or alert")
		}
		if o.Channel.Kind == "wechatpay" && o.Channel.Account == "" && o.OnExhausted == "reverse" {
			need("channel.app_id", o.Channel.AppID != "" || o.Channel.SubMchID != "", "the application's id, since on_exhausted is reverse")
		}
		return
	}
	need("query", o.Query.URL != "", "{method: GET, url: …}, or a channel")
	need("states", !o.States.zero(), "a preset's name, such as wechat_v3, or an expression for each state")
	need("close", o.Close.URL != "", "{method: POST, url: …}, or a channel")
	need("close_states", !o.CloseStates.zero(), "a preset's name, such as wechat_v3, or an expression for each state")
	if o.OnExhausted == "reverse" {
		need("reverse", o.Reverse.URL != "", "{method: POST, url: …}, since on_exhausted is reverse")
	}
	for _, request := range []struct {
		name, method string // the default method
		template     Request
	}{{"query", "GET", o.Query}, {"close", "POST", o.Close}, {"reverse", "POST", o.Reverse}} {
		if request.template.URL == "" {
			continue // need has reported it
		}
		for _, err := range readable(request.template).Check(request.method) {
			r.noteRequest(n, path, request.name+": "+err.Error())
		}
	}
}

// noteRequest reports a mistake that the gateway found, such as "query: url: …", at its place in
// the file.
func (r *reader) noteRequest(n ast.Node, path, text string) {
	at, text := locate(r.places, path, text)
	if at == path {
		r.note(n, path, text)
		return
	}
	r.noteAt(at, text)
}

// readable returns a request whose headers from env: and file: are replaced by a letter, so that a
// check need not read them.
func readable(r Request) Request {
	r.Headers = maps.Clone(r.Headers)
	for name, value := range r.Headers {
		if elsewhere(sign.NewSecret(value)) {
			r.Headers[name] = "x"
		}
	}
	return r
}

func (s Readings) zero() bool { return s.Preset == "" && len(s.Rules) == 0 }

// notNotify returns why the queue named to cannot send notifications; empty: it can. sender is the
// source of tasks without an address, for which the queue needs a url; empty: its tasks have
// addresses.
func notNotify(queues []Queue, to, sender string) string {
	i := slices.IndexFunc(queues, func(q Queue) bool { return q.Name == to })
	switch {
	case i < 0 && len(queueNames(queues, "notify")) == 0:
		return fmt.Sprintf("%.40q is no queue, and none is of kind notify: want the name of a queue of kind notify", to)
	case i < 0:
		return fmt.Sprintf("%.40q is no queue: want one of %s", to, strings.Join(queueNames(queues, "notify"), ", "))
	case queues[i].Kind != "notify":
		return fmt.Sprintf("%.40q is of kind %s: want a queue of kind notify", to, queues[i].Kind)
	case queues[i].URL == "" && sender != "":
		return fmt.Sprintf("queue %.40q has no url, and %s names none: give it one", to, sender)
	}
	return ""
}

// queueNames returns the names of the queues of a kind; an empty kind is every kind.
func queueNames(queues []Queue, kind string) []string {
	var names []string
	for _, q := range queues {
		if kind == "" || q.Kind == kind {
			names = append(names, q.Name)
		}
	}
	return names
}

func (r *reader) isMapping(n ast.Node, path string) bool {
	switch r.resolve(n, path).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// kindOf returns the kind in a mapping; empty: it has none.
func (r *reader) kindOf(n ast.Node, path string) string {
	if !r.isMapping(n, path) {
		r.entries(n, path) // reports what it is instead
		return ""
	}
	noted := len(r.problems)
	defer func() { r.problems = r.problems[:noted] }() // they are reported when the mapping is read
	for _, e := range r.entries(n, path) {
		if e.name == "kind" {
			kind, _ := r.scalar(e.value, e.at)
			return kind
		}
	}
	return ""
}

// wrongKind reports the unknown kind of a mapping, whose other fields depend on it. kind is the
// field.
func wrongKind[T any](r *reader, n ast.Node, path string, kind field[T], into *T) {
	for _, e := range r.entries(n, path) {
		if e.name != kind.name {
			continue
		}
		if text, ok := r.scalar(e.value, e.at); ok {
			r.note(e.value, e.at, kind.set(into, text).Error())
		}
	}
}

// names returns the names in a mapping; none if it is no mapping.
func (r *reader) names(n ast.Node, path string) map[string]bool {
	noted := len(r.problems)
	defer func() { r.problems = r.problems[:noted] }() // they are reported when the mapping is read
	names := map[string]bool{}
	for _, e := range r.entries(n, path) {
		names[e.name] = true
	}
	return names
}

// need reports a missing field, unless a mistake in it is reported already.
func (r *reader) need(n ast.Node, path string, there bool, want string) {
	reported := func(p Problem) bool { return p.Field == path || strings.HasPrefix(p.Field, path+".") }
	if !there && !slices.ContainsFunc(r.problems, reported) {
		r.note(n, path, "is missing: want "+want)
	}
}

func filled(to *string, s string) error {
	*to = s
	if s == "" {
		return errors.New("is empty")
	}
	return nil
}
