package rule

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

func compileExpression(text string) (*Rule, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("rule: %w", err)
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, firstProblem(text, nil, issues)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, firstProblem(text, parsed, issues)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) {
		if t.IsExactType(cel.DynType) {
			return nil, fmt.Errorf("rule: the expression may yield anything: want a bool, such as %s == true", text)
		}
		return nil, fmt.Errorf("rule: the expression yields %s: want a bool, such as status == 200", t)
	}
	r := &Rule{text: text, patterns: map[string]pattern{}}
	if err := r.restrict(checked.NativeRep()); err != nil {
		return nil, err
	}
	estimate, err := env.EstimateCost(checked, usual{})
	if err != nil {
		return nil, fmt.Errorf("rule: estimate its cost: %w", err)
	}
	if !estimate.IsUnknown() && estimate.Max > maxCost {
		return nil, fmt.Errorf("rule: an answer of usual size (4 KiB, lists of 100) may cost %d steps: want at most %d; nest fewer loops", estimate.Max, maxCost)
	}
	// Not optimized: that would replace matches by CEL's own, which has no bound.
	r.program, err = env.Program(checked,
		cel.CostTracking(charge{}),
		cel.CostLimit(maxCost))
	if err != nil {
		return nil, fmt.Errorf("rule: %w", err)
	}
	return r, nil
}

// firstProblem says where the first mistake is and what it is; those after it
// usually follow from it. parsed is nil when the text could not be parsed.
func firstProblem(text string, parsed *cel.Ast, issues *cel.Issues) error {
	problem := issues.Errors()[0]
	what := strings.ReplaceAll(problem.Message, " (in container '')", "")
	what = strings.TrimPrefix(what, "Syntax error: ")
	if strings.HasPrefix(what, "undeclared reference") {
		if isCall(parsed, problem.ExprID) {
			what += "; known functions are " + strings.Join(functionNames, ", ")
		} else {
			what += "; known are status, body, json, headers, attempt"
		}
	}
	if strings.HasPrefix(what, "found no matching overload for '") {
		what = readable(what)
	}
	return mistake(text, problem.Location, what)
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
