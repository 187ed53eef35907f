package rule

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"github.com/bellmanhq/bellman/internal/coded"
)

// functionNames are the functions that a rule may call besides operators. Functions whose result
// can be larger than their arguments together are missing, because CEL counts the cost too late
// (join, format, quote, map). So are functions that are not needed to judge an answer (time,
// bytes).
var functionNames = []string{
	"size", "contains", "startsWith", "endsWith", "matches",
	"charAt", "indexOf", "lastIndexOf", "lowerAscii", "upperAscii",
	"replace", "reverse", "split", "substring", "trim",
	"string", "int", "uint", "double", "bool", "type",
	"json_field", "text_contains",
	"unix_ms", "local_time", "major", // of a Part
	"minor",                              // of a Value
	"has", "all", "exists", "exists_one", // macros: gone when functions are checked
}

var allowedOperators = []string{
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
	operators.Equals, operators.NotEquals, operators.In, operators.Index,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.NotStrictlyFalse,
}

const (
	// maxProgram bounds a compiled pattern, in instructions of RE2.
	maxProgram = 1000

	// maxPrograms bounds all patterns of one rule together, in instructions of RE2.
	maxPrograms = 2000

	// maxMatching bounds the sum of bytes times instructions over one evaluation: a whole body
	// against 120 instructions, or 8 KiB against 1,000.
	maxMatching = 120 * MaxBody
)

// A pattern is a regular expression of a rule.
type pattern struct {
	*regexp.Regexp
	instructions int
}

// restrict rejects calls that can run for long within CEL's cost limit, because CEL counts a call
// only after it has returned. It also collects the patterns, and notes whether the expression uses
// json. Maps, and lists with other elements than constants, are rejected unless built holds their
// ids.
func (x *expression) restrict(checked *ast.AST, built map[int64]bool) (first error) {
	x.patterns, x.instructions = map[string]pattern{}, 0
	ast.PostOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		var problem error
		switch e.Kind() {
		case ast.IdentKind:
			x.usesJSON = x.usesJSON || e.AsIdent() == "json"
		case ast.MapKind, ast.StructKind:
			switch {
			case built == nil:
				problem = coded.Errorf("rule.maps", "a rule has no use for maps and messages: compare field by field")
			case !built[e.ID()]:
				problem = coded.Errorf("rule.map_inside", "a map can only be the result, or a part of it")
			default:
				problem = restrictFields(e.AsMap())
			}
		case ast.ListKind:
			// A loop can name the elements of a list, so lists of lists could
			// double their size with each loop around them.
			for _, element := range e.AsList().Elements() {
				if element.Kind() != ast.LiteralKind && !built[e.ID()] {
					problem = coded.Errorf("rule.list", "a list may hold constants only")
				}
			}
		case ast.CallKind:
			x.usesJSON = x.usesJSON || e.AsCall().FunctionName() == "json_field"
			problem = x.restrictCall(checked, e.AsCall())
		}
		if problem != nil && first == nil {
			first = mistake(x.text, checked.SourceInfo().GetStartLocation(e.ID()), problem)
		}
	}))
	return first
}

// restrictFields checks the field names of a map.
func restrictFields(m ast.MapExpr) error {
	var names []string
	for _, entry := range m.Entries() {
		name, constant := textOf(entry.AsMapEntry().Key())
		if !constant {
			return coded.Errorf("rule.field_name", `the name of a field must be text that is written out, such as "order_no"`)
		}
		if slices.Contains(names, name) {
			return coded.Errorf("rule.field_twice", "the field %q is there twice", name)
		}
		names = append(names, name)
	}
	return nil
}

// restrictCall checks a call.
func (x *expression) restrictCall(checked *ast.AST, call ast.CallExpr) error {
	name, args := call.FunctionName(), call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	scalar := func(i int) bool { return isScalar(checked.GetType(args[i].ID())) }
	switch name {
	case operators.Equals, operators.NotEquals, operators.Add:
		if !scalar(0) && !scalar(1) {
			symbol, _ := operators.FindReverse(name)
			return coded.Errorf("rule.side", "one side of %s must be known to be text, a number, a bool or null: write string(…) or double(…) around it", symbol)
		}
	case operators.In:
		if !scalar(0) && args[1].Kind() != ast.ListKind {
			return coded.Errorf("rule.in", "what is looked for must be known to be text, a number or a bool: write string(…) or double(…) around it")
		}
	case "local_time":
		if zone, constant := textOf(args[1]); constant {
			return zoneProblem(zone)
		}
	case "major", "minor":
		if code, constant := textOf(args[1]); constant {
			return currencyProblem(name, code)
		}
	case "matches":
		pattern, constant := textOf(args[1])
		if !constant {
			return coded.Errorf("rule.pattern_computed", "a pattern must be written out, not computed")
		}
		return x.addPattern(pattern)
	case "indexOf", "lastIndexOf":
		if _, constant := textOf(args[1]); !constant {
			return coded.Errorf("rule.index", "the text that %s looks for must be written out, not computed; contains takes any", name)
		}
	case "replace":
		old, ok1 := textOf(args[1])
		by, ok2 := textOf(args[2])
		if !ok1 || !ok2 || len(by) > len(old) {
			return coded.Errorf("rule.replace", "replace takes two texts that are written out, the second no longer than the first")
		}
	case "json_field":
		return x.restrictField(args)
	case overloads.TypeConvertDyn: // orNull adds calls of dyn, which drop a type and make nothing larger
	default:
		if !slices.Contains(functionNames, name) && !slices.Contains(allowedOperators, name) {
			return coded.Errorf("rule.forbidden", "%s is not for rules; known functions are %s", name, strings.Join(functionNames, ", "))
		}
	}
	return nil
}

// restrictField checks json_field(path, operation, value).
func (x *expression) restrictField(args []ast.Expr) error {
	path, ok1 := textOf(args[0])
	operation, ok2 := textOf(args[1])
	switch {
	case !ok1 || path == "":
		return coded.Errorf("rule.path", `the path of json_field must be written out, such as "data.code"`)
	case ok2 && operation == "exists" && len(args) == 2:
		return nil
	case !ok2 || len(args) == 2 || !slices.Contains([]string{"eq", "in", "regex"}, operation):
		return coded.Errorf("rule.json_field", `json_field takes (path, "exists"), (path, "eq", value), (path, "in", [values]) or (path, "regex", pattern)`)
	}
	switch value := args[2]; operation {
	case "eq":
		if value.Kind() != ast.LiteralKind {
			return coded.Errorf("rule.json_value", "the value of json_field must be a constant")
		}
	case "in":
		if value.Kind() != ast.ListKind {
			return coded.Errorf("rule.json_list", `json_field(path, "in", …) takes a list, such as ["SUCCESS", "OK"]`)
		}
	case "regex":
		pattern, constant := textOf(value)
		if !constant {
			return coded.Errorf("rule.pattern_computed", "a pattern must be written out, not computed")
		}
		return x.addPattern(pattern)
	}
	return nil
}

// addPattern compiles a pattern before the evaluation.
func (x *expression) addPattern(text string) error {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return coded.Errorf("rule.pattern", "%w", err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return coded.Errorf("rule.pattern", "%w", err)
	}
	if n := len(program.Inst); n > maxProgram {
		return coded.Errorf("rule.pattern_large", "the pattern is too large (%d instructions): want at most %d; use fewer or smaller repeats", n, maxProgram)
	}
	if _, twice := x.patterns[text]; twice {
		return nil
	}
	if x.instructions += len(program.Inst); x.instructions > maxPrograms {
		return coded.Errorf("rule.patterns_large", "the patterns of the rule are too large together (%d instructions): want at most %d; use fewer patterns, or fewer or smaller repeats", x.instructions, maxPrograms)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return coded.Errorf("rule.pattern", "%w", err)
	}
	x.patterns[text] = pattern{compiled, len(program.Inst)}
	return nil
}

// textOf returns the value of a text literal.
func textOf(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// isScalar reports whether values of type t have no elements.
func isScalar(t *types.Type) bool {
	switch t.Kind() {
	case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.StringKind, types.BytesKind,
		types.NullTypeKind, types.TypeKind:
		return true
	}
	return false
}
