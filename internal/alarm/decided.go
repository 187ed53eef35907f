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
	// decidedFor is how long an alarm about an event stays raised. Its end is not reported.
	decidedFor = time.Hour

	// mostDecided is the number of alarms about events of one condition that are stored. A new one
	// replaces one of an earlier day. The tasks that report further events are added all the same.
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
			ID: identify(r.Name, decision(t, at)), Name: r.Name, When: r.When, Queue: t.Queue, Value: 1,
			Since: at.UTC().Truncate(time.Millisecond), To: r.To,
			Decision: &Decision{Task: t.ID.String(), MerchantNo: t.MerchantNo, OrderNo: t.OrderNo, Who: by.Who, From: by.From, Reason: by.Reason},
		})
	}
	return alarms
}

// decision names a decision about a task at a time.
func decision(t *bellman.Task, at time.Time) string {
	return fmt.Sprintf("%s/%d", t.ID, at.UnixMilli())
}

// Decided returns the tasks that report a decision by hand at a time. Add them in the transaction
// of the decision, and call Keep after it. by.Reason is the reason, a colon and the outcome.
func (w *Watch) Decided(t *bellman.Task, by bellman.By, at time.Time) (tasks []bellman.Task) {
	alarms := w.decided(t, by, at)
	w.mu.Lock()
	if len(w.made) >= mostDecided { // of decisions that were not committed
		clear(w.made)
	}
	w.made[decision(t, at)] = alarms
	w.mu.Unlock()
	for _, a := range alarms {
		if task, ok := w.momentary(&a); ok {
			task.SetCreatedBy(by.Who)
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// momentary returns the task that reports an event. ok is false if there is no queue for it, which
// is logged.
func (w *Watch) momentary(a *Alarm) (task bellman.Task, ok bool) {
	typed, key, body := event(a, w.chinese)
	w.mu.Lock()
	to, known := w.queues[a.To]
	w.mu.Unlock()
	if !known {
		w.log.Error("an event cannot be reported", "alarm", a.ID, "when", a.When, "to", a.To, "err", noQueue(a.To))
		return task, false
	}
	task, err := to.Tell(typed, key, body)
	if err != nil {
		w.log.Error("event_json fails for an alarm, which is sent as a plain event", "alarm", a.ID, "queue", to.Name, "err", err)
	}
	return task, true
}

// Keep stores the alarms about a decision that was committed, for List. t is the task after it. A
// decision that Decided did not report has none: it changed nothing. A failure is logged: the tasks
// of Decided report the decision in any case.
func (w *Watch) Keep(ctx context.Context, t *bellman.Task) {
	w.mu.Lock()
	alarms := w.made[decision(t, t.Updated)]
	delete(w.made, decision(t, t.Updated))
	w.mu.Unlock()
	w.keep(ctx, alarms)
}

// keep stores alarms about events, for List. What cannot be stored is tried again in the next
// round. The tasks that report them are stored in any case.
func (w *Watch) keep(ctx context.Context, alarms []Alarm) {
	if len(alarms) == 0 {
		return
	}
	stored, err := load(ctx, w.store)
	if err != nil {
		w.log.Warn("alarms about events are not kept; retrying", "alarms", len(alarms), "err", err)
		w.again(alarms)
		return
	}
	n := map[string]int{} // by condition
	for _, k := range stored {
		if Momentary(k.When) {
			n[k.When]++
		}
	}
	for i := range alarms {
		a := &alarms[i]
		was := stored[a.ID]
		if a.once && was != nil {
			continue
		}
		var docs []store.Doc
		var old *kept
		if was == nil && n[a.When] >= mostDecided {
			if old = earliest(stored, a); old == nil {
				w.note(a)
				continue
			}
			docs = append(docs, store.Doc{Kind: kind, Name: old.ID, Was: old.value})
		}
		w.mu.Lock()
		if a.To == "" {
			a.Untold = noRule
		} else if _, known := w.queues[a.To]; !known {
			a.Untold = noQueue(a.To)
		}
		w.mu.Unlock()
		doc := document(a, was)
		if err := w.store.Commit(ctx, &store.Batch{Docs: append(docs, doc)}); err != nil && (old != nil || !errors.Is(err, bellman.ErrConflict)) {
			w.log.Warn("an alarm about an event is not kept; retrying", "alarm", a.ID, "when", a.When, "err", err)
			w.again(alarms[i : i+1])
			continue
		}
		if old != nil {
			delete(stored, old.ID)
		} else {
			n[a.When]++
		}
		w.note(a)
		stored[a.ID] = &kept{Alarm: *a, value: doc.Value}
	}
}

// earliest returns the first alarm about the same condition of more than a day before a; nil: there
// is none.
func earliest(stored map[string]*kept, a *Alarm) (first *kept) {
	for _, k := range stored {
		if k.err == nil && k.When == a.When && !k.Raised() && a.Since.Sub(k.Since) > Keep && (first == nil || k.Since.Before(first.Since)) {
			first = k
		}
	}
	return first
}

// again has the next round store alarms about events.
func (w *Watch) again(alarms []Alarm) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.needed = append(w.needed, alarms[:min(len(alarms), max(mostDecided-len(w.needed), 0))]...)
}

// past ends the alarms about events of long ago.
func (w *Watch) past(ctx context.Context, now time.Time, alarms map[string]*kept) error {
	var docs []store.Doc
	for _, k := range alarms {
		if !k.raised() || !Momentary(k.When) || now.Sub(k.Since) < decidedFor {
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
		return fmt.Errorf("end alarms about events: %w", err)
	}
	return nil
}

// noRule is why no task reports a case that no rule covers.
const noRule = "no rule of alarms covers it"

// noRoom is why no task reports an alarm yet.
const noRoom = "the store is full: it is sent when there is room"

func noQueue(name string) string { return "there is no queue " + name }
