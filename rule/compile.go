package rule

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/bellmanhq/bellman/internal/coded"
)

// An expression is a CEL text that was checked, restricted and compiled.
type expression struct {
	text      string
	variables string // the variables that it may use, for error messages

	program      cel.Program
	patterns     map[string]pattern // its regular expressions, by text
	instructions int                // of all patterns
	usesJSON     bool
}

// String returns the text of the expression.
func (x *expression) String() string { return x.text }

func compileExpression(text string) (*Rule, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("rule: %w", err)
	}
	r := &Rule{expression: expression{text: text, variables: "status, body, json, headers, attempt"}}
	checked, err := r.check(env, nil)
	if err != nil {
		return nil, err
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) {
		if t.IsExactType(cel.DynType) {
			return nil, coded.Errorf("rule.anything", "rule: the expression may yield anything: want a bool, such as %s == true", text)
		}
		return nil, coded.Errorf("rule.yields", "rule: the expression yields %s: want a bool, such as status == 200", t)
	}
	if err := r.restrict(checked.NativeRep(), nil); err != nil {
		return nil, err
	}
	if err := r.prepare(env, checked); err != nil {
		return nil, err
	}
	return r, nil
}

// check parses the text, calls change for the result if change is not nil, and checks the types.
func (x *expression) check(env *cel.Env, change func(*ast.AST)) (*cel.Ast, error) {
	parsed, issues := env.Parse(x.text)
	if issues.Err() != nil {
		return nil, x.firstProblem(nil, issues)
	}
	if change != nil {
		change(parsed.NativeRep())
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, x.firstProblem(parsed, issues)
	}
	return checked, nil
}

// prepare makes the program of a checked and restricted expression.
func (x *expression) prepare(env *cel.Env, checked *cel.Ast) error {
	estimate, err := env.EstimateCost(checked, usual{})
	if err != nil {
		return fmt.Errorf("rule: estimate its cost: %w", err)
	}
	if !estimate.IsUnknown() && estimate.Max > maxCost {
		return coded.Errorf("rule.cost", "rule: an answer of usual size (4 KiB, lists of 100) may cost %d steps: want at most %d; nest fewer loops", estimate.Max, maxCost)
	}
	// CEL must not optimize the expression: it would replace matches by its own, whose cost has no
	// limit.
	x.program, err = env.Program(checked,
		cel.CostTracking(charge{}),
		cel.CostLimit(maxCost))
	if err != nil {
		return fmt.Errorf("rule: %w", err)
	}
	return nil
}

// firstProblem returns the first mistake and its place. Further mistakes usually follow from the
// first. parsed is nil if the text could not be parsed.
func (x *expression) firstProblem(parsed *cel.Ast, issues *cel.Issues) error {
	problem := issues.Errors()[0]
	what := strings.ReplaceAll(problem.Message, " (in container '')", "")
	what = strings.TrimPrefix(what, "Syntax error: ")
	why := coded.Errorf("rule.syntax", "%s", what)
	switch {
	case strings.HasPrefix(what, "undeclared reference") && isCall(parsed, problem.ExprID):
		why = coded.Errorf("rule.no_function", "%s; known functions are %s", what, strings.Join(functionNames, ", "))
	case strings.HasPrefix(what, "undeclared reference"):
		why = coded.Errorf("rule.no_variable", "%s; known are %s", what, x.variables)
	case strings.HasPrefix(what, "token recognition error at: '="):
		why = coded.Errorf("rule.equals", "= compares nothing: use ==")
	case strings.HasPrefix(what, "token recognition error at: '\""), strings.HasPrefix(what, "token recognition error at: ''"):
		why = coded.Errorf("rule.quote", "a text is not closed: want a quotation mark at its end")
	case strings.HasPrefix(what, "found no matching overload for '"):
		why = readable(what)
	}
	return mistake(x.text, problem.Location, why)
}

func mistake(text string, at common.Location, what error) error {
	if at.Line() < 1 { // about the whole expression: too deep, too many parts
		return fmt.Errorf("rule: %w", what)
	}
	if strings.Contains(text, "\n") {
		return coded.Errorf("rule.at_line", "rule: line %d, column %d: %w", at.Line(), at.Column()+1, what)
	}
	return coded.Errorf("rule.at", "rule: column %d: %w", at.Column()+1, what)
}

func isCall(parsed *cel.Ast, id int64) bool {
	found := false
	if parsed != nil {
		ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			found = found || e.ID() == id && e.Kind() == ast.CallKind
		}))
	}
	return found
}

// readable replaces the internal name of an operator by its symbol.
func readable(what string) error {
	rest := strings.TrimPrefix(what, "found no matching overload for '")
	name, types, found := strings.Cut(rest, "' applied to '")
	if !found {
		return coded.Errorf("rule.syntax", "%s", what)
	}
	if symbol, known := operators.FindReverse(name); known && symbol != "" {
		name = symbol
	}
	return coded.Errorf("rule.types", "%s does not take %s", name, strings.TrimSuffix(types, "'"))
}
