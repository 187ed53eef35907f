package rule

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// An expression is a CEL text that was checked, restricted and made ready.
type expression struct {
	text      string
	variables string // those it may name, for a message
	warnings  []string

	program  cel.Program
	patterns map[string]pattern // those that the expression names
	usesJSON bool
}

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
			return nil, fmt.Errorf("rule: the expression may yield anything: want a bool, such as %s == true", text)
		}
		return nil, fmt.Errorf("rule: the expression yields %s: want a bool, such as status == 200", t)
	}
	usesStatus, usesText, err := r.restrict(checked.NativeRep(), nil)
	if err != nil {
		return nil, err
	}
	if !usesStatus {
		r.warnings = append(r.warnings, "does not look at the status: an error page with a fitting body is accepted")
	}
	if usesText {
		r.warnings = append(r.warnings, "looks for a word anywhere in the body: a page that says it did not succeed is accepted too")
	}
	if err := r.prepare(env, checked); err != nil {
		return nil, err
	}
	return r, nil
}

// check parses the text, changes what it became if change is not nil, and checks its
// types.
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

// prepare makes the program of what was checked and restricted.
func (x *expression) prepare(env *cel.Env, checked *cel.Ast) error {
	estimate, err := env.EstimateCost(checked, usual{})
	if err != nil {
		return fmt.Errorf("rule: estimate its cost: %w", err)
	}
	if !estimate.IsUnknown() && estimate.Max > maxCost {
		return fmt.Errorf("rule: an answer of usual size (4 KiB, lists of 100) may cost %d steps: want at most %d; nest fewer loops", estimate.Max, maxCost)
	}
	// Not optimized: that would replace matches by CEL's own, which has no bound.
	x.program, err = env.Program(checked,
		cel.CostTracking(charge{}),
		cel.CostLimit(maxCost))
	if err != nil {
		return fmt.Errorf("rule: %w", err)
	}
	return nil
}

// firstProblem says where the first mistake is and what it is; those after it
// usually follow from it. parsed is nil when the text could not be parsed.
func (x *expression) firstProblem(parsed *cel.Ast, issues *cel.Issues) error {
	problem := issues.Errors()[0]
	what := strings.ReplaceAll(problem.Message, " (in container '')", "")
	what = strings.TrimPrefix(what, "Syntax error: ")
	if strings.HasPrefix(what, "undeclared reference") {
		if isCall(parsed, problem.ExprID) {
			what += "; known functions are " + strings.Join(functionNames, ", ")
		} else {
			what += "; known are " + x.variables
		}
	}
	if strings.HasPrefix(what, "found no matching overload for '") {
		what = readable(what)
	}
	return mistake(x.text, problem.Location, what)
}

func mistake(text string, at common.Location, what string) error {
	if at.Line() < 1 { // about the whole of it: too deep, too many parts
		return fmt.Errorf("rule: %s", what)
	}
	if strings.Contains(text, "\n") {
		return fmt.Errorf("rule: line %d, column %d: %s", at.Line(), at.Column()+1, what)
	}
	return fmt.Errorf("rule: column %d: %s", at.Column()+1, what)
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

// readable writes an operator as it is written in an expression.
func readable(what string) string {
	rest := strings.TrimPrefix(what, "found no matching overload for '")
	name, types, found := strings.Cut(rest, "' applied to '")
	if !found {
		return what
	}
	if symbol, known := operators.FindReverse(name); known && symbol != "" {
		name = symbol
	}
	return fmt.Sprintf("%s does not take %s", name, strings.TrimSuffix(types, "'"))
}
