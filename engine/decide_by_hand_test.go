package engine_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A decision by hand has a reason and an action of its own in the audit record, and adds the tasks
// that notify of it. A rejected decision adds none. The follow-ups belong to the API key that
// created the task.
func TestDecideByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		tell := func(t *bellman.Task, by bellman.By, _ time.Time) []bellman.Task {
			told := bellman.Task{Queue: "notify", Key: "told " + t.Key, Body: []byte(by.Reason), Delay: time.Hour}
			told.SetCreatedBy(by.Who)
			return []bellman.Task{told}
		}
		e, stop := runWith(t, engine.Options{Store: store, Decided: tell, Queues: []engine.Queue{
			{Name: "q", Handler: asking(func(*bellman.Task, int) bellman.Verdict { return bellman.Verdict{} }), Schedule: "1h"},
			{Name: "notify", Handler: &receiver{answer: accept}},
		}})
		defer stop()
		created := &bellman.Task{Queue: "q", Key: "1"}
		created.SetCreatedBy("order-service")
		id := add(t, e, created)
		for _, tt := range []struct{ outcome, reason, field string }{{"PAID", "", "reason"}, {"PAID", " \t", "reason"}, {"?", "seen at the bank", "outcome"}} {
			_, err := e.Decide(t.Context(), id, bellman.Completion{Outcome: tt.outcome}, bellman.By{Who: "finance", Reason: tt.reason})
			if invalid, is := errors.AsType[*bellman.Invalid](err); !is || invalid.Fields[0].Field != tt.field {
				t.Errorf("Decide as %s because %q: %v; want an error of the field %s", tt.outcome, tt.reason, err, tt.field)
			}
		}
		if _, err := lookup(t, store, "notify", "told 1"); !errors.Is(err, bellman.ErrNotFound) {
			t.Errorf("Lookup of the notification after rejected decisions: %v; want none", err)
		}
		if _, err := e.Decide(t.Context(), id, bellman.Completion{Outcome: "PAID"}, bellman.By{Who: "finance", Reason: "seen at the bank"}); err != nil {
			t.Fatal(err)
		}
		if task := get(t, store, id); task.State != bellman.Succeeded || task.Reason != "paid" {
			t.Errorf("%v, %q; want succeeded, paid", task.State, task.Reason)
		}
		for key, want := range map[string]string{"told 1": "finance", "1/paid": "order-service"} {
			if found, err := lookup(t, store, "notify", key); err != nil || get(t, store, found).CreatedBy() != want {
				t.Errorf("follow-up %q: %v; want one of the key %s", key, err, want)
			}
		}
		if found, _ := lookup(t, store, "notify", "told 1"); string(get(t, store, found).Body) != "seen at the bank: PAID" {
			t.Errorf("the notification of the decision is %q; want its reason and outcome", get(t, store, found).Body)
		}
		audits, err := store.Audits(t.Context(), time.Time{}, 10)
		if err != nil || len(audits) != 1 || audits[0].Action != "decide" || audits[0].Reason != "seen at the bank: PAID" || audits[0].Who != "finance" {
			t.Errorf("audits %+v, %v; want one decision, with its reason and outcome", audits, err)
		}
	})
}

// A decision that changes nothing, because its outcome is known, is answered as done and notifies
// nobody.
func TestDecideAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		told := 0
		tell := func(*bellman.Task, bellman.By, time.Time) []bellman.Task {
			told++
			return nil
		}
		queue := asking(func(*bellman.Task, int) bellman.Verdict { return bellman.Verdict{} })
		queue.complete = func(t *bellman.Task, outcome string) (bellman.Verdict, error) {
			if string(t.Data) == outcome {
				return bellman.Verdict{}, nil
			}
			return bellman.Verdict{Data: []byte(outcome)}, nil
		}
		e, stop := runWith(t, engine.Options{Store: store, Decided: tell, Queues: []engine.Queue{{Name: "q", Handler: queue, Schedule: "1h"}}})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q", Key: "1"})
		for i, tt := range []struct {
			outcome string
			told    int
		}{{"PAID", 1}, {"PAID", 1}, {"CLOSED", 2}} {
			task, err := e.Decide(t.Context(), id, bellman.Completion{Outcome: tt.outcome}, bellman.By{Who: "finance", Reason: "seen at the bank"})
			if err != nil || string(task.Data) != tt.outcome || told != tt.told {
				t.Errorf("decision %d: %v, %v, told %d times; want %d", i, task, err, told, tt.told)
			}
		}
		if audits, err := store.Audits(t.Context(), time.Time{}, 10); err != nil || len(audits) != 3 {
			t.Errorf("%d audit records, %v; want one of each call", len(audits), err)
		}
	})
}

// A panic of the handler's Complete, or of Options.Decided, is the error of the call, and changes
// nothing.
func TestPanicsOfDecisions(t *testing.T) {
	for _, completes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			queue := asking(func(*bellman.Task, int) bellman.Verdict { return bellman.Verdict{} })
			if !completes {
				queue.complete = func(*bellman.Task, string) (bellman.Verdict, error) { panic("boom") }
			}
			tell := func(*bellman.Task, bellman.By, time.Time) []bellman.Task { panic("boom") }
			e, stop := runWith(t, engine.Options{Store: store, Decided: tell, Queues: []engine.Queue{
				{Name: "q", Handler: queue, Schedule: "1h"}, {Name: "notify", Handler: &receiver{answer: accept}},
			}})
			defer stop()
			id := add(t, e, &bellman.Task{Queue: "q", Key: "1"})
			_, err := e.Decide(t.Context(), id, bellman.Completion{Outcome: "PAID"}, bellman.By{Who: "finance", Reason: "seen at the bank"})
			if err == nil || !strings.Contains(err.Error(), "panicked: boom") {
				t.Errorf("Decide: %v; want the panic", err)
			}
			if task := get(t, store, id); task.State != bellman.Pending {
				t.Errorf("the task is %v; want pending", task.State)
			}
		})
	}
}
