package states

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/rule"
)

// A mapping is a rule and what it stands for.
type mapping[R comparable] struct {
	reading R
	rule    *rule.Rule
}

// The orders in which rules are looked at.
var (
	queryOrder = []order.Reading{
		order.QueryError,
		order.Paid, order.PaidRefunded, order.Closed, order.Revoked, order.Failed,
		order.Pending, order.NotFound,
	}
	closeOrder = []order.CloseReading{
		order.CloseUnknown,
		order.ClosePaidHint, order.CloseInFlight, order.CloseNotExist, order.CloseAlready, order.CloseRefunded, order.CloseDone,
	}
)

// CompileQueryRules makes a Query of expressions by the name of their reading,
// such as "PAID". The error says which expression is wrong, and how.
func CompileQueryRules(rules map[string]string) (*Query, error) {
	mappings, err := compile(rules, order.ParseReading, queryOrder)
	if err != nil {
		return nil, err
	}
	return &Query{read: func(a *order.Answer, _ time.Duration) finding {
		matched, err := match(a, mappings)
		if err != nil {
			return unclear("%s", err)
		}
		reading, why := settle(matched)
		return finding{reading: reading, why: why}
	}}, nil
}

// CompileQueryValue makes a Query of one expression that evaluates to the name of the reading, such
// as
//
//	json.status == "ok" ? "PAID" : "PENDING"
//
// Another text, or no text, is QUERY_ERROR. The error says what is wrong with the expression.
func CompileQueryValue(text string) (*Query, error) {
	v, err := rule.CompileValue(text)
	if err != nil {
		return nil, fmt.Errorf("states: %w", err)
	}
	return &Query{read: func(a *order.Answer, _ time.Duration) finding {
		if len(a.Body) > order.MaxBody {
			return unclear("%s", errTooLong)
		}
		value, err := v.Evaluate(ruleAnswer(a), rule.Facts{})
		if err != nil {
			return unclear("%s", err)
		}
		name, _ := value.(string)
		reading, err := order.ParseReading(name)
		if err != nil {
			return unclear("%s", err)
		}
		return finding{reading: reading}
	}}, nil
}

// settle says what the readings that match, in their order, come to.
func settle(matched []order.Reading) (order.Reading, string) {
	switch {
	case len(matched) == 0:
		return order.QueryError, "no rule matches the answer"
	case matched[0] == order.QueryError:
		return order.QueryError, "the rule for QUERY_ERROR matches the answer"
	case len(matched) == 1 || !matched[1].Decides():
		return matched[0], ""
	case matched[1] == order.PaidRefunded && (len(matched) == 2 || !matched[2].Decides()):
		return order.PaidRefunded, ""
	}
	return order.QueryError, fmt.Sprintf("the rules contradict each other: %v match the answer", matched)
}

// CompileCloseRules makes a Close of expressions by the name of their reading,
// such as "already_closed". The error says which expression is wrong, and how.
func CompileCloseRules(rules map[string]string) (*Close, error) {
	mappings, err := compile(rules, order.ParseCloseReading, closeOrder)
	if err != nil {
		return nil, err
	}
	return &Close{func(a *order.Answer) closing {
		matched, err := match(a, mappings)
		switch {
		case err != nil:
			return closing{why: err.Error()}
		case len(matched) == 0:
			return closing{why: "no rule matches the answer"}
		case matched[0] == order.CloseUnknown:
			return closing{why: "the rule for unknown matches the answer"}
		case len(matched) > 1:
			return closing{why: fmt.Sprintf("the rules contradict each other: %v match the answer", matched)}
		}
		return closing{reading: matched[0]}
	}}, nil
}

// compile returns the rules in the order in which they are looked at.
func compile[R comparable](rules map[string]string, parse func(string) (R, error), order []R) ([]mapping[R], error) {
	if len(rules) == 0 {
		return nil, fmt.Errorf("states: no rules: want a preset's name, or an expression for each state, such as %v", order[1])
	}
	var mappings []mapping[R]
	for _, name := range slices.Sorted(maps.Keys(rules)) { // sorted, so that of two mistakes the same one is named
		reading, err := parse(name)
		if err != nil {
			return nil, fmt.Errorf("states: %w", err)
		}
		r, err := rule.Compile(rules[name])
		if err != nil {
			return nil, fmt.Errorf("states: %s: %w", name, err)
		}
		mappings = append(mappings, mapping[R]{reading, r})
	}
	slices.SortFunc(mappings, func(a, b mapping[R]) int {
		return slices.Index(order, a.reading) - slices.Index(order, b.reading)
	})
	return mappings, nil
}

// ruleAnswer returns an answer as expressions read it.
func ruleAnswer(a *order.Answer) *rule.Answer {
	ra := &rule.Answer{Status: a.Status, Body: a.Body, Header: make(http.Header, len(a.Header))}
	for name, value := range a.Header {
		ra.Header[name] = []string{value}
	}
	return ra
}

// match returns the readings whose rules match, in their order.
func match[R comparable](a *order.Answer, mappings []mapping[R]) ([]R, error) {
	if len(a.Body) > order.MaxBody {
		return nil, errTooLong
	}
	ra := ruleAnswer(a)
	var matched []R
	for _, m := range mappings {
		ok, err := m.rule.Accepts(ra)
		if err != nil && !errors.Is(err, rule.ErrMissing) {
			return nil, fmt.Errorf("%v: %w", m.reading, err)
		}
		if ok {
			matched = append(matched, m.reading)
		}
	}
	return matched, nil
}
