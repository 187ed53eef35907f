package engine

import (
	"context"
	"log/slog"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store/memory"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func after(d time.Duration) time.Time { return t0.Add(d) }

// The attempt at t0 took a second. The task is at its third step of ten seconds each, so the fourth
// and last attempt is due at t0+10s.
func TestAdvance(t *testing.T) {
	s, err := schedule.Parse("0s, 10s*3")
	if err != nil {
		t.Fatal(err)
	}
	failed := &bellman.Before{State: bellman.Failed, Reason: "gave_up", Finished: after(-time.Hour)}
	waits := &bellman.Before{Due: after(7 * time.Second)}
	type want struct {
		state  bellman.State
		reason string
		due    time.Duration // after t0; 0: none
		step   int
		data   string
	}
	const us = time.Microsecond
	tests := []struct {
		name    string
		before  *bellman.Before
		step    int
		maxAge  time.Duration
		verdict bellman.Verdict
		want    want
	}{
		{"the schedule's", nil, 2, 0, bellman.Verdict{}, want{due: 10 * time.Second, step: 3, data: "old"}},
		{"with data", nil, 2, 0, bellman.Verdict{Data: []byte("new")}, want{due: 10 * time.Second, step: 3, data: "new"}},
		{"the verdict's", nil, 2, 0, bellman.Verdict{Due: after(3 * time.Second)}, want{due: 3 * time.Second, step: 3, data: "old"}},
		{"rounded up", nil, 2, 0, bellman.Verdict{Due: after(3*time.Second + us)}, want{due: 3001 * time.Millisecond, step: 3, data: "old"}},
		{"in another zone", nil, 2, 0, bellman.Verdict{Due: after(3 * time.Second).In(time.FixedZone("", 3600))}, want{due: 3 * time.Second, step: 3, data: "old"}},
		{"not before the end", nil, 2, 0, bellman.Verdict{Due: after(-time.Hour)}, want{due: time.Second, step: 3, data: "old"}},
		{"schedule out", nil, 3, 0, bellman.Verdict{}, want{bellman.Failed, "attempts_used_up", 0, 4, "old"}},
		{"schedule out, but due", nil, 3, 0, bellman.Verdict{Due: after(time.Minute)}, want{due: time.Minute, step: 4, data: "old"}},
		{"too old", nil, 2, 5 * time.Second, bellman.Verdict{}, want{bellman.Failed, "max_age", 0, 3, "old"}},
		{"too old, but due", nil, 2, 5 * time.Second, bellman.Verdict{Due: after(time.Minute)}, want{due: time.Minute, step: 3, data: "old"}},
		{"due, with a Retry-After", nil, 2, 0, bellman.Verdict{Due: after(3 * time.Second), RetryAfter: 5 * time.Second}, want{due: 3 * time.Second, step: 3, data: "old"}},
		{"a Retry-After", nil, 1, 0, bellman.Verdict{RetryAfter: 30 * time.Second}, want{due: 20 * time.Second, step: 2, data: "old"}},
		{"a Retry-After beyond the age", nil, 1, 15 * time.Second, bellman.Verdict{RetryAfter: 30 * time.Second}, want{due: 15 * time.Second, step: 2, data: "old"}},
		{"too old, with a Retry-After", nil, 1, 5 * time.Second, bellman.Verdict{RetryAfter: 30 * time.Second}, want{bellman.Failed, "max_age", 0, 2, "old"}},
		{"accepted, whatever due", nil, 2, 0, bellman.Verdict{Next: bellman.Succeed, Due: after(time.Minute)}, want{bellman.Succeeded, "accepted", 0, 2, "old"}},
		{"given up, whatever due", nil, 2, 0, bellman.Verdict{Next: bellman.GiveUp, Due: after(time.Minute)}, want{bellman.Failed, "gave_up", 0, 2, "old"}},

		{"by hand, goes on", waits, 2, 0, bellman.Verdict{}, want{due: 7 * time.Second, step: 2, data: "old"}},
		{"by hand, goes on with data", waits, 2, 0, bellman.Verdict{Data: []byte("new")}, want{due: 7 * time.Second, step: 2, data: "new"}},
		{"by hand, goes on and due", waits, 2, 0, bellman.Verdict{Due: after(3 * time.Second)}, want{due: 3 * time.Second, step: 3, data: "old"}},
		{"by hand, accepted", waits, 2, 0, bellman.Verdict{Next: bellman.Succeed}, want{bellman.Succeeded, "accepted", 0, 2, "old"}},
		{"by hand, given up", waits, 2, 0, bellman.Verdict{Next: bellman.GiveUp, Reason: "closed"}, want{bellman.Failed, "closed", 0, 2, "old"}},
		{"by hand, had ended", failed, 2, 0, bellman.Verdict{Data: []byte("new")}, want{bellman.Failed, "gave_up", 0, 2, "new"}},
		{"by hand, had ended, due", failed, 2, 0, bellman.Verdict{Due: after(time.Minute)}, want{bellman.Failed, "gave_up", 0, 2, "old"}},
		{"by hand, had ended, given up", failed, 2, 0, bellman.Verdict{Next: bellman.GiveUp, Reason: "closed"}, want{bellman.Failed, "gave_up", 0, 2, "old"}},
		{"by hand, had ended, accepted", failed, 2, 0, bellman.Verdict{Next: bellman.Succeed, Reason: "paid"}, want{bellman.Succeeded, "paid", 0, 2, "old"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task := &bellman.Task{MaxAge: tt.maxAge, Status: bellman.Status{
				Attempts: 5, Step: int32(tt.step), Began: t0, Due: t0, VisibleAt: t0, Trigger: bellman.ByHand, WasDue: 1, Before: tt.before, Data: []byte("old"),
			}}
			st := advance(task, &bellman.Attempt{Number: 6, Started: t0, Took: time.Second}, &tt.verdict, s, 0)
			got := want{state: st.State, reason: st.Reason, step: int(st.Step), data: string(st.Data)}
			if !st.Due.IsZero() {
				got.due = st.Due.Sub(t0)
			}
			if got != tt.want || !st.VisibleAt.Equal(st.Due) {
				t.Errorf("advance = %+v, visible at %v; want %+v, visible at its due time", got, st.VisibleAt, tt.want)
			}
			if st.Due.Location() != time.UTC || st.Attempts != 6 || st.Trigger != bellman.BySchedule || st.Before != nil || st.WasDue != 0 || st.State.Ended() == st.Finished.IsZero() {
				t.Errorf("advance = %+v; want UTC times, attempt 6, the trigger schedule, no state to go back to, no earlier due time, and a finish time if it ended", st)
			}
		})
	}
}

// The attempt at t0 took a second. The task was due then and had the data "old". Somebody changed
// it while the attempt was in flight.
func TestMerge(t *testing.T) {
	s, err := schedule.Parse("0s, 10s*3")
	if err != nil {
		t.Fatal(err)
	}
	seen := bellman.Status{Version: 3, Attempts: 1, Step: 1, Began: t0, Due: t0, VisibleAt: t0, Data: []byte("old")}
	at := after(500 * time.Millisecond) // time of the change
	was := func(by bellman.Trigger, before *bellman.Before) bellman.Status {
		st := seen
		st.Trigger, st.Before = by, before
		return st
	}
	by := func(st bellman.Status, change func(st *bellman.Status)) bellman.Status {
		st.Version++
		st.Updated = at
		change(&st)
		return st
	}
	once := func(trigger bellman.Trigger) func(st *bellman.Status) {
		return func(st *bellman.Status) { request(st, trigger, at, at) }
	}
	moved := func(st *bellman.Status) { st.Due, st.VisibleAt = after(time.Minute), after(time.Minute) }
	noted := func(st *bellman.Status) { st.Data = []byte("note") }
	cancelled := func(st *bellman.Status) { *st = end(*st, bellman.Cancelled, "cancelled", at) }
	anew := func(st *bellman.Status) {
		st.Step, st.Began, st.Due, st.VisibleAt, st.Trigger, st.Before = 0, at, at, at, bellman.ByHand, nil
	}
	both := func(a, b func(st *bellman.Status)) func(st *bellman.Status) {
		return func(st *bellman.Status) { a(st); b(st) }
	}

	failed := &bellman.Before{State: bellman.Failed, Reason: "gave_up", Finished: after(-time.Hour)}
	paid := bellman.Verdict{Next: bellman.Succeed, Reason: "paid", Data: []byte("new")}
	next := bellman.Verdict{Data: []byte("new"), Due: after(2 * time.Second)}
	poll := bellman.Verdict{Data: []byte("new")}
	dead := bellman.Verdict{Next: bellman.GiveUp, Reason: "closed", Data: []byte("new")}

	type want struct {
		state   bellman.State
		reason  string
		due     time.Duration // after t0; 0: none
		step    int
		trigger bellman.Trigger
		data    string
		before  *bellman.Before
		counts  bool
	}
	const half, minute = 500 * time.Millisecond, time.Minute
	tests := []struct {
		name    string
		seen    bellman.Status
		change  func(st *bellman.Status)
		verdict bellman.Verdict
		want    want
	}{
		{"cancelled", seen, cancelled, paid, want{bellman.Cancelled, "cancelled", 0, 1, 0, "old", nil, false}},
		{"cancelled, goes on", seen, cancelled, next, want{bellman.Cancelled, "cancelled", 0, 1, 0, "old", nil, false}},
		{"moved, ends", seen, moved, paid, want{bellman.Succeeded, "paid", 0, 1, 0, "new", nil, true}},
		{"moved, goes on", seen, moved, poll, want{due: minute, step: 2, data: "new", counts: true}},
		{"moved, goes on and due", seen, moved, next, want{due: minute, step: 2, data: "new", counts: true}},
		{"only the version, ends", seen, func(*bellman.Status) {}, dead, want{bellman.Failed, "closed", 0, 1, 0, "new", nil, true}},
		{"only the version, goes on", seen, func(*bellman.Status) {}, next, want{due: 2 * time.Second, step: 2, data: "new", counts: true}},
		{"only the version, the schedule's", seen, func(*bellman.Status) {}, poll, want{due: 10 * time.Second, step: 2, data: "new", counts: true}},
		{"other data, ends", seen, noted, paid, want{due: time.Second, step: 1, data: "note"}},
		{"other data, goes on", seen, noted, next, want{due: time.Second, step: 1, data: "note"}},
		{"other data and moved", seen, both(noted, moved), paid, want{due: minute, step: 1, data: "note"}},
		{"other data and by hand", seen, both(noted, once(bellman.ByHand)), paid, want{due: half, step: 1, trigger: bellman.ByHand, data: "note", before: &bellman.Before{Due: t0}}},

		{"by hand, goes on", seen, once(bellman.ByHand), next, want{due: half, step: 2, trigger: bellman.ByHand, data: "new",
			before: &bellman.Before{Due: after(2 * time.Second)}, counts: true}},
		{"by hand, ends", seen, once(bellman.ByHand), paid, want{due: half, step: 1, trigger: bellman.ByHand, data: "new",
			before: &bellman.Before{State: bellman.Succeeded, Reason: "paid", Finished: after(time.Second)}, counts: true}},
		{"moved and by hand", seen, both(moved, once(bellman.ByHand)), poll, want{due: half, step: 2, trigger: bellman.ByHand, data: "new",
			before: &bellman.Before{Due: after(minute)}, counts: true}},
		{"cancelled and by hand", seen, both(cancelled, once(bellman.ByHand)), paid, want{due: half, step: 1, trigger: bellman.ByHand, data: "old",
			before: &bellman.Before{State: bellman.Cancelled, Reason: "cancelled", Finished: at}}},
		{"anew, goes on", seen, anew, next, want{due: half, trigger: bellman.ByHand, data: "new", counts: true}},
		{"anew, ends", seen, anew, paid, want{due: half, trigger: bellman.ByHand, data: "old"}},

		{"settled, goes on", seen, once(bellman.BySettle), next, want{due: 2 * time.Second, step: 2, data: "new", counts: true}},
		{"settled, ends", seen, once(bellman.BySettle), paid, want{bellman.Succeeded, "paid", 0, 1, 0, "new", nil, true}},
		{"moved and settled", seen, both(moved, once(bellman.BySettle)), poll, want{due: minute, step: 2, data: "new", counts: true}},
		{"cancelled and settled", seen, both(cancelled, once(bellman.BySettle)), paid, want{due: half, step: 1, trigger: bellman.BySettle, data: "old",
			before: &bellman.Before{State: bellman.Cancelled, Reason: "cancelled", Finished: at}}},

		{"a resend, again by hand, accepted", was(bellman.ByHand, failed), once(bellman.ByHand), paid, want{due: half, step: 1, trigger: bellman.ByHand, data: "new",
			before: &bellman.Before{State: bellman.Succeeded, Reason: "paid", Finished: after(time.Second)}, counts: true}},
		{"a resend, again by hand, refused", was(bellman.ByHand, failed), once(bellman.ByHand), poll, want{due: half, step: 1, trigger: bellman.ByHand, data: "new",
			before: failed, counts: true}},
		{"a resend, settled", was(bellman.ByHand, failed), once(bellman.BySettle), poll, want{bellman.Failed, "gave_up", 0, 1, 0, "new", nil, true}},
		{"a resend, cancelled and by hand", was(bellman.ByHand, failed), both(cancelled, once(bellman.ByHand)), paid, want{due: half, step: 1, trigger: bellman.ByHand, data: "old",
			before: &bellman.Before{State: bellman.Cancelled, Reason: "cancelled", Finished: at}}},
		{"a settling, noted", was(bellman.BySettle, failed), noted, paid, want{due: time.Second, step: 1, trigger: bellman.BySettle, data: "note", before: failed}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := bellman.Task{Status: tt.seen}
			now := bellman.Task{Status: by(tt.seen, tt.change)}
			st, counts := merge(&now, &before, &bellman.Attempt{Number: 2, Started: t0, Took: time.Second}, &tt.verdict, s, 0)
			got := want{state: st.State, reason: st.Reason, step: int(st.Step), trigger: st.Trigger, data: string(st.Data), before: st.Before, counts: counts}
			if !st.Due.IsZero() {
				got.due = st.Due.Sub(t0)
			}
			if !reflect.DeepEqual(got, tt.want) || !st.VisibleAt.Equal(st.Due) {
				t.Errorf("merge = %+v, before %+v, visible at %v; want %+v, before %+v", got, got.before, st.VisibleAt, tt.want, tt.want.before)
			}
			if st.Attempts != 2 || st.Updated.Before(after(time.Second)) {
				t.Errorf("merge = attempt %d, updated %v; want 2, updated at the end of the attempt", st.Attempts, st.Updated)
			}
			now.Phase, now.WasDue = bellman.HandedOver, 1 // or announced: the attempt is recorded now
			if st, _ := merge(&now, &before, &bellman.Attempt{Number: 2, Started: t0, Took: time.Second}, &tt.verdict, s, 0); st.InDoubt() || st.WasDue != 0 {
				t.Errorf("merge of a task that was handed over = phase %v, was due at %d; want no attempt in doubt", st.Phase, st.WasDue)
			}
			now.Updated = after(time.Minute) // by the clock of another node
			if st, _ := merge(&now, &before, &bellman.Attempt{Number: 2, Started: t0, Took: time.Second}, &tt.verdict, s, 0); !st.Updated.Equal(now.Updated) {
				t.Errorf("merge = updated %v; want not before the change, at %v", st.Updated, now.Updated)
			}
		})
	}
}

// Without its manual attempt a task is as it was before, and none of its attempts is in doubt.
func TestUnderlying(t *testing.T) {
	failed := bellman.Status{State: bellman.Failed, Reason: "gave_up", Finished: after(-time.Hour), Attempts: 3, Step: 3}
	st := failed
	request(&st, bellman.ByHand, t0, t0)
	st.Phase, st.WasDue = bellman.Announced, 1
	if got := underlying(st); !reflect.DeepEqual(got, failed) {
		t.Errorf("underlying(%+v) = %+v; want %+v", st, got, failed)
	}
}

// The wall clock is set an hour ahead or back. The gaps between attempts stay as the schedule says,
// within a tenth.
func TestWallClockStep(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var off atomic.Int64
			seen := make(chan time.Time, 10)
			e, err := New(Options{
				Store:  memory.New(),
				Logger: slog.New(slog.DiscardHandler),
				Queues: []Queue{{Name: "q", Schedule: "0s, 15s, 15s, 30s, 3m, 10m", Handler: bellman.HandlerFunc(
					func(context.Context, *bellman.Task, int) bellman.Verdict {
						seen <- time.Now()
						return bellman.Verdict{}
					})}},
				StopTimeout: time.Second,
				Flow:        Flow{High: 1000},
				Wall:        func() time.Time { return time.Now().Add(time.Duration(off.Load())) },
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			if a := e.Add(ctx, &bellman.Task{Queue: "q"})[0]; a.Err != nil {
				t.Fatal(a.Err)
			}
			last := <-seen
			for i, gap := range []time.Duration{15 * time.Second, 15 * time.Second, 30 * time.Second, 3 * time.Minute, 10 * time.Minute} {
				if i == 1 {
					off.Store(int64(step))
				}
				next := <-seen
				if got := next.Sub(last); got < gap*9/10 || got > gap*10/9+2*time.Millisecond {
					t.Errorf("step %v: gap %d was %v; want %v, within a tenth", step, i+1, got, gap)
				}
				last = next
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A completion that names a due time moves the schedule's next attempt. A pending manual attempt
// stays, and the schedule under it moves.
func TestGoOn(t *testing.T) {
	now, due := after(time.Second), after(time.Minute)
	pending := bellman.Status{Began: t0, Due: t0, VisibleAt: t0}
	ended := bellman.Status{State: bellman.Failed, Finished: t0}
	byHand := func(st bellman.Status) bellman.Status { request(&st, bellman.ByHand, now, now); return st }
	for _, tt := range []struct {
		name   string
		st     bellman.Status
		due    time.Time
		want   time.Time // of the next attempt
		before *bellman.Before
		wasDue int64
	}{
		{"pending", pending, due, due, nil, t0.Unix()},
		{"without a due time", pending, time.Time{}, t0, nil, 0},
		{"ended", ended, due, due, &bellman.Before{State: bellman.Failed, Finished: t0}, 0},
		{"pending, and by hand", byHand(pending), due, now, &bellman.Before{Due: due}, t0.Unix()},
		{"ended, and by hand", byHand(ended), due, now, &bellman.Before{State: bellman.Failed, Finished: t0}, now.Unix()},
	} {
		st := tt.st
		goOn(&st, tt.due, now)
		if !st.Due.Equal(tt.want) || !st.VisibleAt.Equal(tt.want) || st.State != bellman.Pending || !reflect.DeepEqual(st.Before, tt.before) || int64(st.WasDue) != tt.wasDue {
			t.Errorf("%s: goOn = %+v, before %+v; want due at %v, before %+v, and an attempt in doubt at %d", tt.name, st, st.Before, tt.want, tt.before, tt.wasDue)
		}
	}
}

// A completed task that repeats keeps the doubt about an attempt that may be in flight.
func TestCompletedInDoubt(t *testing.T) {
	task := &bellman.Task{Repeat: "10m", Status: bellman.Status{Began: t0, Due: t0, VisibleAt: t0}}
	if st := completed(task, bellman.Succeeded, "callback", after(time.Second)); int64(st.WasDue) != t0.Unix() || !st.Due.Equal(after(10*time.Minute+time.Second)) {
		t.Errorf("completed = due at %v, was due at %d; want ten minutes later, and %d", st.Due, st.WasDue, t0.Unix())
	}
}

type latecomer struct{ saw *bellman.Status }

func (latecomer) Attempt(context.Context, *bellman.Task, int) bellman.Verdict {
	return bellman.Verdict{}
}

func (l latecomer) Late(t *bellman.Task, _ bellman.Verdict, _ time.Time) bellman.Verdict {
	*l.saw = t.Status
	return bellman.Verdict{Data: []byte("late")}
}

// A Latecomer sees a task as ended, although a manual attempt of it is pending.
func TestLateUnderManualAttempt(t *testing.T) {
	var saw bellman.Status
	rules, err := NewRules(Queue{Name: "q", Handler: latecomer{&saw}})
	if err != nil {
		t.Fatal(err)
	}
	task := &bellman.Task{Queue: "q", Status: bellman.Status{State: bellman.Succeeded, Finished: t0}}
	request(&task.Status, bellman.ByHand, t0, t0)
	r := &recorder{rules: rules, clock: clock.New(time.Now)}
	f := new(flight)
	if err := r.late(f, task); err != nil || saw.State != bellman.Succeeded || saw.Before != nil || string(f.change.To.Data) != "late" {
		t.Errorf("late: %v; the handler saw %+v and data are %q; want a task that succeeded, and late", err, saw, f.change.To.Data)
	}
}
