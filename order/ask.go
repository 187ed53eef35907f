package order

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/schedule"
)

// An Ask is a caller's request to watch an order, and the only shape of that request: the Body of
// the order's task contains it as JSON, with durations as text. Read a caller's JSON with
// [ParseAsk]: encoding/json ignores fields that do not exist, and does not check the others.
//
//	{"expires":"30m","code_life":"2h","vars":{"appid":"wx1"},"notify":{"url":"https://…","json":{…}}}
type Ask struct {
	// Expires is how long the order can be paid, since Created. 0: as the queue's rules say.
	Expires time.Duration `json:"-"`

	// CodeLife is how long the payer's code can be paid, since Created. 0: as the queue's rules
	// say.
	CodeLife time.Duration `json:"-"`

	// ExpiresAt is until when the order can be paid. Give it or Expires. Zero: as Expires says.
	ExpiresAt time.Time `json:"expires_at,omitzero"`

	// ChannelOrderNo is the number by which the channel knows the order (out_trade_no). It is
	// unique within an account. Empty: the task's OrderNo.
	ChannelOrderNo string `json:"channel_order_no,omitempty"`

	// Account names the account at the channel. Empty: the queue's own.
	Account string `json:"account,omitempty"`

	// Amount is what the order should cost, in the smallest unit of Currency, an ISO 4217 code. A
	// payment of another amount is not PAID. 0: not known; every amount is accepted.
	Amount   int64  `json:"amount,omitempty"`
	Currency string `json:"currency,omitempty"`

	Vars    map[string]string `json:"vars,omitempty"`   // values for the channel's templates
	Notify  Notify            `json:"notify,omitzero"`  // how the merchant is notified
	Created time.Time         `json:"created,omitzero"` // of the order at the channel; zero: when the task was added
	Watch   *Watch            `json:"watch,omitempty"`  // of a watch for a late payment; nil of an order's own task
	Notice  *Told             `json:"notice,omitempty"` // of a notice of the channel; nil of an order's own task
}

// order returns the order as its channel knows it.
func (a *Ask) order(task *bellman.Task) Order {
	o := Order{
		MerchantNo: task.MerchantNo, OrderNo: a.channelNo(task), OwnNo: task.OrderNo, Account: a.Account,
		Amount: a.Amount, Currency: a.Currency, Vars: a.Vars, Created: a.Created,
	}
	if a.Expires > 0 {
		o.Expires = a.Created.Add(a.Expires)
	}
	return o
}

// channelNo returns the number by which the channel knows the order.
func (a *Ask) channelNo(task *bellman.Task) string { return cmp.Or(a.ChannelOrderNo, task.OrderNo) }

// A Notify says where the merchant is notified how an order ended, and with which fields.
type Notify struct {
	URL  string          `json:"url,omitempty"`  // empty: the address of the notify queue, or of the merchant
	JSON json.RawMessage `json:"json,omitempty"` // an object whose fields are sent as well; empty: none
}

// IsZero reports whether a caller said nothing about the notification.
func (n Notify) IsZero() bool { return n.URL == "" && len(n.JSON) == 0 }

// A Watch says which order a watch for a late payment follows.
type Watch struct {
	Of      string    `json:"of"`               // key of the order's own task
	State   string    `json:"order_state"`      // of the order; a late payment does not change it
	Decided time.Time `json:"decided"`          // when the order became State
	Until   time.Time `json:"until"`            // the channel is queried until then
	Alias   string    `json:"alias,omitempty"`  // of the order's own task
	Unborn  bool      `json:"unborn,omitempty"` // the channel did not know the order at its close; once it does, the order is closed again
}

// Encode writes the JSON that ParseAsk reads. It returns an error if Notify.JSON is not JSON. The
// error is an *[bellman.Invalid] if a duration is negative.
func (a *Ask) Encode() ([]byte, error) {
	var bad bellman.Invalid
	for i, d := range []time.Duration{a.Expires, a.CodeLife} {
		if d < 0 {
			bad.Add([]string{"expires", "code_life"}[i], fmt.Sprintf("%v is negative: want a duration, or 0 for the queue's rule", d))
		}
	}
	if err := bad.Err(); err != nil {
		return nil, err
	}
	out := &encoded{plain: plain(*a)}
	out.Created, out.ExpiresAt = a.Created.UTC(), a.ExpiresAt.UTC()
	if a.Watch != nil {
		w := *a.Watch
		w.Decided, w.Until = w.Decided.UTC(), w.Until.UTC()
		out.Watch = &w
	}
	if a.Expires > 0 {
		out.Expires = schedule.FormatDuration(a.Expires)
	}
	if a.CodeLife > 0 {
		out.CodeLife = schedule.FormatDuration(a.CodeLife)
	}
	return wire.Marshal(out)
}

// MarshalJSON is Encode.
func (a Ask) MarshalJSON() ([]byte, error) { return a.Encode() }

// UnmarshalJSON reads what Encode writes.
func (a *Ask) UnmarshalJSON(text []byte) error {
	in := encoded{plain: plain(*a)}
	err := wire.Unmarshal(text, &in)
	out := Ask(in.plain)
	if err == nil && in.Expires != "" {
		out.Expires, err = schedule.ParseDuration(in.Expires)
	}
	if err == nil && in.CodeLife != "" {
		out.CodeLife, err = schedule.ParseDuration(in.CodeLife)
	}
	if err != nil {
		return err
	}
	*a = out
	return nil
}

// An encoded Ask has its durations as text.
type encoded struct {
	Expires  string `json:"expires,omitempty"`
	CodeLife string `json:"code_life,omitempty"`
	plain
}

// plain is an Ask without its methods.
type plain Ask

// encode is Encode for an Ask that ParseAsk has read: it cannot fail.
func (a *Ask) encode() []byte {
	body, err := a.Encode()
	if err != nil {
		panic(err)
	}
	return body
}

// accepted reads the Body of a task as Check has left it. It does not repeat the checks of
// ParseAsk, and takes a fraction of the time.
func accepted(body []byte) (Ask, error) {
	var a Ask
	if len(bytes.TrimSpace(body)) == 0 {
		return a, nil
	}
	if err := a.UnmarshalJSON(body); err != nil {
		return Ask{}, err
	}
	a.Created, a.ExpiresAt = a.Created.UTC(), a.ExpiresAt.UTC()
	if w := a.Watch; w != nil {
		w.Decided, w.Until = w.Decided.UTC(), w.Until.UTC()
	}
	return a, nil
}

// ParseAsk reads the Body of an order's task. An empty Body is the zero Ask. An error is an
// *[bellman.Invalid] that names every wrong field.
func ParseAsk(body []byte) (Ask, error) {
	var a Ask
	if len(bytes.TrimSpace(body)) == 0 {
		return a, nil
	}
	bad := new(bellman.Invalid)
	fields := object(bad, "body", body, "expires", "expires_at", "code_life", "channel_order_no", "account", "amount", "currency",
		"vars", "notify", "created", "watch", "notice")
	read(bad, fields, "created", "a time such as 2026-11-20T15:04:05.123Z", &a.Created)
	read(bad, fields, "expires_at", "a time such as 2026-11-20T15:04:05.123Z", &a.ExpiresAt)
	read(bad, fields, "channel_order_no", "a text", &a.ChannelOrderNo)
	read(bad, fields, "account", "a text", &a.Account)
	readPrice(bad, fields, &a)
	read(bad, fields, "notice", "an object", &a.Notice)
	read(bad, fields, "vars", "an object of texts", &a.Vars)
	readSpan(bad, fields, "expires", "how long the order can be paid", &a.Expires)
	readSpan(bad, fields, "code_life", "how long the payer's code can be paid", &a.CodeLife)
	if _, ok := a.Vars[""]; ok {
		bad.Add("vars", "one has no name")
	}
	if raw, ok := fields["notify"]; ok {
		a.Notify = parseNotify(bad, raw)
	}
	if raw, ok := fields["watch"]; ok {
		a.Watch = parseWatch(bad, raw)
	}
	a.Created, a.ExpiresAt = a.Created.UTC(), a.ExpiresAt.UTC()
	if y := a.Created.Year(); y < 1 || y > 9999 {
		bad.Add("created", "is not in the years 1 to 9999 of UTC")
	}
	if y := a.ExpiresAt.Year(); y < 1 || y > 9999 {
		bad.Add("expires_at", "is not in the years 1 to 9999 of UTC")
	}
	if !a.ExpiresAt.IsZero() && a.Expires != 0 {
		bad.Add("expires_at", "is given, and expires: give one of them")
	}
	if err := bad.Err(); err != nil {
		return Ask{}, err
	}
	return a, nil
}

// readPrice reads what an order should cost: an amount and its currency, or neither.
func readPrice(bad *bellman.Invalid, fields map[string]json.RawMessage, a *Ask) {
	_, priced := fields["amount"]
	_, named := fields["currency"]
	switch amount, currency := read(bad, fields, "amount", "a whole number of the currency's smallest unit, such as 8800", &a.Amount),
		read(bad, fields, "currency", "a text such as CNY", &a.Currency); {
	case amount && a.Amount <= 0:
		bad.Add("amount", fmt.Sprintf("is %d: want what the order costs, in the currency's smallest unit", a.Amount))
	case currency && (a.Currency == "" || money.Code(a.Currency) != a.Currency):
		bad.Add("currency", fmt.Sprintf("%.10q is no currency of ISO 4217: want a code such as CNY", a.Currency))
	case priced && !named:
		bad.Add("currency", "is missing: an amount needs its currency, such as CNY")
	case named && !priced:
		bad.Add("amount", "is missing: a currency needs an amount, in its smallest unit")
	}
}

// readSpan reads a duration above 0s. want describes the duration for the error.
func readSpan(bad *bellman.Invalid, fields map[string]json.RawMessage, name, want string, to *time.Duration) {
	var text *string
	if !read(bad, fields, name, `a duration such as "30m"`, &text) || text == nil {
		return
	}
	var err error
	if *to, err = schedule.ParseDuration(*text); err != nil {
		bad.Add(name, err.Error())
	} else if *to == 0 {
		bad.Add(name, "is 0s: want "+want)
	}
}

func parseNotify(bad *bellman.Invalid, raw json.RawMessage) (n Notify) {
	fields := object(bad, "notify", raw, "url", "json")
	read(bad, fields, "notify.url", "a text", &n.URL)
	if raw, ok := fields["json"]; ok && !bytes.Equal(raw, []byte("null")) {
		if raw[0] != '{' {
			bad.Add("notify.json", "want an object: the order's own fields are added to it")
		}
		n.JSON = raw
	}
	return n
}

func parseWatch(bad *bellman.Invalid, raw json.RawMessage) *Watch {
	var w Watch
	noted := len(bad.Fields)
	fields := object(bad, "watch", raw, "of", "order_state", "decided", "until", "alias", "unborn")
	read(bad, fields, "watch.of", "a text", &w.Of)
	read(bad, fields, "watch.order_state", "a text", &w.State)
	read(bad, fields, "watch.decided", "a time", &w.Decided)
	read(bad, fields, "watch.until", "a time", &w.Until)
	read(bad, fields, "watch.alias", "a text", &w.Alias)
	read(bad, fields, "watch.unborn", "true or false", &w.Unborn)
	if len(bad.Fields) > noted {
		return &w // further errors may be consequences of these
	}
	if r, err := ParseReading(w.State); err != nil || !r.Decides() {
		bad.Add("watch.order_state", "want the state of an order that is decided")
	}
	if w.Of == "" {
		bad.Add("watch.of", "want the key of the order's task")
	}
	w.Decided, w.Until = w.Decided.UTC(), w.Until.UTC()
	if w.Until.IsZero() || w.Until.Year() > 9999 || w.Decided.Year() < 1 || w.Decided.Year() > 9999 {
		bad.Add("watch.until", "want when the watch ends")
	}
	return &w
}

// object reads the fields of an object. It notes a field that is not among known as an error.
func object(bad *bellman.Invalid, name string, raw []byte, known ...string) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		problem := "want an object"
		if _, is := errors.AsType[*json.SyntaxError](err); is {
			problem = fmt.Sprintf("is no JSON: %v", err)
		}
		bad.Add(name, problem)
		return nil
	}
	var unknown []string
	for field := range fields {
		if !slices.Contains(known, field) {
			unknown = append(unknown, field)
		}
	}
	slices.Sort(unknown)
	for _, field := range unknown {
		bad.Add(within(name, field), fmt.Sprintf("there is no such field: want one of %s", strings.Join(known, ", ")))
	}
	return fields
}

func within(object, field string) string {
	if object == "body" {
		return fmt.Sprintf("%.40s", field)
	}
	return fmt.Sprintf("%s.%.40s", object, field)
}

// read reads one field of an object, and reports whether it is present and valid. path is the name
// of the object, a dot and the name of the field.
func read(bad *bellman.Invalid, fields map[string]json.RawMessage, path, want string, to any) bool {
	name := path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		name = path[i+1:]
	}
	raw, ok := fields[name]
	if !ok {
		return false
	}
	if err := json.Unmarshal(raw, to); err != nil {
		bad.Add(path, "want "+want)
		return false
	}
	return true
}
