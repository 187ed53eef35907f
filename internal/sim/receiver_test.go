package sim

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// A profile is how a receiver behaves.
type profile struct {
	name        string
	least, most time.Duration // to answer
	hangs       int           // percent of requests that are never answered
	loses       int           // percent of answers that get lost after the request was acted on
	absent      int           // percent of requests that do not get there
}

// well is how all receivers behave in the end.
var well = profile{name: "well", least: time.Millisecond, most: 30 * time.Millisecond}

func newProfile(d *dice) profile {
	return pick(d,
		profile{"quick", time.Millisecond, 30 * time.Millisecond, 0, 0, 0},
		profile{"quick", time.Millisecond, 30 * time.Millisecond, 0, 0, 0},
		profile{"steady", 50 * time.Millisecond, 400 * time.Millisecond, 0, 3, 2},
		profile{"slow", 500 * time.Millisecond, 4 * time.Second, 2, 5, 5},
		profile{"late", 3 * time.Second, 7 * time.Second, 10, 5, 0}, // many answers come after the timeout
		profile{"flaky", 5 * time.Millisecond, 800 * time.Millisecond, 20, 20, 20},
	)
}

// A receiver is a server to which tasks are sent. The body of a task says what the receiver does:
// how many requests it refuses before it accepts one, if any.
type receiver struct {
	mu       sync.Mutex
	profile  profile
	gone     time.Time // until when nothing gets there
	troubled bool      // it was not there once
}

func (r *receiver) now() profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.profile
}

func endpoint(i int) string { return fmt.Sprintf("https://m%d.example", i) }

// A script is how a task's requests are answered.
type script struct {
	serial   int // of the task
	receiver int
	refuse   int // so many before one is accepted; negative: all
	giveUp   bool
	mood     mood
	most     time.Duration // that it waits for its first request, where that is not as for others
}

func (s script) body() []byte {
	return fmt.Appendf(nil, "%d %d %d %t %d", s.serial, s.receiver, s.refuse, s.giveUp, s.mood)
}

// read is without fmt.Sscanf, which took a fourteenth of a run's processor time.
func read(body []byte) (s script) {
	rest := string(body)
	number := func() int {
		var text string
		text, rest, _ = strings.Cut(rest, " ")
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(err)
		}
		return n
	}
	s.serial, s.receiver, s.refuse = number(), number(), number()
	s.giveUp = strings.HasPrefix(rest, "t")
	_, rest, _ = strings.Cut(rest, " ")
	s.mood = mood(number())
	return s
}

// handler is what a life's engine attempts tasks with.
func (w *world) handler(l *life) bellman.Handler {
	return guided{bellman.HandlerFunc(func(ctx context.Context, t *bellman.Task, number int) bellman.Verdict {
		return w.attempt(ctx, l, t, number)
	})}
}

func (w *world) attempt(ctx context.Context, l *life, t *bellman.Task, number int) bellman.Verdict {
	begun, clock := time.Now(), l.engine.Load().Now()
	if err := l.thaw(ctx); err != nil { // it stood still before it could send, and then had no time left
		return bellman.Verdict{Error: err.Error()}
	}
	s := read(t.Body)
	r := w.receivers[s.receiver]
	out := &send{life: l, task: t.ID, number: number, version: t.Version, shard: t.Shard, due: t.Due, trigger: t.Trigger, doubt: t.InDoubt(),
		begun: begun, at: time.Now(), clock: clock}
	nth := 0
	w.note(func(g *ledger) { nth = g.sent(out) })
	d := newDice(w.seed, "send", s.serial, nth)
	p := r.now()
	there, service := d.between(100*time.Microsecond, 20*time.Millisecond), d.between(p.least, p.most)
	if nth == 0 && s.mood.has(unsent) {
		v := bellman.Verdict{Unsent: true, Error: "nothing was sent"}
		w.note(func(*ledger) { out.landed, out.verdict = time.Now(), v })
		return v
	}
	lost, hangs, silent := d.percent(p.loses), d.percent(p.hangs), d.percent(p.absent)
	answer := make(chan bellman.Verdict, 1)
	survives := d.percent(50) // a process that dies takes half of what it has just sent with it
	w.spawn(func() {
		time.Sleep(there)
		if silent || r.away() || !l.alive() && !survives {
			answer <- bellman.Verdict{Result: bellman.Unreachable, Error: "no connection"}
			return
		}
		v := bellman.Verdict{Result: bellman.Refused, Status: 500}
		w.note(func(g *ledger) {
			k := g.arrived(out)
			w.words(&v, s, k, clock)
			if k > s.refuse && s.refuse >= 0 {
				v = bellman.Verdict{Next: bellman.Succeed, Status: 200}
				if s.giveUp {
					v = bellman.Verdict{Next: bellman.GiveUp, Status: 410}
				} else {
					g.tasks[t.ID].said = true
				}
				w.words(&v, s, k, clock)
			}
		})
		if hangs {
			return
		}
		time.Sleep(service)
		if lost {
			v = bellman.Verdict{Result: bellman.Unreachable, Error: "the connection broke"}
		}
		answer <- v
	})
	var v bellman.Verdict
	select {
	case v = <-answer:
	case <-ctx.Done():
		time.Sleep(d.between(time.Microsecond, 300*time.Microsecond)) // or those of one deadline would come in any order
	case <-l.dead:
	}
	l.thaw(context.WithoutCancel(ctx))
	bad := newDice(w.seed, "bad handler", s.serial, nth)
	breaks := v.Next == bellman.Again && bad.percent(3)
	if breaks {
		v = bellman.Verdict{}
	}
	w.note(func(*ledger) { out.landed, out.verdict = time.Now(), v })
	switch {
	case breaks && bad.percent(50):
		panic("a mistake in the handler")
	case breaks:
		runtime.Goexit()
	}
	return v
}

// poisoned reports whether a batch records an attempt of a task whose row cannot be written.
func (w *world) poisoned(b *store.Batch) bool {
	return slices.ContainsFunc(b.Changes, func(c store.Change) bool {
		return c.Attempt != nil && c.Of != nil && time.Now().Before(w.poison(c.Of))
	})
}

// poison is until when a task's outcomes cannot be written; zero: they can.
func (w *world) poison(t *bellman.Task) time.Time {
	serial := read(t.Body).serial
	if !w.plan.poisoned || serial%29 != 7 {
		return time.Time{}
	}
	return w.truth.began.Add(min(newDice(w.seed, "poison", serial).between(0, 2*w.plan.length), w.plan.length))
}

func (r *receiver) away() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.gone)
}

// queues are the rules that a life's engine gets.
func (w *world) queues(l *life, others bool) []engine.Queue {
	h := w.handler(l)
	pay := engine.Queue{Name: "pay", Handler: h, Schedule: "0s, 5s, 15s, 30s, 1m", Timeout: 5 * time.Second}
	long := engine.Queue{Name: "long", Handler: h, Schedule: "1s, 2s, 4s*10; max 3m", Timeout: 3 * time.Second, YoungFirst: true}
	if w.plan.days {
		pay.Schedule = "wechat_notify"
	}
	told := engine.Queue{Name: "told", Handler: h, Schedule: "0s, 10s*30", Timeout: 5 * time.Second}
	pay.Ended = w.sequel
	w.plan.limits["pay"].hold(&pay)
	w.plan.limits["long"].hold(&long)
	if !others {
		return []engine.Queue{pay, long, told}
	}
	pay.EndpointConcurrency, pay.Rate = 2, 5
	if w.plan.seed%2 == 0 {
		return []engine.Queue{pay, told} // nobody knows the other one for a while
	}
	long.Concurrency = 3
	return []engine.Queue{pay, long, told}
}
