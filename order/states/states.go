// Package states reads the answers of payment channels: whether an order is paid, and whether it
// was closed. The preset of a provider, or rules of the caller, turn an answer into an
// [order.Reading] or an [order.CloseReading].
//
// The package makes no request and checks no signature. It never guesses. If an answer does not say
// explicitly what the state is, the reading is QUERY_ERROR, or unknown for a close, and Error says
// why.
//
// # HTTP status
//
// These rules hold for every preset, and for rules of the caller:
//
//   - A missing answer is QUERY_ERROR. So is an answer whose status is neither 200 to 299 nor
//     400 to 499.
//   - A status of 400 to 499 can say NOT_FOUND and nothing else.
//   - 202 decides nothing: the channel has not finished the request.
//   - A close is closed or refunded only by a status of 200 to 299 other than 202. It is
//     already_closed or not_exist only by a status of 200 to 499.
//   - 429 sets Throttled.
//
// # Taken
//
// For a paid order a preset reads the fields of [order.Taken], in whatever form the provider writes
// them: "88.88" of Alipay becomes the amount 8888 and the currency CNY. In answers of WeChat Pay
// and Alipay, a missing currency means CNY. An amount is left out if it is negative, has a fraction
// of the currency's smallest unit, or is more than an int64 can hold. A currency is left out if ISO
// 4217 does not have it, or if the amount is left out. UnionPay, hyperswitch and Stripe do not say
// when an order was paid.
//
// # Rules
//
// Rules map the name of a reading to an expression of package rule:
//
//	PAID:      json.trade_state == "SUCCESS"
//	PENDING:   json.trade_state in ["NOTPAY", "USERPAYING"]
//	NOT_FOUND: status == 404 && json.code == "ORDER_NOT_EXIST"
//
// All are evaluated, in this order:
//
//   - QUERY_ERROR: if it matches, it overrides all others.
//   - PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED: if one matches, it is the reading. PAID and
//     PAID_REFUNDED together are PAID_REFUNDED. Any other two contradict each other, and the
//     reading is QUERY_ERROR.
//   - PENDING, then NOT_FOUND: the first that matches, so the expression of PENDING may be wide.
//   - Nothing matches: QUERY_ERROR.
//
// For a close, unknown overrides all others. If one of paid_hint, in_flight, not_exist,
// already_closed and closed matches, it is the reading. Two contradict each other, and the reading
// is unknown.
//
// An expression does not match if it names a field that the answer lacks. An expression that fails
// in any other way, because the body is no JSON or a value has another type, makes the reading
// QUERY_ERROR, or unknown, whatever the others say.
package states

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// A Query reads answers to queries. It is safe for concurrent use. Get one from
// CompileQuery or CompileQueryRules.
type Query struct {
	read   func(a *order.Answer, age time.Duration) finding
	parsed func(r reply, age time.Duration) finding // of a preset; nil: read alone
}

// A finding is what an answer to a query says by itself.
type finding struct {
	reading   order.Reading
	wait      time.Duration
	throttled bool
	taken     order.Taken
	why       string // for QueryError
}

// unclear is a finding that says nothing about the order.
func unclear(format string, args ...any) finding {
	return finding{why: fmt.Sprintf(format, args...)}
}

// CompileQuery returns the preset of this name for queries. The name unionpay may be followed by
// the pay timeout with which orders are placed: "unionpay 30m".
func CompileQuery(name string) (*Query, error) {
	p, timeout, err := find(name)
	if err != nil {
		return nil, err
	}
	q := &Query{parsed: func(r reply, age time.Duration) finding {
		if r.unread != nil && !p.unread {
			return unclear("%s", r.unread)
		}
		return p.query(r, age >= timeout)
	}}
	q.read = func(a *order.Answer, age time.Duration) finding { return q.parsed(read(a, p.parse), age) }
	return q, nil
}

// Read returns an answer with its reading. If the reading is QUERY_ERROR and the answer has no
// Error, Read sets Error. Result becomes Accepted if the answer could be read, otherwise
// ErrorStatus for a failing HTTP status, or Refused. An answer that is Refused already, for example
// because of its signature, is not read. age is that of the order.
func (q *Query) Read(a order.Answer, age time.Duration) order.QueryAnswer {
	if unanswered(&a) {
		return order.QueryAnswer{Answer: a}
	}
	return judged(a, q.read(&a, age))
}

// ReadFields is Read for a notice whose body ParseJSON has read: fields and unread are what it
// returned. The Query must be of a preset.
func (q *Query) ReadFields(a order.Answer, fields map[string]any, unread error) order.QueryAnswer {
	return judged(a, q.parsed(reply{a.Status, fields, unread}, 0))
}

// judged returns an answer with what was found in it.
func judged(a order.Answer, f finding) order.QueryAnswer {
	switch {
	case !allowed(f.reading, a.Status):
		f = finding{throttled: f.throttled, wait: f.wait, why: fmt.Sprintf("HTTP status %d decides nothing, though the body reads %s", a.Status, f.reading)}
	case f.reading == order.QueryError && f.why == "":
		f.why = "the answer says nothing about the order"
	}
	judge(&a, f.reading != order.QueryError, f.throttled, f.why)
	return order.QueryAnswer{Answer: a, Reading: f.reading, Wait: f.wait, Taken: f.taken}
}

// allowed reports whether an answer with this HTTP status may have a reading.
func allowed(r order.Reading, status int) bool {
	return r == order.QueryError || readable(r.Decides(), r == order.NotFound, status)
}

// readable reports whether an answer with this HTTP status may decide, or say that there is none.
func readable(decides, notFound bool, status int) bool {
	switch {
	case status < 200 || status >= 500:
		return false
	case status >= 300:
		return notFound && status >= 400
	case status == 202:
		return !decides
	}
	return true
}

// A Close reads answers to closes. It is safe for concurrent use. Get one from
// CompileClose or CompileCloseRules.
type Close struct {
	read func(a *order.Answer) closing
}

// A closing is what an answer to a close says by itself.
type closing struct {
	reading   order.CloseReading
	throttled bool
	why       string // for CloseUnknown
}

// CompileClose returns the preset of this name for closes; the names are those of
// CompileQuery.
func CompileClose(name string) (*Close, error) {
	p, _, err := find(name)
	if err != nil {
		return nil, err
	}
	return &Close{func(a *order.Answer) closing {
		r := read(a, p.parse)
		if r.unread != nil && !p.unread {
			return closing{why: r.unread.Error()}
		}
		return p.close(r)
	}}, nil
}

// Read returns an answer with its reading, as Query.Read does. A close that timed out is in flight,
// because it may have been done.
func (c *Close) Read(a order.Answer) order.CloseAnswer {
	if unanswered(&a) {
		if a.Result == bellman.TimedOut {
			return order.CloseAnswer{Answer: a, Reading: order.CloseInFlight}
		}
		return order.CloseAnswer{Answer: a}
	}
	f := c.read(&a)
	switch {
	case !closes(f.reading, a.Status):
		f = closing{throttled: f.throttled, why: fmt.Sprintf("HTTP status %d closes nothing, though the body says %s", a.Status, f.reading)}
	case f.reading == order.CloseUnknown && f.why == "":
		f.why = "the answer says nothing about the close"
	}
	judge(&a, f.reading != order.CloseUnknown, f.throttled, f.why)
	return order.CloseAnswer{Answer: a, Reading: f.reading}
}

// closes reports whether an answer with this HTTP status may have a reading.
func closes(r order.CloseReading, status int) bool {
	switch r {
	case order.CloseDone, order.CloseRefunded:
		return status >= 200 && status <= 299 && status != 202
	case order.CloseAlready, order.CloseNotExist:
		return status >= 200 && status <= 499
	}
	return true
}

// unanswered reports whether there is no answer to read, and says so in it.
func unanswered(a *order.Answer) bool {
	switch a.Result {
	case bellman.Unreachable, bellman.TimedOut, bellman.Blocked, bellman.Refused:
		return true
	}
	if a.Status == 0 && a.Error == "" {
		a.Error = "no answer"
	}
	return a.Status == 0
}

// judge completes an answer that came.
func judge(a *order.Answer, readable, throttled bool, why string) {
	a.Throttled = a.Throttled || throttled || a.Status == 429
	switch {
	case readable:
		a.Result = bellman.Accepted
		return
	case a.Status >= 300:
		a.Result = bellman.ErrorStatus
	default:
		a.Result = bellman.Refused
	}
	a.Error = cmp.Or(a.Error, why)
}

// A Preset is how one provider answers.
type Preset struct {
	Name   string
	Source string // where its values are from

	parse  func(body []byte) (map[string]any, error)
	query  func(r reply, late bool) finding // late: the pay timeout is over
	close  func(r reply) closing
	unread bool // query and close also read answers whose body parse cannot read
}

// Presets returns all presets, in the order in which to show them.
func Presets() []Preset { return slices.Clone(presets) }

var presets = []Preset{
	wechatV2, wechatV3, alipay, unionpay, unionpayBack, antom, payermax, hyperswitch, killbill, stripe,
}

// find returns the preset that a name stands for, and its pay timeout.
func find(text string) (*Preset, time.Duration, error) {
	name, argument, _ := strings.Cut(strings.TrimSpace(text), " ")
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		names := make([]string, len(presets))
		for i, p := range presets {
			names[i] = p.Name
		}
		return nil, 0, fmt.Errorf("states: no preset is called %.40q: want one of %s", name, strings.Join(names, ", "))
	}
	if argument == "" {
		return &presets[i], payTimeout, nil
	}
	timeout, err := time.ParseDuration(strings.TrimSpace(argument))
	if name != unionpay.Name || err != nil || timeout <= 0 {
		return nil, 0, fmt.Errorf(`states: preset %.40q: only unionpay takes anything, its pay timeout: want "unionpay 30m"`, text)
	}
	return &presets[i], timeout, nil
}
