package rule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/bellmanhq/bellman/internal/money"
)

// A Notification is the content of a notification, from which the fields of a platform's own format
// are made.
type Notification struct {
	JSON []byte // json and body; the fields in partFields are variables too

	Event          string            // event: "order.paid"
	ChannelOrderNo string            // channel_order_no: the number by which the channel knows the order
	Created        string            // created_at: of the order, RFC 3339 in UTC
	Vars           map[string]string // vars; may be nil

	// The price of the order, order_amount and order_currency. A variable is missing if its field
	// is zero.
	OrderAmount   int64 // in the smallest unit of OrderCurrency
	OrderCurrency string
}

// partFields are the fields of a notification's JSON that an expression may name without json.
var partFields = []string{
	"order_no", "merchant_no", "order_state", "ref_no", "state", "decided_at", "late_payment", "duplicate_payment", "found_at", "refunded",
	"amount", "currency", "transaction_id", "paid_at",
	"channel_ref_no", "channel_state", "fail_reason", "finished_at",
}

// A Part is an expression that makes one field of a notification in a platform's own format. Its
// variables are those of a [Notification] and the usual fields of its JSON. It has three functions
// of its own:
//
//	unix_ms(paid_at)                                        → 1795187045000
//	local_time(paid_at, "Asia/Shanghai", "yyyyMMddHHmmss")  → "20261120230405"
//	major(amount, currency)                                 → "88.88"
//
// It is safe for concurrent use. Only CompilePart makes one.
type Part struct{ expression }

// CompilePart returns the Part of a text. An error says where the text is wrong, and what would be
// right.
func CompilePart(text string) (*Part, error) {
	x, err := compileMaker(text, "order_no", "json, event, channel_order_no, created_at, order_amount, order_currency, vars, "+strings.Join(partFields, ", "), partEnvironment)
	if err != nil {
		return nil, err
	}
	return &Part{x}, nil
}

// A Telling evaluates several Parts for one notification and parses its JSON once. It is not safe
// for concurrent use.
type Telling struct{ evaluation evaluation }

// Tell returns the Telling of a notification, which must not change while it is used.
func Tell(n *Notification) *Telling {
	t := &Telling{evaluation: evaluation{answer: &Answer{Body: n.JSON}}}
	t.evaluation.facts = partFacts{n, &t.evaluation}
	return t
}

// Evaluate returns a value as [Value.Evaluate] does. The error wraps ErrMissing if the notification
// lacks a field that the expression names.
func (p *Part) Evaluate(t *Telling) (any, error) {
	return p.build(&t.evaluation, MaxValue)
}

type partFacts struct {
	*Notification
	of *evaluation
}

func (f partFacts) resolve(name string) (any, bool) {
	switch name {
	case "event":
		return f.Event, true
	case "channel_order_no":
		return f.ChannelOrderNo, true
	case "created_at":
		return f.Created, true
	case "vars":
		return f.Vars, true
	case "order_amount":
		return f.OrderAmount, f.OrderAmount > 0
	case "order_currency":
		return f.OrderCurrency, f.OrderCurrency != ""
	}
	if !slices.Contains(partFields, name) {
		return nil, false
	}
	return lookup(f.of.json(), name)
}

// partOptions are the variables and functions of a Part.
func partOptions() []cel.EnvOption {
	text := cel.StringType
	options := []cel.EnvOption{
		cel.Variable("event", text), cel.Variable("channel_order_no", text), cel.Variable("created_at", text),
		cel.Variable("vars", cel.MapType(text, text)),
		cel.Variable("order_amount", cel.IntType), cel.Variable("order_currency", text),
		cel.Function("unix_ms", cel.Overload("part_unix_ms", []*cel.Type{text}, cel.IntType, cel.UnaryBinding(unixMs))),
		cel.Function("local_time", cel.Overload("part_local_time", []*cel.Type{text, text, text}, text, cel.FunctionBinding(localTime))),
		cel.Function("major", cel.Overload("part_major", []*cel.Type{cel.IntType, text}, text, cel.BinaryBinding(major))),
	}
	for _, name := range partFields {
		of := cel.DynType
		if name == "order_no" || name == "merchant_no" || name == "order_state" {
			of = text
		}
		options = append(options, cel.Variable(name, of))
	}
	return options
}

func unixMs(at ref.Val) ref.Val {
	t, err := time.Parse(time.RFC3339, string(at.(types.String)))
	if err != nil {
		return types.NewErr("unix_ms: %.40q is no time such as 2026-11-20T15:04:05.123Z", string(at.(types.String)))
	}
	return types.Int(t.UnixMilli())
}

// javaLayout translates a pattern of Java's DateTimeFormatter, in which payment platforms document
// their times, to a layout of Go. A layout of Go has milliseconds only after a point or a comma, so
// localTime writes those itself.
var javaLayout = strings.NewReplacer("yyyy", "2006", "MM", "01", "dd", "02", "HH", "15", "mm", "04", "ss", "05", "XXX", "Z07:00", "'", "")

func localTime(args ...ref.Val) ref.Val {
	at, zone, layout := string(args[0].(types.String)), string(args[1].(types.String)), string(args[2].(types.String))
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return types.NewErr("local_time: %.40q is no time such as 2026-11-20T15:04:05.123Z", at)
	}
	if err := zoneProblem(zone); err != nil {
		return types.WrapErr(err)
	}
	in, _ := time.LoadLocation(zone)
	parts := strings.Split(layout, "SSS")
	for i, part := range parts {
		parts[i] = t.In(in).Format(javaLayout.Replace(part))
	}
	return types.String(strings.Join(parts, fmt.Sprintf("%03d", t.Nanosecond()/int(time.Millisecond))))
}

// zoneProblem returns an error unless a text is a time zone.
func zoneProblem(zone string) error {
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" || zone == "" {
		return fmt.Errorf("local_time: there is no time zone %.40q: want one such as Asia/Shanghai", zone)
	}
	return nil
}

// currencyProblem returns an error of a function unless a text is a currency.
func currencyProblem(function, code string) error {
	if _, known := money.Decimals(code); !known {
		return fmt.Errorf("%s: there is no currency %.10q: want one of ISO 4217 such as CNY", function, code)
	}
	return nil
}

func major(amount, currency ref.Val) ref.Val {
	n, code := int64(amount.(types.Int)), string(currency.(types.String))
	if err := currencyProblem("major", code); err != nil {
		return types.WrapErr(err)
	}
	if n < 0 {
		return types.NewErr("major: the amount %d is negative", n)
	}
	return types.String(money.Whole(n, code))
}
