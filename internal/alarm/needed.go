package alarm

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// A Case is an order, refund or transfer that needs a person.
type Case struct {
	Task       string `json:"task"`
	MerchantNo string `json:"merchant_no"`
	OrderNo    string `json:"order_no"`
	RefNo      string `json:"ref_no,omitempty"` // of a refund or transfer; empty: the case is an order
	State      string `json:"state"`            // of the order, refund or transfer
	Why        string `json:"why"`
}

// mostNeeded is the number of cases that one rule reports one by one within an hour, in each
// process. One further task says that there are more.
const mostNeeded = 20

// A spate is the cases of a rule within an hour.
type spate struct {
	hour  time.Time
	cases []string // the ids of those that are reported one by one
	more  bool     // there are more
}

// Needed returns the tasks that report a case at a time, one for each rule with the condition when.
// Add them in the transaction that raises it. The alarms are stored for List soon after. A case
// that no rule covers is an alarm too, without a task. once names a case that several tasks can
// find, at different times: it is reported and stored once. Empty: t alone finds it.
func (w *Watch) Needed(when, once string, t *bellman.Task, c Case, at time.Time) (tasks []bellman.Task) {
	c.Task, c.MerchantNo, c.OrderNo = t.ID.String(), t.MerchantNo, t.OrderNo
	for _, r := range w.covering(when, t.Queue) {
		a := Alarm{
			ID: identify(r.Name, cmp.Or(once, c.Task)), Name: r.Name, When: r.When, Queue: t.Queue, Value: 1,
			Since: at.UTC().Truncate(time.Millisecond), To: r.To, Affected: &c, once: once != "",
		}
		hour := a.Since.Truncate(time.Hour)
		one, first := w.count(r.Name, a.ID, hour)
		if !one { // the same task for each of them: its key is there already
			a.ID, a.Since, a.Value, a.Affected, a.Queue, a.once = identify(r.Name, more), hour, mostNeeded, nil, r.Queue, false
		}
		if a.To != "" {
			if task, ok := w.momentary(&a); ok {
				tasks = append(tasks, task)
			}
		}
		w.mu.Lock()
		if first && len(w.needed) < mostDecided {
			w.needed = append(w.needed, a)
		}
		w.mu.Unlock()
	}
	return tasks
}

// covering returns the rules with a condition that cover a queue, or else one that reports to
// nobody.
func (w *Watch) covering(when, queue string) (rules []Rule) {
	for _, r := range w.Rules() {
		if r.When == when && (r.Queue == "" || r.Queue == queue) {
			rules = append(rules, r)
		}
	}
	if len(rules) == 0 {
		rules = []Rule{{Name: Name(when, ""), When: when}}
	}
	return rules
}

// count counts a case of a rule, once an hour: a commit that failed is tried again. It returns
// whether the case is reported on its own, and whether its report is a new one.
func (w *Watch) count(rule, id string, hour time.Time) (one, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.told[rule]
	if s.hour != hour {
		s = spate{hour: hour}
	}
	switch {
	case slices.Contains(s.cases, id):
		one = true
	case len(s.cases) < mostNeeded:
		one, first = true, true
		s.cases = append(s.cases, id)
	default:
		first = !s.more
		s.more = true
	}
	w.told[rule] = s
	return one, first
}
