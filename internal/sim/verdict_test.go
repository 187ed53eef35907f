package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// A mood is what the answers to a task's requests contain besides acceptance and refusal.
type mood int

const (
	withData   mood = 1 << iota // each has data
	withDue                     // the first has a due time
	withFollow                  // the first, and the one that accepts, have a follow-up task
	withRetry                   // the refusals have Retry-After
	unsent                      // the first attempt sends nothing
)

func (m mood) has(what mood) bool { return m&what != 0 }

func newMood(d *dice) (m mood) {
	for _, one := range []mood{withData, withDue, withFollow, withRetry, unsent} {
		if d.percent(12) {
			m |= one
		}
	}
	return m
}

// words adds to the verdict on a task's k-th request what its mood says.
func (w *world) words(v *bellman.Verdict, s script, k int, clock time.Time) {
	if s.mood.has(withData) {
		v.Data = fmt.Appendf(nil, "%d", k)
	}
	if s.mood.has(withDue) && k == 1 {
		v.Due = clock.Add(newDice(w.seed, "due", s.serial).between(time.Second, 40*time.Second))
	}
	if s.mood.has(withRetry) {
		v.RetryAfter = 7 * time.Second
	}
	if v.Follow = nil; s.mood.has(withFollow) && s.serial < floods && (k == 1 || v.Next == bellman.Succeed) {
		next := script{serial: follows + 10*s.serial + min(k, 9), receiver: s.receiver}
		v.Follow = []bellman.Task{{
			Queue: "pay", Key: fmt.Sprint("k", next.serial), Body: next.body(), Endpoint: endpoint(next.receiver), Delay: time.Second,
		}}
	}
}

// Serial numbers of follow-up tasks.
const (
	follows = 10_000_000
	sequels = 100_000_000
)

// sequel is Queue.Ended of the queue pay.
func (w *world) sequel(t *bellman.Task) []bellman.Task {
	s := read(t.Body)
	s = script{serial: sequels + s.serial, receiver: s.receiver}
	return []bellman.Task{{Queue: "told", Key: sequelKey(t), Body: s.body(), Endpoint: endpoint(s.receiver)}}
}

func sequelKey(t *bellman.Task) string { return fmt.Sprintf("%v of %v", t.State, t.ID) }

// heeded checks that a verdict is applied, unless a person changed the task meanwhile.
func (g *ledger) heeded(c *store.Change, a *account, was *bellman.Status, s *send) {
	if s == nil || was.Version != s.version || was.Before != nil || c.Attempt.Result == bellman.Unknown {
		return
	}
	v, to := &s.verdict, &c.To
	if v.Data != nil && !bytes.Equal(v.Data, to.Data) {
		g.wrong(c.ID, "attempt %d was answered with data %q, and it has %q", s.number, v.Data, to.Data)
	}
	want := len(v.Follow)
	if to.State.Ended() && a.task.Queue == "pay" {
		want++
	}
	if len(c.Follow) != want {
		g.wrong(c.ID, "attempt %d brings about %d tasks, and %d were asked for", s.number, len(c.Follow), want)
	}
	if !v.Due.IsZero() && v.Next == bellman.Again {
		due := v.Due
		if end := c.Attempt.Started.Add(c.Attempt.Took); due.Before(end) {
			due = end
		}
		if off := to.Due.Sub(due); to.State.Ended() || off < 0 || off > time.Millisecond {
			g.wrong(c.ID, "attempt %d was answered with due %s, and it is %s", s.number, g.since(v.Due), g.since(to.Due))
		}
	}
}

// steps are how many attempts the schedules of queues have, and ages what their max is.
var (
	steps = map[string]int{"pay": 5, "long": 12, "told": 31}
	ages  = map[string]time.Duration{"long": 3 * time.Minute}
)

// timed holds that the next attempt is due when the schedule says, or later where the answer
// asked to wait: by a gap of the schedule at most, and until the age of the task at most. And that a
// task goes on until its age is reached, and not beyond.
func (g *ledger) timed(c *store.Change, a *account, was *bellman.Status, s *send) {
	if s == nil || was.Version != s.version || was.Before != nil || c.Attempt.Result == bellman.Unknown || s.life.world.plan.days {
		return
	}
	v, to, t := &s.verdict, &c.To, &a.task
	next := int(was.Step) + 1
	if v.Next != bellman.Again || v.Unsent || !v.Due.IsZero() || next >= steps[t.Queue] {
		return
	}
	over := func(due time.Time, age time.Duration) bool { return age > 0 && due.Sub(was.Began) > age }
	ended := c.Attempt.Started.Add(c.Attempt.Took)
	due := c.Attempt.Started.Add(gapAt(t, next))
	if over(due, ages[t.Queue]) {
		if to.Reason != "max_age" {
			g.wrong(c.ID, "attempt %d leaves it %v, due %s, and its schedule is over", s.number, to.State, g.since(to.Due))
		}
		return
	}
	if due.Before(ended) {
		due = ended
	}
	if v.RetryAfter > 0 && next+1 < steps[t.Queue] {
		wait, last := ended.Add(v.RetryAfter), due.Add(gapAt(t, next+1))
		if over(last, ages[t.Queue]) {
			wait = due
		}
		if end := was.Began.Add(t.MaxAge.Truncate(time.Millisecond)); t.MaxAge > 0 && last.After(end) {
			last = end
		}
		if wait.After(last) {
			wait = last
		}
		if wait.After(due) {
			due = wait
			g.count.Asked++
		}
	}
	if to.Reason == "max_age" {
		g.count.Aged++
		if !over(due.Add(time.Millisecond), t.MaxAge) {
			g.wrong(c.ID, "ended for its age after attempt %d, began %s, and would be due %s", s.number, g.since(was.Began), g.since(due))
		}
		return
	}
	if off := to.Due.Sub(due); to.State.Ended() || off < 0 || off > 2*time.Millisecond || over(to.Due, t.MaxAge) {
		g.wrong(c.ID, "attempt %d asks to wait %v, and leaves it %v, due %s for %s; began %s, may last %v",
			s.number, v.RetryAfter, to.State, g.since(to.Due), g.since(due), g.since(was.Began), t.MaxAge)
	}
}

// A guided handler knows where a merchant's tasks go.
type guided struct{ bellman.HandlerFunc }

func (guided) Route(_ context.Context, t *bellman.Task) (g bellman.Route, _ error) {
	if bellman.ToMerchant(t.Endpoint) {
		g.Endpoint = endpoint(read(t.Body).receiver)
	}
	return g, nil
}

func merchantNo(receiver int) string { return fmt.Sprint("M", receiver) }

// beside adds tasks together with a document that must be unchanged.
func (w *world) beside(ctx context.Context, e *engine.Engine, tasks []*bellman.Task, answers *[]bellman.Added) error {
	const kind, name = "sim", "serial"
	was, err := store.ReadDoc(ctx, w.truth.at(), kind, name)
	if err != nil && !errors.Is(err, bellman.ErrNotFound) {
		return err
	}
	next := store.Doc{Kind: kind, Name: name, Was: append([]byte{}, was.Value...), Value: fmt.Appendf(nil, "%d", len(was.Value)+len(tasks))}
	next.Value = append(next.Value, was.Value[:min(len(was.Value), 20)]...)
	if err := e.AddWith(ctx, []store.Doc{next}, tasks...); err != nil {
		return err
	}
	for _, t := range tasks {
		var added bellman.Added
		w.note(func(g *ledger) {
			if t.Key == "" {
				return
			}
			key := t.Queue + "/" + t.Key
			if added.ID = g.keys[key]; !g.known[key] {
				g.wrong(bellman.ID{}, "a task with key %s was accepted with a document, and is not in the store", key)
			}
		})
		*answers = append(*answers, added)
	}
	return nil
}

// prune deletes ended tasks, and checks that none was deleted too early.
func (t *truth) prune(l *life, state bellman.State, before time.Time, limit int) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed(l) {
		return 0, errDead
	}
	n, err := t.Store.Prune(context.Background(), state, before, limit)
	if n == 0 {
		return n, err
	}
	t.mirrored(func(r *replica) { r.store.Prune(context.Background(), state, before, limit) })
	r := l.world.plan.retention
	keep := map[bellman.State]time.Duration{bellman.Succeeded: r.Succeeded, bellman.Failed: r.Failed, bellman.Cancelled: r.Cancelled}
	for id, a := range t.tasks {
		if a.pruned {
			continue
		}
		if _, err := t.Store.Task(context.Background(), id); !errors.Is(err, bellman.ErrNotFound) {
			continue
		}
		a.pruned = true
		t.count.Pruned++
		if key := a.task.Queue + "/" + a.task.Key; a.task.Key != "" && t.keys[key] == id {
			delete(t.keys, key)
		}
		if st := &a.task.Status; !st.State.Ended() || l.clock().Sub(st.Finished) < keep[st.State] {
			t.wrong(id, "was deleted by %s, and is %v since %s", l, st.State, t.since(st.Finished))
		}
	}
	return n, err
}
