package rule

import (
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/bellmanhq/bellman/internal/money"
)

// MaxValue is the greatest length of a Value's result, in bytes of JSON.
const MaxValue = 64 << 10

// Facts are the variables of a Value besides the answer.
type Facts struct {
	OrderNo    string            // order_no
	MerchantNo string            // merchant_no
	State      string            // order_state: "PAID"
	Vars       map[string]string // vars; may be nil
	Taken      map[string]any    // taken: text, whole and other numbers, bools; may be nil
}

// A Value is an expression that makes JSON from an answer and the facts of an order. Its variables
// are those of a rule, with order_no, merchant_no, order_state, vars and taken in place of attempt.
// An object or list can only be the result, or a part of it:
//
//	{"order_no": order_no, "state": order_state, "amount": json.amount.total}
//
// minor(amount, currency) is an amount in whole units, a text or a number, as its number of the
// smallest unit:
//
//	minor(json.money, "CNY")                                → 8888 for 88.88
//
// It is safe for concurrent use. Only CompileValue makes one.
type Value struct{ expression }

// CompileValue returns the Value of a text. An error says where the text is wrong, and what would
// be right.
func CompileValue(text string) (*Value, error) {
	x, err := compileMaker(text, `{"order_no": order_no, "state": order_state}`,
		"status, body, json, headers, order_no, merchant_no, order_state, vars, taken", valueEnvironment)
	if err != nil {
		return nil, err
	}
	return &Value{x}, nil
}

// Evaluate returns a value for encoding/json: nil, bool, string, int64, uint64, float64, []any or
// map[string]any, of at most MaxValue bytes of JSON. The error wraps ErrMissing if the answer lacks
// a field that the expression names.
func (v *Value) Evaluate(a *Answer, facts Facts) (any, error) {
	return v.build(&evaluation{answer: a.cut(), facts: &facts}, MaxValue)
}

// factOptions are the variables of Facts, and the function minor.
func factOptions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("minor", cel.Overload("value_minor", []*cel.Type{cel.DynType, cel.StringType}, cel.IntType, cel.BinaryBinding(minor))),
		cel.Variable("order_no", cel.StringType),
		cel.Variable("merchant_no", cel.StringType),
		cel.Variable("order_state", cel.StringType),
		cel.Variable("vars", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("taken", cel.MapType(cel.StringType, cel.DynType)),
	}
}

func (f *Facts) resolve(name string) (any, bool) {
	switch name {
	case "order_no":
		return f.OrderNo, true
	case "merchant_no":
		return f.MerchantNo, true
	case "order_state":
		return f.State, true
	case "vars":
		return f.Vars, true
	case "taken":
		return f.Taken, true
	}
	return nil, false
}

// minor reads an amount exactly: no float is multiplied.
func minor(amount, currency ref.Val) ref.Val {
	var text string
	switch v := amount.(type) {
	case types.String:
		text = string(v)
	case types.Int:
		text = strconv.FormatInt(int64(v), 10)
	case types.Double:
		text = strconv.FormatFloat(float64(v), 'f', -1, 64)
	}
	code := string(currency.(types.String))
	if err := currencyProblem("minor", code); err != nil {
		return types.WrapErr(err)
	}
	n, ok := money.Parse(text, code)
	if !ok {
		return types.NewErr("minor: %.40q is no amount in %.10q", text, code)
	}
	return types.Int(n)
}
