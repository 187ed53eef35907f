package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// callers hand tasks in as long as there is trouble.
func (w *world) callers() {
	d := newDice(w.seed, "callers")
	pace := d.between(500*time.Millisecond, 6*time.Second)
	if w.plan.days {
		pace = d.between(10*time.Minute, 20*time.Minute)
	}
	end := w.truth.began.Add(w.plan.length)
	for i := 0; time.Now().Before(end); i++ {
		time.Sleep(d.between(0, 2*pace))
		var scripts []script
		for range 1 + d.n(4) {
			if w.serials > 3 && d.percent(12) {
				scripts = append(scripts, w.script(d.n(w.serials))) // the same again
				continue
			}
			scripts = append(scripts, w.script(w.serials))
			w.serials++
		}
		if d.percent(8) && !w.plan.sole {
			long := newDice(w.seed, "long transaction", i)
			w.spawn(func() {
				w.writer(scripts, pick(long, 0, 0, long.between(0, 2*time.Second), long.between(0, 90*time.Second)))
			})
		} else {
			w.spawn(func() { w.caller(i, scripts) })
		}
	}
}

// script is what the task of a serial number is: the same whenever it is asked.
func (w *world) script(serial int) script {
	d := newDice(w.seed, "script", serial)
	return script{
		serial:   serial,
		receiver: d.n(len(w.receivers)),
		refuse:   pick(d, 0, 0, 0, 0, 1, 1, 2, 3, -1),
		giveUp:   d.percent(5),
		mood:     newMood(d),
	}
}

// task is a new task by a script.
func (w *world) task(s script) *bellman.Task {
	d := newDice(w.seed, "task", s.serial)
	if s.most > 0 || s.serial >= floods {
		t := &bellman.Task{
			Queue:    pick(d, "pay", "pay", "long"),
			Key:      fmt.Sprint("k", s.serial),
			Body:     s.body(),
			Endpoint: endpoint(s.receiver),
			Delay:    d.between(0, s.most),
		}
		if w.mu.Lock(); s.serial < calms && !w.moment.IsZero() {
			t.Delay, t.StartAt = 0, w.moment
		}
		w.mu.Unlock()
		if s.serial >= calms && d.percent(30) {
			t.OrderingKey, t.Supersedes = fmt.Sprint("calm", d.n(3)), d.percent(10)
		}
		return t
	}
	t := &bellman.Task{
		Queue:    pick(d, "pay", "pay", "long"),
		Body:     s.body(),
		Endpoint: endpoint(s.receiver),
		Delay:    pick(d, 0, 0, 0, d.between(0, 10*time.Second), d.between(0, 2*time.Minute)),
	}
	if d.percent(85) {
		t.Key = fmt.Sprint("k", s.serial)
	}
	if d.percent(w.plan.merchants) {
		if t.MerchantNo = merchantNo(s.receiver); d.percent(50) {
			t.Endpoint = bellman.MerchantEndpoint(t.MerchantNo)
		}
	}
	if d.percent(10) {
		t.MaxAge = d.between(20*time.Second, 2*time.Minute)
	}
	if d.percent(w.plan.keyed) {
		t.OrderingKey, t.Supersedes = fmt.Sprint("o", d.n(8)), d.percent(15)
	}
	return t
}

// caller adds tasks through one node after the other, until each is accepted or its patience is
// over.
func (w *world) caller(i int, scripts []script) {
	d := newDice(w.seed, "caller", i)
	for try := 0; try < 8 && len(scripts) > 0; try++ {
		if try > 0 {
			time.Sleep(d.between(100*time.Millisecond, 3*time.Second))
		}
		tasks := make([]*bellman.Task, len(scripts))
		for i, s := range scripts {
			tasks[i] = w.task(s)
		}
		var answers []bellman.Added
		l, err := w.reach(d, 5*time.Second, func(ctx context.Context, e *engine.Engine) error {
			if d.percent(10) && i < floods {
				return w.beside(ctx, e, tasks, &answers)
			}
			answers = e.Add(ctx, tasks...)
			return nil
		})
		var left []script
		for i, s := range scripts {
			switch {
			case err != nil:
			case answers[i].Err == nil:
				w.note(func(g *ledger) { g.accepted(l, tasks[i].Queue, tasks[i].Key, answers[i]) })
				continue
			default:
				var invalid *bellman.Invalid
				if errors.Is(answers[i].Err, bellman.ErrKeyTaken) {
					w.note(func(g *ledger) { g.wrong(answers[i].ID, "%s says of the same task again: %v", l, answers[i].Err) })
				} else if errors.As(answers[i].Err, &invalid) && tasks[i].Queue != "long" { // which may be unknown for a while
					w.note(func(g *ledger) { g.wrong(bellman.ID{}, "%s refuses a good task: %v", l, invalid) })
				}
			}
			if tasks[i].Key != "" { // without one nobody would ask again
				left = append(left, s)
			}
		}
		scripts = left
	}
}

// accepted holds a node to its answer.
func (g *ledger) accepted(l *life, queue, key string, answer bellman.Added) {
	if answer.ID.IsZero() { // of what has no key nobody says which it is
		return
	}
	a := g.tasks[answer.ID]
	if a == nil {
		g.wrong(answer.ID, "%s accepted it (%s), and it is not in the store", l, key)
		return
	}
	if key != "" && !a.pruned && g.keys[queue+"/"+key] != answer.ID {
		g.wrong(answer.ID, "%s says that it has key %s, which task %v has", l, key, g.keys[queue+"/"+key])
	}
	a.accepted = true
	g.tell(answer.ID, "%s accepted it, existing %t", l, answer.Existing)
	g.stamp(6, int64(g.count.Adds))
}

// writer adds tasks in a transaction of its own, which no engine knows of. after is how long it
// lasts.
func (w *world) writer(scripts []script, after time.Duration) {
	tasks := make([]*bellman.Task, len(scripts))
	for i, s := range scripts {
		tasks[i] = w.task(s)
	}
	b := &store.Batch{Adds: w.rules.Prepare(tasks...)}
	for _, a := range b.Adds {
		a.Task.Shard %= 64 // as the stores' AddTx does
		if a.Err != nil {
			w.note(func(g *ledger) { g.wrong(bellman.ID{}, "a good task cannot be prepared: %v", a.Err) })
			return
		}
	}
	time.Sleep(after)
	if err := w.truth.commit(nil, b); err != nil {
		w.note(func(g *ledger) { g.wrong(bellman.ID{}, "the store refuses another writer: %v", err) })
		return
	}
	for i, a := range b.Adds {
		answer := bellman.Added{ID: a.Task.ID, Err: a.Err}
		if !a.Existing.IsZero() {
			answer.ID, answer.Existing = a.Existing, true
		}
		w.note(func(g *ledger) { g.accepted(nil, tasks[i].Queue, tasks[i].Key, answer) })
	}
}

// flood adds so many tasks for one receiver at once that one page cannot read them, and their line
// has no room for all.
func (w *world) flood(i incident) {
	d := newDice(w.seed, "flood")
	w.note(func(g *ledger) { g.flooded = true })
	few, most := 1100, 1500
	if w.plan.sizes.Line > 0 {
		few, most = 300, 400
	}
	if w.plan.limited() { // it takes long, and then one by one
		few, most = 100, 100
	}
	scripts := make([]script, few+d.n(most))
	for n := range scripts {
		scripts[n] = script{serial: floods + n, receiver: i.who, refuse: pick(d, 0, 0, 0, 1), most: i.length}
		if w.plan.limited() {
			scripts[n].receiver = n % len(w.receivers) // or one of them is the bottleneck
		}
	}
	if w.plan.moment {
		w.mu.Lock()
		w.moment = time.Now().Add(d.between(10*time.Second, time.Minute)).Truncate(time.Millisecond)
		w.mu.Unlock()
		w.spawn(w.crowding)
	}
	if w.plan.sole {
		w.spawn(func() { w.caller(floods, scripts) })
		return
	}
	w.writer(scripts, 0)
}

// crowding moves other tasks to the moment when those of the flood are due.
func (w *world) crowding() {
	d := newDice(w.seed, "crowding")
	for i := 0; time.Until(w.moment) > 2*time.Second; i++ {
		time.Sleep(d.between(0, time.Second))
		w.change(newDice(w.seed, "crowd", i), func(*account) bool { return true }, func(ctx context.Context, e *engine.Engine, id bellman.ID) error {
			_, err := e.Reschedule(ctx, id, w.moment, bellman.By{Who: "somebody"})
			return err
		})
	}
}

// meddlers change again and again what waits for the end of a pause.
func (w *world) meddlers() {
	d := newDice(w.seed, "meddlers")
	end := w.truth.began.Add(w.plan.length)
	for i := 0; time.Now().Before(end); i++ {
		time.Sleep(d.between(0, time.Second))
		d := newDice(w.seed, "meddler", i)
		waits := func(a *account) bool {
			t := &a.task
			return w.truth.stops["queue/"+t.Queue] != nil || w.truth.stops["endpoint/"+endpoint(read(t.Body).receiver)] != nil
		}
		cancel, wait := d.percent(30), d.between(0, 20*time.Second)
		w.change(d, waits, func(ctx context.Context, e *engine.Engine, id bellman.ID) (err error) {
			if by := (bellman.By{Who: "somebody"}); cancel {
				_, err = e.Cancel(ctx, id, by)
			} else {
				_, err = e.Reschedule(ctx, id, time.Now().Add(wait), by)
			}
			return err
		})
	}
}

// change has somebody change one of the pending tasks that are not of a flood.
func (w *world) change(d *dice, which func(*account) bool, f func(context.Context, *engine.Engine, bellman.ID) error) {
	var ids []bellman.ID
	w.note(func(g *ledger) {
		for _, id := range g.order {
			if a := g.tasks[id]; !a.task.State.Ended() && read(a.task.Body).serial < floods && which(a) {
				ids = append(ids, id)
			}
		}
	})
	if len(ids) == 0 {
		return
	}
	id := ids[d.n(len(ids))]
	w.spawn(func() {
		w.reach(d, 5*time.Second, func(ctx context.Context, e *engine.Engine) error { return f(ctx, e, id) })
	})
}

// calmly hands tasks in when there is no trouble any more and all clocks are right: nothing
// keeps them from being attempted when they are due.
func (w *world) calmly() {
	d := newDice(w.seed, "calm")
	for wrong := true; wrong; time.Sleep(time.Second) {
		wrong = false
		for _, n := range w.nodes {
			if l := n.current(); l != nil {
				if e := l.engine.Load(); e != nil {
					wrong = wrong || time.Until(e.Now()).Abs() > 0
				}
			}
		}
	}
	w.note(func(g *ledger) {
		g.tell(bellman.ID{}, "now: all clocks are right")
		g.punctual = time.Now()
	})
	for i := range 30 {
		s := script{serial: calms + i, receiver: d.n(len(w.receivers)), refuse: pick(d, 0, 0, 1, 2, 4), most: 10 * time.Second}
		if d.percent(20) && !w.plan.sole {
			w.writer([]script{s}, 0)
		} else {
			w.spawn(func() { w.caller(calms+i, []script{s}) })
		}
		time.Sleep(d.between(0, 2*time.Second))
	}
}

// Serial numbers that others do not have.
const (
	floods = 1_000_000
	calms  = 2_000_000
)

// people change tasks by hand now and then.
func (w *world) people() {
	d := newDice(w.seed, "people")
	if d.percent(40) {
		return
	}
	pace := pick(d, d.between(2*time.Second, 30*time.Second), d.between(100*time.Millisecond, time.Second))
	if w.plan.days {
		pace = time.Hour
	}
	end := w.truth.began.Add(w.plan.length)
	for i := 0; time.Now().Before(end); i++ {
		time.Sleep(d.between(0, 2*pace))
		var id bellman.ID
		w.note(func(g *ledger) {
			if n := len(g.order); n > 0 {
				id = g.order[max(n-1-d.n(60), 0)]
			}
			late := d.percent(30)
			if late { // what has been waiting for its turn
				for _, waiting := range g.order {
					if a := g.tasks[waiting]; !a.task.State.Ended() && time.Since(a.task.Due) > time.Second && g.flyingOf(a) == nil {
						if id = waiting; d.percent(40) {
							break
						}
					}
				}
			}
			if !late && d.percent(50) { // what is being attempted, or has just been
				for _, recent := range slices.Backward(g.order) {
					if a := g.tasks[recent]; len(a.sends) > 0 && a.sends[len(a.sends)-1].recorded.IsZero() {
						id = recent
						break
					}
				}
			}
		})
		if !id.IsZero() {
			w.spawn(func() { w.person(newDice(w.seed, "person", i), id) })
		}
	}
}

func (w *world) person(d *dice, id bellman.ID) {
	by := bellman.By{Who: "somebody"}
	action, wait := d.n(100), d.between(0, time.Minute)
	l, err := w.reach(d, 5*time.Second, func(ctx context.Context, e *engine.Engine) (err error) {
		switch {
		case action < 35:
			_, err = e.Cancel(ctx, id, by)
		case action < 55:
			_, err = e.Resend(ctx, id, engine.ResendOnce, by)
		case action < 70:
			_, err = e.Resend(ctx, id, engine.ResendRestart, by)
		case action < 80:
			_, err = e.Reschedule(ctx, id, time.Now().Add(wait), by)
		case action < 90:
			_, err = e.SettleOverdue(ctx, id)
		case action < 95:
			_, err = e.Settle(ctx, by, id)
		default:
			_, err = e.Complete(ctx, id, bellman.Completion{}, by)
		}
		return err
	})
	if err == nil && action < 35 {
		w.note(func(g *ledger) {
			if !g.tasks[id].stopped {
				g.wrong(id, "%s says that it cancelled it, and it was not", l)
			}
		})
	}
}

// shut pauses a queue or a receiver through one node, and ends the pause through another.
func (w *world) shut(i incident) {
	d := newDice(w.seed, "shut", int(i.at))
	queue, target := d.percent(40), "endpoint/"+endpoint(i.who)
	if !queue && w.plan.merchants > 0 && d.percent(40) {
		target = "merchant/" + merchantNo(i.who)
	}
	if queue {
		target = "queue/pay"
	}
	w.pause(d, target, true)
	time.Sleep(i.length)
	w.pause(d, target, false)
}

// pause pauses something through some node, or ends that, until one does it.
func (w *world) pause(d *dice, target string, on bool) {
	tries := 200
	if !on {
		tries = 2000 // nobody else will end it
	}
	kind, name, _ := strings.Cut(target, "/")
	for range tries {
		l, err := w.reach(d, 5*time.Second, func(ctx context.Context, e *engine.Engine) error {
			switch by := (bellman.By{Who: "somebody", Reason: "why not"}); {
			case kind == "queue" && on:
				return e.PauseQueue(ctx, name, by)
			case kind == "merchant" && on:
				return e.PauseMerchant(ctx, name, by)
			case kind == "merchant":
				return e.ResumeMerchant(ctx, name, by)
			case kind == "queue":
				return e.ResumeQueue(ctx, name, by)
			case on:
				return e.PauseEndpoint(ctx, name, by)
			default:
				return e.ResumeEndpoint(ctx, name, by)
			}
		})
		if err == nil || errors.Is(err, bellman.ErrNotPaused) {
			w.note(func(g *ledger) {
				if p := g.stops[target]; on && p != nil {
					p.answered = time.Now()
				}
				g.tell(bellman.ID{}, "%s was told: %s, paused %t", l, target, on)
			})
			return
		}
		time.Sleep(d.between(100*time.Millisecond, time.Second))
	}
}
