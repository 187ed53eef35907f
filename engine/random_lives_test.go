package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// Many tasks of many endpoints, some slow and some failing, with random actions by hand and
// restarts in between. No attempt is early, no two attempts of a task overlap, none is missing from
// the log, and every task ends. Each step of a task's life, which is kept in its data, is taken
// once with its one follow-up.
func TestLives(t *testing.T) {
	for range max(20/fewer, 5) {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { lives(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

// A life keeps its steps in the task's data.
type life struct {
	attempt  func(task *bellman.Task, number int) bellman.Verdict
	complete func(task *bellman.Task, outcome string) (bellman.Verdict, error)
}

func (l life) Attempt(_ context.Context, task *bellman.Task, number int) bellman.Verdict {
	return l.attempt(task, number)
}

func (l life) Complete(task *bellman.Task, c bellman.Completion, _ time.Time) (bellman.Verdict, error) {
	return l.complete(task, c.Outcome)
}

func lives(t *testing.T, random *rand.Rand) {
	type sighting struct {
		number     int
		began, due time.Time
	}
	var mu sync.Mutex
	flying := make(map[bellman.ID]bool)
	seen := make(map[bellman.ID][]sighting)
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	// step takes the next step of a task's life.
	step := func(task *bellman.Task, next bellman.Next) bellman.Verdict {
		n := string(task.Data) + "x"
		return bellman.Verdict{Next: next, Data: []byte(n), Follow: []bellman.Task{{Queue: "follow", Key: fmt.Sprint(task.ID, "/", len(n))}}}
	}
	store := memory.New()
	follow := engine.Queue{Name: "follow", Handler: &receiver{answer: accept}}
	q := engine.Queue{Name: "q", Schedule: "0s, 2s*3, 30s*2", Timeout: time.Minute, Handler: life{
		complete: func(task *bellman.Task, _ string) (bellman.Verdict, error) {
			return step(task, []bellman.Next{bellman.Again, bellman.Again, bellman.Succeed}[draw(3)]), nil
		},
		attempt: func(task *bellman.Task, number int) bellman.Verdict {
			mu.Lock()
			if flying[task.ID] {
				t.Errorf("task %s: attempt %d overlaps another", task.ID, number)
			}
			flying[task.ID] = true
			seen[task.ID] = append(seen[task.ID], sighting{number, time.Now(), task.Due})
			mu.Unlock()
			switch draw(4) {
			case 0:
				time.Sleep(time.Duration(draw(3000)) * time.Millisecond)
			case 1:
				time.Sleep(time.Duration(draw(30)) * time.Millisecond)
			}
			mu.Lock()
			flying[task.ID] = false
			mu.Unlock()
			v := step(task, []bellman.Next{bellman.Again, bellman.Again, bellman.Succeed, bellman.GiveUp}[draw(4)])
			if draw(8) == 0 {
				v.Due = time.Now().Add(time.Duration(draw(4000)) * time.Millisecond)
			}
			return v
		}}}
	e, stop := run(t, store, q, follow)
	var ids []bellman.ID
	for range 400 {
		switch n := draw(20); {
		case n == 0:
			stop()
			time.Sleep(time.Duration(draw(5000)) * time.Millisecond)
			e, stop = run(t, store, q, follow)
		case n < 10 || len(ids) == 0:
			ids = append(ids, add(t, e, &bellman.Task{Queue: "q", Endpoint: fmt.Sprint(draw(5)), Delay: time.Duration(draw(5000)) * time.Millisecond}))
		default:
			id := ids[draw(len(ids))]
			var err error
			switch draw(7) {
			case 0:
				_, err = e.Cancel(t.Context(), id, by)
			case 1:
				_, err = e.Complete(t.Context(), id, bellman.Completion{}, by)
			case 2:
				_, err = e.Resend(t.Context(), id, engine.ResendOnce, by)
			case 3:
				_, err = e.Resend(t.Context(), id, engine.ResendRestart, by)
			case 4, 5:
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(draw(100))*time.Millisecond)
				_, err = e.Settle(ctx, by, id, ids[draw(len(ids))])
				cancel()
			case 6:
				_, err = e.Reschedule(t.Context(), id, time.Now().Add(time.Duration(draw(4000))*time.Millisecond), by)
			}
			if err != nil && !errors.Is(err, bellman.ErrConflict) && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		time.Sleep(time.Duration(draw(200)) * time.Millisecond)
	}
	time.Sleep(15 * time.Minute) // schedules take a minute and a half
	stop()
	for _, id := range ids {
		task, log := get(t, store, id), attempts(t, store, id)
		if !task.State.Ended() {
			t.Errorf("task %s is %v a quarter of an hour after the last change; want it ended", id, task.State)
		}
		if len(log) != int(task.Attempts) || len(seen[id]) != len(log) {
			t.Errorf("task %s was attempted %d times; its log has %d attempts, and its counter says %d; want equal numbers", id, len(seen[id]), len(log), task.Attempts)
			continue
		}
		for i := range len(task.Data) + 2 {
			_, err := lookup(t, store, "follow", fmt.Sprint(id, "/", i))
			if want := i > 0 && i <= len(task.Data); (err == nil) != want {
				t.Errorf("task %s took %d steps; follow-up %d: %v; want it to exist: %t", id, len(task.Data), i, err, want)
			}
		}
		for i, a := range log {
			if s := seen[id][i]; a.Number != i+1 || !a.Started.Equal(s.began.Truncate(time.Millisecond)) {
				t.Errorf("task %s: attempt %d of the log is %+v; it was seen at %v", id, i+1, a, s.began)
			}
		}
		if early := slices.IndexFunc(seen[id], func(s sighting) bool { return s.began.Before(s.due) }); early >= 0 {
			t.Errorf("task %s: attempt %+v began before its due time", id, seen[id][early])
		}
	}
}
