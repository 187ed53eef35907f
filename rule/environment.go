package rule

import (
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
)

const (
	// maxCost bounds the cost of one evaluation, in CEL's unit: roughly a step, or ten characters
	// read.
	maxCost = 1_000_000

	// maxNodes bounds the expression after its macros were expanded.
	maxNodes = 2000
)

// The CEL environments: environment is for rules, valueEnvironment for values, messageEnvironment
// for fields of a message, partEnvironment for parts of a notification. Each is made at its first
// use, because that takes a few milliseconds, and never changes.
var (
	environment = sync.OnceValues(func() (*cel.Env, error) {
		return newEnvironment(cel.Variable("status", cel.IntType), cel.Variable("attempt", cel.IntType))
	})
	valueEnvironment = sync.OnceValues(func() (*cel.Env, error) {
		return newEnvironment(append(factOptions(), cel.Variable("status", cel.IntType))...)
	})
	messageEnvironment = sync.OnceValues(func() (*cel.Env, error) {
		return newEnvironment(messageVariables()...)
	})
	partEnvironment = sync.OnceValues(func() (*cel.Env, error) {
		return newEnvironment(partOptions()...)
	})
)

// newEnvironment returns the common environment with further options.
func newEnvironment(more ...cel.EnvOption) (*cel.Env, error) {
	text, flag := cel.StringType, cel.BoolType
	return cel.NewCustomEnv(append([]cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().
			SetDisableMacros(true).
			AddExcludedFunctions(env.NewFunction("matches")))),
		cel.Macros(cel.HasMacro, cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro),
		ext.Strings(),

		cel.Variable("body", text),
		cel.Variable("json", cel.DynType),
		cel.Variable("headers", cel.MapType(text, text)),

		cel.Function("matches",
			cel.MemberOverload("rule_string_matches", []*cel.Type{text, text}, flag, cel.LateFunctionBinding()),
			cel.Overload("rule_matches", []*cel.Type{text, text}, flag, cel.LateFunctionBinding())),
		cel.Function("text_contains",
			cel.Overload("rule_text_contains", []*cel.Type{text}, flag, cel.LateFunctionBinding())),
		cel.Function("json_field",
			cel.Overload("rule_json_exists", []*cel.Type{text, text}, flag, cel.LateFunctionBinding()),
			cel.Overload("rule_json_compare", []*cel.Type{text, text, cel.DynType}, flag, cel.LateFunctionBinding())),

		cel.ParserExpressionSizeLimit(MaxText),
		cel.ParserRecursionLimit(100),
		cel.ExpressionNodeLimit(maxNodes),
	}, more...)...)
}

// charge has the cost of calls that read every character of a text. CEL counts each as one step.
type charge struct{}

// CallCost returns the cost of a call in CEL's unit; nil: CEL's own figure is right.
func (charge) CallCost(function, overload string, args []ref.Val, _ ref.Val) *uint64 {
	var price uint64
	switch function {
	case operators.In:
		price = 1
		if list, ok := args[1].(traits.Lister); ok {
			price += uint64(list.Size().(types.Int))
		}
	case "size", "string", "int", "uint", "double", "bool", "bytes":
		price = 1 + length(args[0])/10
	case "matches":
		price = 1 + length(args[0]) // the rest is counted by matches itself
	case "text_contains":
		price = 1 + MaxBody/10
	case "json_field":
		price = 20 + length(args[0])
		if len(args) == 3 {
			price += MaxBody / 100
		}
	default:
		if overload != "" {
			return nil
		}
		price = 1 // CEL does not know the cost of a call whose types were unknown at compile time
		for _, arg := range args {
			price += length(arg) / 10
		}
	}
	return &price
}

func length(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	}
	return 0
}

// usual estimates the cost of a rule for an answer of a usual size: a body of 4 KiB, lists of a
// hundred.
type usual struct{}

// EstimateSize returns the usual size of a variable; nil: CEL derives it.
func (usual) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	switch path[0] {
	case "body":
		return &cost.SizeEstimate{Max: 4096}
	case "json", "headers", "vars", "taken", "order_no", "merchant_no", "order_state", "message_id", "subject",
		"event", "channel_order_no", "created_at", "order_currency":
		return &cost.SizeEstimate{Max: 100}
	}
	if slices.Contains(partFields, path[0]) {
		return &cost.SizeEstimate{Max: 100}
	}
	return nil
}

// EstimateCallCost knows the functions of a Part and a Value, and leaves the others to CEL's own
// estimate.
func (usual) EstimateCallCost(function, _ string, _ *cost.AstNode, _ []cost.AstNode) *cost.CallEstimate {
	switch function {
	case "unix_ms", "local_time", "major", "minor":
		return &cost.CallEstimate{CostEstimate: cost.Estimate{Min: 1, Max: 10}, ResultSize: &cost.SizeEstimate{Max: 100}}
	}
	return nil
}
