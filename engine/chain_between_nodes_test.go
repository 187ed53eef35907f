package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A hasty store ends a task just after another task was told to wait for it.
type hasty struct {
	store.Store
	then func(before bellman.ID)
}

func (h *hasty) Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (store.Chain, error) {
	chain, err := h.Store.Chain(ctx, queue, orderingKey, id, limit)
	if before := chain.Before(id); !id.IsZero() && !before.IsZero() {
		h.then(before)
	}
	return chain, err
}

// A task must not be forgotten if the task before it ends while it is being deferred.
func TestPreviousTaskEndsDuringDeferral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hasty{Store: memory.New()}
		d := &diary{answer: accept, start: time.Now()}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: d})
		defer stop()
		store.then = func(before bellman.ID) {
			if _, err := e.Cancel(t.Context(), before, bellman.By{}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // the second task does not wait for it yet
		}
		late := one("late")
		late.Delay = time.Hour
		add(t, e, late)
		add(t, e, one("b"))
		time.Sleep(5 * time.Second)
		d.want(t, "b 1s")
	})
}

// When a task ends, the next task of its ordering key is attempted, also if another node owns it.
func TestTurnPassesBetweenNodes(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, d := newCrew(t), &diary{answer: accept}
			c.deaf = deaf
			q := engine.Queue{Name: "q", Handler: d}
			a, b := c.start("a", q), c.start("b", q)
			defer a.stop()
			defer b.stop()
			time.Sleep(20 * time.Second)
			d.start = time.Now()
			for i := range 20 { // about half of them for each node
				key := fmt.Sprint("k", i)
				first := add(t, a.Engine, &bellman.Task{Queue: "q", OrderingKey: key, Delay: time.Hour})
				second := add(t, b.Engine, &bellman.Task{Queue: "q", OrderingKey: key})
				if one, two := get(t, c.store, first), get(t, c.store, second); one.Shard != two.Shard {
					t.Fatalf("tasks of one key are of shards %d and %d", one.Shard, two.Shard)
				}
				time.Sleep(3 * time.Second)
				if _, err := []*member{a, b}[i%2].Cancel(t.Context(), first, bellman.By{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(1500 * time.Millisecond)
				if task := get(t, c.store, second); task.State != bellman.Succeeded {
					t.Errorf("deaf %t: 1.5s after the task before it ended, a task is %v and visible in %v; want it succeeded", deaf, task.State, time.Until(task.VisibleAt))
				}
			}
		})
	}
}

// A shard moves while its last owner still has an attempt in flight. A resent task of the same
// ordering key is not attempted beside it, whatever else is resent in between.
func TestResendBesideAnotherNodesAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu     sync.Mutex
			flying = make(map[string]string) // by ordering key
			waited int
		)
		handler := func(node string) bellman.Handler {
			return bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, number int) bellman.Verdict {
				mu.Lock()
				if other := flying[task.OrderingKey]; other != "" {
					t.Errorf("%s attempts %s of key %s while %s is in flight", node, task.Key, task.OrderingKey, other)
				}
				flying[task.OrderingKey] = task.Key + " by " + node
				if node == "b" && number > 1 {
					waited++
				}
				mu.Unlock()
				if strings.HasPrefix(task.Key, "long") {
					time.Sleep(time.Minute)
				}
				mu.Lock()
				delete(flying, task.OrderingKey)
				mu.Unlock()
				return bellman.Verdict{Next: bellman.Succeed}
			})
		}
		c := newCrew(t)
		a := c.start("a", engine.Queue{Name: "q", Handler: handler("a"), Timeout: 2 * time.Minute})
		defer a.stop()
		var over [][2]bellman.ID
		for i := range 20 {
			task := func(name string) *bellman.Task {
				return &bellman.Task{Queue: "q", Key: fmt.Sprint(name, i), OrderingKey: fmt.Sprint("k", i)}
			}
			over = append(over, [2]bellman.ID{add(t, a.Engine, task("one")), add(t, a.Engine, task("two"))})
			add(t, a.Engine, task("long"))
		}
		time.Sleep(time.Second)
		b := c.start("b", engine.Queue{Name: "q", Handler: handler("b"), Timeout: 2 * time.Minute})
		defer b.stop()
		time.Sleep(20 * time.Second) // until the new node owns its shards
		for _, ids := range over {
			for _, id := range []bellman.ID{ids[1], ids[0]} { // the second waits for the long attempt; the resend of the first looks for tasks that wait behind it
				if _, err := b.Resend(t.Context(), id, engine.ResendOnce, bellman.By{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		time.Sleep(5 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if waited == 0 {
			t.Errorf("the new owner resent nothing, so the test shows nothing")
		}
	})
}

// A coy store does not answer the first reads of one task.
type coy struct {
	store.Store
	of   bellman.ID
	left atomic.Int64
}

func (s *coy) Task(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	if id == s.of && s.left.Add(-1) >= 0 {
		return nil, bellman.ErrUnreachable
	}
	return s.Store.Task(ctx, id)
}

// The former owner of a shard may still be attempting a task, when an earlier task of its chain is
// resent. The resend waits for that attempt, also if the store does not say at once how the later
// task stands.
func TestResendWaitsForTheFormerOwner(t *testing.T) {
	for _, failures := range []int64{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now().UTC()
			s := &coy{Store: memory.New()}
			task := func(key string, st bellman.Status) *bellman.Task {
				st.Version, st.Began, st.Updated = 1, now, now
				return &bellman.Task{ID: bellman.NewID(), Queue: "q", Key: key, OrderingKey: "k", Schedule: "0s", Timeout: time.Second, Kind: bellman.KindNotify, Status: st}
			}
			first := task("first", bellman.Status{State: bellman.Succeeded, Reason: "accepted", Attempts: 1, Finished: now})
			second := task("second", bellman.Status{Phase: bellman.HandedOver, Due: now, VisibleAt: now.Add(time.Minute)})
			if err := s.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: first}, {Task: second}}}); err != nil {
				t.Fatal(err)
			}
			var made []string
			e, stop := run(t, s, engine.Queue{Name: "q", Concurrency: 1, Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
				made = append(made, fmt.Sprint(t.Key, time.Since(now) >= time.Minute))
				return bellman.Verdict{Next: bellman.Succeed}
			})})
			defer stop()
			s.of = second.ID
			s.left.Store(failures)
			if _, err := e.Resend(t.Context(), first.ID, engine.ResendOnce, by); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if want := "[firsttrue secondtrue]"; fmt.Sprint(made) != want {
				t.Errorf("after %d failed reads: attempts %v; want %s: in order, after the minute of the former owner", failures, made, want)
			}
		})
	}
}
