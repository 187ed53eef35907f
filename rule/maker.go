package rule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// maxDepth is how deep lists and objects of a result may nest.
const maxDepth = 100

// compileMaker compiles an expression that makes JSON. Two arguments are for error messages:
// example is a valid expression, variables are the variables that the expression may use.
func compileMaker(text, example, variables string, environment func() (*cel.Env, error)) (expression, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return expression{}, fmt.Errorf("rule: no text: want an expression, such as %s", example)
	case len(text) > MaxText:
		return expression{}, fmt.Errorf("rule: %d bytes long: want at most %d", len(text), MaxText)
	}
	env, err := environment()
	if err != nil {
		return expression{}, fmt.Errorf("rule: %w", err)
	}
	x := expression{text: text, variables: variables}
	checked, err := x.check(env, orNull)
	if err != nil {
		return expression{}, err
	}
	switch t := checked.OutputType(); t.Kind() {
	case types.BytesKind, types.TypeKind:
		return expression{}, fmt.Errorf("rule: the expression yields %s, which is not JSON: want text, a number, a bool, null, a list or an object", t)
	}
	built := map[int64]bool{}
	findBuilt(checked.NativeRep().Expr(), built)
	if err := x.restrict(checked.NativeRep(), built); err != nil {
		return expression{}, err
	}
	return x, x.prepare(env, checked)
}

// orNull lets one branch of c ? a : b be null, whatever the type of the other. Without it CEL
// rejects the expression, because both branches must have one type.
func orNull(parsed *ast.AST) {
	of, next := ast.NewExprFactory(), ast.MaxID(parsed)
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Conditional {
			return
		}
		args := slices.Clone(e.AsCall().Args())
		for i := 1; i <= 2; i++ {
			other := 3 - i
			if args[other].Kind() != ast.LiteralKind || args[other].AsLiteral() != types.NullValue {
				continue
			}
			next++
			if at, known := parsed.SourceInfo().GetOffsetRange(args[i].ID()); known {
				parsed.SourceInfo().SetOffsetRange(next, at)
			}
			args[i] = of.NewCall(next, overloads.TypeConvertDyn, args[i])
			e.SetKindCase(of.NewCall(e.ID(), operators.Conditional, args...))
			return
		}
	}))
}

// findBuilt notes the maps and lists that become a part of the result. No macro can loop over them.
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
		switch call := e.AsCall(); call.FunctionName() {
		case operators.Conditional:
			findBuilt(call.Args()[1], built)
			findBuilt(call.Args()[2], built)
		case overloads.TypeConvertDyn:
			findBuilt(call.Args()[0], built)
		}
	}
}

// A builder converts a CEL value for encoding/json. It stops if the result gets too long: an
// expression can contain the whole answer a hundred times.
type builder struct{ left, most int }

// build returns the result of the expression for encoding/json, of at most most bytes of JSON.
func (x *expression) build(e *evaluation, most int) (any, error) {
	out, err := x.run(e)
	if err != nil {
		return nil, err
	}
	b := builder{left: most, most: most}
	return b.value(out, maxDepth)
}

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

// text counts the bytes of a text in JSON: six for a control character, and for each character that
// encoding/json escapes for HTML.
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

// take counts bytes of the result, and one for the separator.
func (b *builder) take(n int) error {
	if b.left -= n + 1; b.left < 0 {
		return fmt.Errorf("rule: the result is longer than %d bytes: name fields instead of the whole", b.most)
	}
	return nil
}
