package rule

import (
	"fmt"
	"math"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

const (
	// MaxValue is the longest result of a value, in bytes of JSON.
	MaxValue = 64 << 10

	// maxDepth is how deep lists and objects of a result may nest.
	maxDepth = 100
)

// Facts is what a value may name besides the answer.
type Facts struct {
	OrderNo    string            // order_no
	MerchantNo string            // merchant_no
	State      string            // order_state: "PAID"
	Vars       map[string]string // vars; may be nil
	Taken      map[string]any    // taken: text, whole and other numbers, bools; may be nil
}

// A Value makes a JSON value of an answer and the facts of an order. It is an
// expression as in a rule, with order_no, merchant_no, order_state, vars and taken
// in the place of attempt, and it may yield anything that is JSON. Objects and
// lists are written as the result, or as a part of it:
//
//	{"order_no": order_no, "state": order_state, "amount": json.amount.total}
//
// It is safe for concurrent use. Get one from CompileValue.
type Value struct{ expression }

// CompileValue makes a value of its text. The error says where the text is wrong,
// and what would be right.
func CompileValue(text string) (*Value, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, fmt.Errorf(`rule: no text: want an expression, such as {"order_no": order_no, "state": order_state}`)
	case len(text) > MaxText:
		return nil, fmt.Errorf("rule: %d bytes long: want at most %d", len(text), MaxText)
	}
	env, err := valueEnvironment()
	if err != nil {
		return nil, fmt.Errorf("rule: %w", err)
	}
	v := &Value{expression{text: text, variables: "status, body, json, headers, order_no, merchant_no, order_state, vars, taken"}}
	checked, err := v.check(env)
	if err != nil {
		return nil, err
	}
	switch t := checked.OutputType(); t.Kind() {
	case types.BytesKind, types.TypeKind:
		return nil, fmt.Errorf("rule: the expression yields %s, which is not JSON: want text, a number, a bool, null, a list or an object", t)
	}
	built := map[int64]bool{}
	findBuilt(checked.NativeRep().Expr(), built)
	if _, _, err := v.restrict(checked.NativeRep(), built); err != nil {
		return nil, err
	}
	if err := v.prepare(env, checked); err != nil {
		return nil, err
	}
	return v, nil
}

// findBuilt notes the maps and lists that become a part of the result, and that
// nothing can loop over.
func findBuilt(e ast.Expr, built map[int64]bool) {
	switch e.Kind() {
	case ast.MapKind:
		built[e.ID()] = true
		for _, entry := range e.AsMap().Entries() {
			findBuilt(entry.AsMapEntry().Value(), built)
		}
	case ast.ListKind:
		built[e.ID()] = true
		for _, element := range e.AsList().Elements() {
			findBuilt(element, built)
		}
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Conditional {
			findBuilt(call.Args()[1], built)
			findBuilt(call.Args()[2], built)
		}
	}
}

// String returns the text that the value was made of.
func (v *Value) String() string { return v.text }

// Evaluate returns what encoding/json writes as the value: nil, bool, string,
// int64, uint64, float64, []any or map[string]any, at most MaxValue bytes of it.
// The error is ErrMissing if the answer lacks a field that the expression names.
func (v *Value) Evaluate(a *Answer, facts Facts) (any, error) {
	out, err := v.evaluate(a.cut(), &facts)
	if err != nil {
		return nil, err
	}
	b := builder{left: MaxValue, most: MaxValue}
	return b.value(out, maxDepth)
}

// factVariables are those of Facts.
func factVariables() []cel.EnvOption {
	return []cel.EnvOption{
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

// A builder makes a result of CEL's values, and stops when it grows too long:
// one expression can name the whole of an answer a hundred times.
type builder struct{ left, most int }

func (b *builder) value(v ref.Val, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("rule: the result nests deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case types.Null:
		return nil, b.take(4)
	case types.Bool:
		return bool(v), b.take(5)
	case types.Int:
		return int64(v), b.take(20)
	case types.Uint:
		return uint64(v), b.take(20)
	case types.Double:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("rule: the result holds %v, which is not JSON", f)
		}
		return float64(v), b.take(25)
	case types.String:
		return b.text(string(v))
	case traits.Mapper:
		return b.object(v, depth)
	case traits.Lister:
		return b.list(v, depth)
	}
	return nil, fmt.Errorf("rule: the result holds %s, which is not JSON", v.Type().TypeName())
}

func (b *builder) object(m traits.Mapper, depth int) (any, error) {
	fields := map[string]any{}
	for i := m.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("rule: the result names a field by %s: want text", key.Type().TypeName())
		}
		text, err := b.text(string(name))
		if err != nil {
			return nil, err
		}
		value, err := b.value(m.Get(key), depth-1)
		if err != nil {
			return nil, err
		}
		fields[text] = value
	}
	return fields, b.take(2)
}

func (b *builder) list(l traits.Lister, depth int) (any, error) {
	elements := []any{}
	for i := l.Iterator(); i.HasNext() == types.True; {
		value, err := b.value(i.Next(), depth-1)
		if err != nil {
			return nil, err
		}
		elements = append(elements, value)
	}
	return elements, b.take(2)
}

// text takes what a text takes in JSON: six bytes for a control character, and
// for those that encoding/json escapes for HTML.
func (b *builder) text(s string) (string, error) {
	n := len(s) + 2
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			n++
		case c < ' ' || c == '<' || c == '>' || c == '&' || c == 0x7f:
			n += 5
		case c == 0xfffd || c == 0x2028 || c == 0x2029:
			n += 5
		}
	}
	return s, b.take(n)
}

// take counts bytes of the result, and one for what parts it from the next.
func (b *builder) take(n int) error {
	if b.left -= n + 1; b.left < 0 {
		return fmt.Errorf("rule: the result is longer than %d bytes: name fields instead of the whole", b.most)
	}
	return nil
}
