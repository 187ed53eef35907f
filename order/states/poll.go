package states

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// A Poll reads answers to queries about refunds, transfers and profit sharings. It is safe for
// concurrent use. Get one from CompilePoll or CompilePollRules.
type Poll struct {
	read func(a *order.Answer) pollFinding
}

// A pollFinding is what an answer to such a query says by itself.
type pollFinding struct {
	reading   poll.Reading
	throttled bool
	taken     poll.Taken
	person    string // see poll.Answer
	why       string // for QueryError
}

func unclearPoll(format string, args ...any) pollFinding {
	return pollFinding{why: fmt.Sprintf(format, args...)}
}

// CompilePoll returns the preset of this name for refunds, transfers and profit sharings.
func CompilePoll(name string) (*Poll, error) {
	i := slices.IndexFunc(pollPresets, func(p PollPreset) bool { return p.Name == name })
	if i < 0 {
		names := make([]string, len(pollPresets))
		for i, p := range pollPresets {
			names[i] = p.Name
		}
		return nil, fmt.Errorf("states: no preset is called %.40q: want one of %s", name, strings.Join(names, ", "))
	}
	query, parse := pollPresets[i].query, pollPresets[i].parse
	if parse == nil {
		parse = ParseJSON
	}
	return &Poll{func(a *order.Answer) pollFinding {
		r := read(a, parse)
		if r.unread != nil {
			return unclearPoll("%s", r.unread)
		}
		return query(r)
	}}, nil
}

// pollNames are the names of the rules of a poll.
var pollNames = map[string]poll.Reading{"waiting": poll.Waiting, "not_found": poll.NotFound, "done": poll.Done, "failed": poll.FailedThere}

// CompilePollRules makes a Poll of expressions by the name of their reading: done, failed, waiting
// and not_found. If done and failed both match an answer, or none matches, the answer says nothing.
// Of waiting and not_found the first that matches counts. The error says which expression is wrong,
// and how.
func CompilePollRules(rules map[string]string) (*Poll, error) {
	parse := func(name string) (poll.Reading, error) {
		r, ok := pollNames[name]
		if !ok {
			return 0, fmt.Errorf("%.40q is no state: want done, failed, waiting or not_found", name)
		}
		return r, nil
	}
	mappings, err := compile(rules, parse, []poll.Reading{poll.Done, poll.FailedThere, poll.Waiting, poll.NotFound})
	if err != nil {
		return nil, err
	}
	return &Poll{func(a *order.Answer) pollFinding {
		matched, err := match(a, mappings)
		switch {
		case err != nil:
			return unclearPoll("%s", err)
		case len(matched) == 0:
			return unclearPoll("no rule matches the answer")
		case len(matched) > 1 && matched[1].Decides():
			return unclearPoll("the rules contradict each other: done and failed match the answer")
		}
		return pollFinding{reading: matched[0]}
	}}, nil
}

// Read says what a means: a itself, with the reading, and with Error where that is QUERY_ERROR and
// a does not say why itself. Its rules about HTTP statuses are those of [Query.Read].
func (p *Poll) Read(a order.Answer) poll.Answer {
	if unanswered(&a) {
		return poll.Answer{Answer: a}
	}
	f := p.read(&a)
	switch {
	case f.reading != poll.QueryError && !readable(f.reading.Decides(), f.reading == poll.NotFound, a.Status):
		f = pollFinding{throttled: f.throttled, why: fmt.Sprintf("HTTP status %d decides nothing, though the body reads %s", a.Status, f.reading)}
	case f.reading == poll.QueryError && f.why == "":
		f.why = "the answer says nothing about it"
	}
	judge(&a, f.reading != poll.QueryError, f.throttled, f.why)
	return poll.Answer{Answer: a, Reading: f.reading, Taken: f.taken, Person: f.person}
}

// A PollPreset is how one provider answers about refunds or transfers.
type PollPreset struct {
	Name   string
	Source string // where its values are from, and how reliable that is

	parse func(body []byte) (map[string]any, error) // nil: ParseJSON
	query func(r reply) pollFinding
}

// PollPresets returns all presets of polls, in the order in which to show them.
func PollPresets() []PollPreset { return slices.Clone(pollPresets) }

// noticeStates are the states in notices, by preset.
var noticeStates = map[string]map[string]state{
	"wechat_refund": wechatRefunds, "wechat_v2_refund": wechatV2Refunds, "wechat_transfer": wechatTransfers,
	"alipay_transfer": alipayTransfers, "stripe_refund": stripeRefunds, "antom_refund": antomRefunds,
}

// Outcome returns DONE or FAILED_THERE for the state of a refund or transfer in a notice, as the
// preset reads that state in the answer to a query. Empty: with this state it has not ended, or the
// preset does not know the state.
func Outcome(preset, value string) string {
	if s := noticeStates[preset][value]; s.reading.Decides() {
		return s.reading.String()
	}
	return ""
}

// A state is what one value of a provider's state field means.
type state struct {
	reading poll.Reading
	person  string
}

// settled returns the finding of a state field, with the fields that were taken if it decides.
func settled(states map[string]state, name, value string, t pollFields) pollFinding {
	s, known := states[value]
	if !known {
		return unclearPoll("%s is %.40q", name, value)
	}
	f := pollFinding{reading: s.reading, person: s.person}
	if t.state = value; s.reading.Decides() {
		f.taken = t.taken()
	}
	return f
}

// pollFields are what a preset takes of an answer; empty fields are absent.
type pollFields struct {
	no, state, why string
	paid           sum
	at             string // RFC 3339 in UTC
}

func (f pollFields) taken() poll.Taken {
	t := poll.Taken{}
	for name, text := range map[string]string{"channel_ref_no": f.no, "channel_state": f.state, "fail_reason": f.why} {
		if text != "" {
			t[name] = text
		}
	}
	if f.paid.known {
		t["amount"] = f.paid.amount
		if f.paid.currency != "" {
			t["currency"] = f.paid.currency
		}
	}
	if f.at != "" {
		t["finished_at"] = f.at
	}
	return t
}
