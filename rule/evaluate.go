package rule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// ErrMissing is wrapped by the error of an expression that names a field which the JSON of
// the answer or notice does not have. If the body is not JSON, the error does not wrap it.
var ErrMissing = errors.New("the body has no such field")

// facts are the variables of an expression besides the answer.
type facts interface {
	resolve(name string) (any, bool)
}

// run returns the result of the expression. It reuses the parts of the answer that e has parsed.
func (x *expression) run(e *evaluation) (ref.Val, error) {
	e.patterns, e.matching = x.patterns, 0
	out, _, err := x.program.Eval(e)
	var cancelled interpreter.EvalCancelledError
	switch {
	case e.matching > maxMatching:
		return nil, fmt.Errorf("rule: stopped: this answer is too long for the rule's patterns: want characters × instructions at most %d", maxMatching)
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return nil, fmt.Errorf("rule: stopped: this answer takes more than %d steps to judge", maxCost)
	case err != nil && x.usesJSON && e.parsed != nil && e.notJSON != nil:
		return nil, fmt.Errorf("rule: %w (the body is not JSON: %w)", err, e.notJSON)
	case err != nil && isMissing(err):
		return nil, fmt.Errorf("rule: %w (%w)", err, ErrMissing)
	case err != nil:
		return nil, fmt.Errorf("rule: %w", err)
	}
	return out, nil
}

// isMissing reports whether an error of CEL says that a map has no such key, or a list no such
// element.
func isMissing(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "no such key: ") || strings.HasPrefix(text, "index out of bounds: ") ||
		strings.HasPrefix(text, "no such attribute(s): ") // a variable of a Part
}

// An evaluation gives an expression its variables and functions. Each is made at its first use.
type evaluation struct {
	answer   *Answer
	facts    facts // nil for a rule
	patterns map[string]pattern
	matching int // bytes matched so far, times the instructions of their patterns

	body    ref.Val
	headers ref.Val
	parsed  ref.Val
	notJSON error // why parsed is null
}

// ResolveName returns a variable.
func (e *evaluation) ResolveName(name string) (any, bool) {
	switch name {
	case "status":
		return types.Int(e.answer.Status), true
	case "attempt":
		return types.Int(e.answer.Attempt), true
	case "body":
		if e.body == nil {
			e.body = types.String(strings.ToValidUTF8(string(e.answer.Body), "\uFFFD"))
		}
		return e.body, true
	case "json":
		return e.json(), true
	case "headers":
		if e.headers == nil {
			joined := make(map[string]string, len(e.answer.Header))
			for name, values := range e.answer.Header {
				joined[strings.ToLower(name)] = strings.Join(values, ", ")
			}
			e.headers = types.DefaultTypeAdapter.NativeToValue(joined)
		}
		return e.headers, true
	}
	if e.facts != nil {
		return e.facts.resolve(name)
	}
	return nil, false
}

// Parent returns nil: an evaluation has no parent.
func (e *evaluation) Parent() interpreter.Activation { return nil }

// ResolveFunction returns a function that the package adds to CEL's.
func (e *evaluation) ResolveFunction(name string) (functions.LateBoundOp, bool) {
	switch name {
	case "matches":
		return e.matches, true
	case "json_field":
		return e.jsonField, true
	case "text_contains":
		return e.textContains, true
	}
	return nil, false
}

// matches is CEL's function with a bound: RE2 takes time in proportion to the length of the text
// times the length of the pattern. Beyond the bound the evaluation fails.
func (e *evaluation) matches(_ string, args ...ref.Val) ref.Val {
	text, p := string(args[0].(types.String)), e.patterns[string(args[1].(types.String))]
	if e.matching += (1 + len(text)) * p.instructions; e.matching > maxMatching {
		return types.NewErr("too much to match")
	}
	return types.Bool(p.MatchString(text))
}

func (e *evaluation) textContains(_ string, args ...ref.Val) ref.Val {
	word := args[0].(types.String)
	return types.Bool(bytes.Contains(lowerASCII(e.answer.Body), lowerASCII([]byte(word))))
}

// lowerASCII leaves all but A to Z alone; bytes.ToLower may change lengths.
func lowerASCII(b []byte) []byte {
	lower := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return lower
}

func (e *evaluation) jsonField(_ string, args ...ref.Val) ref.Val {
	value, found := lookup(e.json(), string(args[0].(types.String)))
	if !found {
		return types.False
	}
	switch args[1].(types.String) {
	case "exists":
		return types.True
	case "eq":
		return value.Equal(args[2])
	case "in":
		return args[2].(traits.Container).Contains(value)
	default: // regex
		switch value.(type) {
		case types.String, types.Int, types.Uint, types.Double:
			return e.matches("", value.ConvertToType(types.StringType), args[2])
		}
		return types.False
	}
}

// lookup follows a path of field names and positions.
func lookup(value ref.Val, path string) (ref.Val, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case traits.Mapper:
			next, found := v.Find(types.String(name))
			if !found {
				return nil, false
			}
			value = next
		case traits.Lister:
			i, err := strconv.Atoi(name)
			if size := v.Size().(types.Int); err != nil || i < 0 || i >= int(size) {
				return nil, false
			}
			value = v.Get(types.Int(i))
		default:
			return nil, false
		}
	}
	return value, true
}

// json returns the parsed body, null when it is not JSON.
func (e *evaluation) json() ref.Val {
	if e.parsed == nil {
		var value any
		value, e.notJSON = parseJSON(e.answer.Body)
		e.parsed = types.DefaultTypeAdapter.NativeToValue(value)
	}
	return e.parsed
}

func parseJSON(body []byte) (any, error) {
	if bytes.HasPrefix(body, []byte("\uFEFF")) {
		return nil, errors.New("it begins with a byte order mark")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // a float64 would round the ids and order numbers that are sent as numbers
	var value any
	if err := d.Decode(&value); err == io.EOF {
		return nil, errors.New("it is empty")
	} else if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the value")
	}
	return withNumbers(value), nil
}

// withNumbers converts the numbers in value: to int64, to uint64 if int64 is too small, and to
// float64 if the number is not whole or needs more than 64 bits.
func withNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return u
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil
		}
		return f
	case map[string]any:
		for name, field := range v {
			v[name] = withNumbers(field)
		}
	case []any:
		for i, element := range v {
			v[i] = withNumbers(element)
		}
	}
	return value
}
