package alarm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Decision is an order that a person decided.
type Decision struct {
	Task       string `json:"task"` // the order's task
	MerchantNo string `json:"merchant_no"`
	OrderNo    string `json:"order_no"`
	Who        string `json:"who"`            // name of the key; empty: no key was needed
	From       string `json:"from,omitempty"` // network address; empty: unknown
	Reason     string `json:"reason"`         // the reason, a colon and the outcome
}

const (
	// decidedFor is how long an alarm about a decision stays raised. Its end is not reported.
	decidedFor = time.Hour

	// mostDecided is the number of alarms about decisions that are stored. The tasks that report further
	// decisions are added all the same.
	mostDecided = 100
)

// decided returns the alarms about a decision: one for each rule that covers it.
func (w *Watch) decided(t *bellman.Task, by bellman.By, at time.Time) []Alarm {
	var alarms []Alarm
	for _, r := range w.Rules() {
		if r.When != OrderDecided || r.Queue != "" && r.Queue != t.Queue {
			continue
		}
		alarms = append(alarms, Alarm{
			ID: identify(r.Name, t.ID.String()), Name: r.Name, When: r.When, Queue: t.Queue, Value: 1,
			Since: at.UTC().Truncate(time.Millisecond), To: r.To,
			Decision: &Decision{Task: t.ID.String(), MerchantNo: t.MerchantNo, OrderNo: t.OrderNo, Who: by.Who, From: by.From, Reason: by.Reason},
		})
	}
	return alarms
}

// Decided returns the tasks that report a decision by hand at a time. Add them in the transaction of the
// decision, and call Keep after it. by.Reason is the reason, a colon and the outcome.
func (w *Watch) Decided(t *bellman.Task, by bellman.By, at time.Time) (tasks []bellman.Task) {
	for _, a := range w.decided(t, by, at) {
		typed, key, body := event(&a)
		w.mu.Lock()
		to, known := w.queues[a.To]
		w.mu.Unlock()
		if !known {
			w.log.Error("a decision by hand cannot be reported", "alarm", a.ID, "to", a.To, "err", noQueue(a.To))
			continue
		}
		task, err := to.Tell(typed, key, body)
		if err != nil {
			w.log.Error("event_json fails for an alarm, which is sent as a plain event", "alarm", a.ID, "queue", to.Name, "err", err)
		}
		task.SetCreatedBy(by.Who)
		tasks = append(tasks, task)
	}
	return tasks
}

// Keep stores the alarms about a decision that was committed, for List. A failure is logged: the tasks of
// Decided report the decision in any case.
func (w *Watch) Keep(ctx context.Context, t *bellman.Task, by bellman.By, at time.Time) {
	alarms := w.decided(t, by, at)
	if len(alarms) == 0 {
		return
	}
	kept, err := load(ctx, w.store)
	if err != nil {
		w.log.Warn("an alarm about a decision by hand is not kept", "task", t.ID, "err", err)
		return
	}
	n := 0
	for _, k := range kept {
		if k.When == OrderDecided {
			n++
		}
	}
	for i := range alarms {
		a := &alarms[i]
		w.note(a)
		if was := kept[a.ID]; was == nil && n >= mostDecided {
			continue
		}
		n++
		w.mu.Lock()
		if _, known := w.queues[a.To]; !known {
			a.Untold = noQueue(a.To)
		}
		w.mu.Unlock()
		if err := w.engine.AddWith(ctx, []store.Doc{document(a, kept[a.ID])}); err != nil && !errors.Is(err, bellman.ErrConflict) {
			w.log.Warn("an alarm about a decision by hand is not kept", "task", t.ID, "err", err)
		}
	}
}

// past ends the alarms about decisions of long ago.
func (w *Watch) past(ctx context.Context, now time.Time, alarms map[string]*kept) error {
	var docs []store.Doc
	for _, k := range alarms {
		if !k.raised() || k.When != OrderDecided || now.Sub(k.Since) < decidedFor {
			continue
		}
		ended := k.Alarm
		ended.Until = k.Since.Add(decidedFor)
		ended.Ended, ended.Reason = now.UTC().Truncate(time.Millisecond), "over"
		docs = append(docs, document(&ended, k))
	}
	if len(docs) == 0 {
		return nil
	}
	if err := w.engine.AddWith(ctx, docs); err != nil && !errors.Is(err, bellman.ErrConflict) {
		return fmt.Errorf("end alarms about decisions: %w", err)
	}
	return nil
}

func noQueue(name string) string { return "there is no queue " + name }
