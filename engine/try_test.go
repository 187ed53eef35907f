package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// Try returns what Add would return, and adds nothing.
func TestTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: &receiver{answer: accept}, Schedule: "1h"})
		defer stop()
		there := add(t, e, &bellman.Task{Queue: "q", Key: "there", URL: "http://m/1", Origin: &bellman.Origin{Alias: "there"}})
		asked := func() []*bellman.Task {
			return []*bellman.Task{
				{Queue: "q", Key: "new", URL: "http://m/1"},
				{Queue: "q", URL: "http://m/1"},
				{Queue: "q", Key: "there", URL: "http://m/1"},
				{Queue: "q", Key: "there", URL: "http://m/2"},
				{Queue: "q", Key: "new", URL: "http://m/1"},
				{Queue: "q", Key: "new", URL: "http://m/2"},
				{Queue: "q", Key: "c", Origin: &bellman.Origin{Alias: "there"}},
				{Queue: "q", Key: "c", Origin: &bellman.Origin{Alias: "new"}},
				{Queue: "q", Origin: &bellman.Origin{Alias: "new"}},
				{Queue: "q", Key: "c", Origin: &bellman.Origin{Alias: "there"}},
				{Queue: "q", Key: "there", URL: "http://m/1", Origin: &bellman.Origin{Alias: "new"}},
				{Queue: "nosuch", Key: "a"},
				{Queue: "q", Key: "a", Schedule: "nope"},
				{Queue: "q", Key: "b", Schedule: "0s", Origin: &bellman.Origin{Resume: &bellman.Resume{Attempts: 1, Last: time.Now()}}},
			}
		}
		told := func(added []bellman.Added) (out []string) {
			for _, a := range added {
				text := fmt.Sprintf("existing %t, there %t", a.Existing, a.ID == there)
				if a.Err != nil {
					text += ": " + a.Err.Error()
				}
				out = append(out, text)
			}
			return out
		}
		tasks := asked()
		tried := told(e.Try(t.Context(), tasks...))
		if got := tasks[0]; !got.ID.IsZero() || got.Schedule != "1h" || !got.Due.Equal(time.Now().Add(time.Hour)) {
			t.Errorf("Try returned the task %+v; want it filled in, without an id", got)
		}
		if _, err := lookup(t, store, "q", "new"); !errors.Is(err, bellman.ErrNotFound) {
			t.Errorf("Lookup after Try: %v; want no task", err)
		}
		added := told(e.Add(t.Context(), asked()...))
		if fmt.Sprint(tried) != fmt.Sprint(added) {
			t.Errorf("Try returned\n%q\nand Add\n%q; want the same", tried, added)
		}
	})
}
