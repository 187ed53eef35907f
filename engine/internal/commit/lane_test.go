package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
)

const gatherFor = 20 * time.Millisecond

// A row is the op of these tests.
type row struct {
	name     string
	happened bool
	presses  bool
	adds     bool
	weight   int
	done     chan error
}

func (r *row) Weight() int    { return max(r.weight, 1) }
func (r *row) Bytes() int     { return 0 }
func (r *row) Presses() bool  { return r.presses }
func (r *row) Happened() bool { return r.happened }
func (r *row) OnlyAdds() bool { return r.adds }

func (r *row) Done(err error) {
	if r.done != nil {
		r.done <- err
	}
}

func outcome() *row { return &row{happened: true} }

// asked returns an op of a caller that waits for its result.
func asked(name string) *row { return &row{name: name, presses: true, done: make(chan error, 1)} }

// A table is a host that stores rows in memory.
type table struct {
	mu      sync.Mutex
	refuse  func(ops []*row) error // nil: nothing is rejected
	probe   error
	written []string
	writes  atomic.Int64 // number of calls of Write
	apart   []string
	gaveUp  int
	health  []error
}

func (h *table) Admit(ops []*row) []*row { return ops }

func (h *table) Write(_ context.Context, ops []*row) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes.Add(1)
	if h.refuse != nil {
		if err := h.refuse(ops); err != nil {
			return err
		}
	}
	for _, o := range ops {
		h.written = append(h.written, o.name)
		o.Done(nil)
	}
	return nil
}

func (h *table) Fenced(context.Context) bool { return false }

func (h *table) Settle(_ context.Context, ops []*row) ([]*row, error) {
	return slices.DeleteFunc(slices.Clone(ops), func(r *row) bool { return !r.happened }), nil
}

func (h *table) Probe(context.Context) error { return h.probe }
func (h *table) Moved()                      {}

func (h *table) Health(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.health = append(h.health, err)
}

func (h *table) GiveUp(ops []*row) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gaveUp += len(ops)
}

func (h *table) Apart(r *row, _ error, _ time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.apart = append(h.apart, r.name)
}

// lane returns a lane that writes to h, and a function that ends the lane's patience.
func lane(h *table, o Options) (*Lane[*row], *Work, context.CancelFunc) {
	work := new(Work)
	if o.Most == 0 {
		o.Most = 8192
	}
	if o.Batch == 0 {
		o.Batch = 512
	}
	var impatient context.CancelFunc
	o.Patience, impatient = context.WithCancel(context.Background())
	return New[*row](h, work, o), work, impatient
}

// run runs a lane. The returned function waits until the lane has done everything, and ends it.
func run(l *Lane[*row], w *Work) (stop func()) {
	ended := make(chan struct{})
	go func() {
		l.Run(context.Background())
		close(ended)
	}()
	return func() {
		l.Hasten()
		w.Wait()
		l.Close()
		<-ended
	}
}

// pass lets d go by, and waits until everything that happens in it is over.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// After others were committed, outcomes that nobody waits for are gathered for a while. An op that
// somebody waits for, a full batch, or the end of the lane takes them along at once.
func TestOutcomesGather(t *testing.T) {
	const gap = time.Millisecond
	tests := map[string]struct {
		gather time.Duration
		then   func(*Lane[*row])
		took   int
		after  time.Duration // since the first outcomes were taken
	}{
		"alone":             {gather: gatherFor, then: func(*Lane[*row]) {}, took: 3, after: gatherFor},
		"without gathering": {then: func(*Lane[*row]) {}, took: 1, after: gap},
		"a quiet outcome":   {gather: gatherFor, then: func(l *Lane[*row]) { l.Put(outcome()) }, took: 4, after: gatherFor},
		"one that presses":  {gather: gatherFor, then: func(l *Lane[*row]) { l.Put(&row{happened: true, presses: true}) }, took: 4, after: 3 * gap},
		"a request's tasks": {gather: gatherFor, then: func(l *Lane[*row]) { l.Put(&row{presses: true, weight: 2}) }, took: 4, after: 3 * gap},
		"a full batch": {gather: gatherFor, took: 8, after: 3 * gap, then: func(l *Lane[*row]) {
			for range 7 {
				l.Put(outcome())
			}
		}},
		"a stop":  {gather: gatherFor, then: func(l *Lane[*row]) { l.Hasten() }, took: 3, after: 3 * gap},
		"a close": {gather: gatherFor, then: func(l *Lane[*row]) { l.Close() }, took: 3, after: 3 * gap},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _, impatient := lane(new(table), Options{Gather: test.gather, Batch: 8})
				defer impatient()
				l.Put(outcome())
				begun := time.Now()
				if ops, _ := l.take(nil); len(ops) != 1 || time.Since(begun) != 0 {
					t.Fatalf("%d ops taken after %v, want one at once", len(ops), time.Since(begun))
				}
				go func() {
					for range 3 {
						pass(gap)
						l.Put(outcome())
					}
					test.then(l)
				}()
				ops, _ := l.take(nil)
				if took := time.Since(begun); len(ops) != test.took || took != test.after {
					t.Errorf("%d ops taken after %v, want %d after %v", len(ops), took, test.took, test.after)
				}
				pass(time.Second)
				synctest.Wait() // by now all ops are in the queue
				l.Close()
				for len(l.queue) > 0 {
					l.take(nil)
				}
				if l.pressed != 0 || l.weight != 0 || l.happened.Load() != 0 {
					t.Errorf("counters of an empty queue: %d pressing ops, weight %d, %d outcomes; want 0", l.pressed, l.weight, l.happened.Load())
				}
			})
		})
	}
}

// If no outcome was committed lately, an outcome does not wait.
func TestARareOutcomeDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, impatient := lane(new(table), Options{Gather: gatherFor})
		defer impatient()
		for range 3 {
			begun := time.Now()
			l.Put(outcome())
			if ops, _ := l.take(nil); len(ops) != 1 || time.Since(begun) != 0 {
				t.Errorf("%d ops taken after %v; want one at once", len(ops), time.Since(begun))
			}
			pass(gatherFor)
		}
	})
}

var errRow = errors.New("a row that cannot be written")

// A row that the store rejects is singled out within a few transactions. The rows beside it are
// written, its caller gets the error, and an outcome is retried after growing pauses.
func TestRefusedRow(t *testing.T) {
	for _, n := range []int{1, 2, 3, 100, 512} {
		for _, bad := range []int{0, n / 2, n - 1} {
			for _, happened := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d of %d, happened %t", bad, n, happened), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						h := &table{refuse: func(ops []*row) error {
							if slices.ContainsFunc(ops, func(r *row) bool { return r.name == "bad" }) {
								return errRow
							}
							return nil
						}}
						l, w, impatient := lane(h, Options{})
						var ops []*row
						for i := range n {
							o := asked(fmt.Sprint(i))
							o.happened = happened
							if i == bad {
								o.name = "bad"
							}
							ops = append(ops, o)
							if err := l.Put(o); err != nil {
								t.Fatal(err)
							}
						}
						stop := run(l, w)
						synctest.Wait()
						for i, o := range ops {
							switch {
							case i == bad && happened:
								if len(o.done) > 0 || l.Apart() != 1 {
									t.Errorf("the rejected outcome was given up, or %d ops are apart; want 1 apart", l.Apart())
								}
							case i == bad:
								if err := <-o.done; !errors.Is(err, errRow) {
									t.Errorf("the caller of the rejected row got %v; want errRow", err)
								}
							default:
								if err := <-o.done; err != nil {
									t.Errorf("row %d beside the rejected one: %v", i, err)
								}
							}
						}
						if h.writes.Load() > 25 {
							t.Errorf("%d transactions to single out one row of %d; want fewer", h.writes.Load(), n)
						}
						if len(h.health) > 0 {
							t.Errorf("health reported to the host %v; want none, because only one row fails", h.health)
						}
						if happened {
							before := h.writes.Load()
							pass(10 * time.Minute)
							if tries := h.writes.Load() - before; tries < 7 || tries > 10 {
								t.Errorf("%d retries in ten minutes; want few, after growing pauses", tries)
							}
							h.mu.Lock()
							h.refuse = nil
							h.mu.Unlock()
							pass(lastApart)
							if err := <-ops[bad].done; err != nil || l.Apart() != 0 {
								t.Errorf("after the store accepted the row: %v, %d apart; want it written, and none apart", err, l.Apart())
							}
						}
						impatient()
						stop()
					})
				})
			}
		}
	}
}

// A broken connection is not the fault of the outcome that was on it: it is written again at once.
// If every connection breaks on which an outcome is sent, although the store answers, that outcome
// is isolated.
func TestBrokenConnection(t *testing.T) {
	for breaks, apart := range map[int]int{1: 0, 100: 1} {
		synctest.Test(t, func(t *testing.T) {
			h, left := &table{}, breaks
			h.refuse = func([]*row) error {
				if left--; left >= 0 {
					return fmt.Errorf("%w: reset by peer", bellman.ErrUnreachable)
				}
				return nil
			}
			l, w, impatient := lane(h, Options{})
			if err := l.Put(outcome()); err != nil {
				t.Fatal(err)
			}
			stop := run(l, w)
			synctest.Wait()
			if l.Apart() != apart || len(h.written) != 1-apart || len(h.health) > 0 {
				t.Errorf("%d connections break: %d apart, %d written, health %v; want %d apart, the others written, and no trouble", breaks, l.Apart(), len(h.written), h.health, apart)
			}
			impatient()
			stop()
		})
	}
}

// While the store rejects everything, callers get the error and outcomes are kept. None of them is
// treated as a bad row, and all are written when the store works again.
func TestStoreThatRejectsEverything(t *testing.T) {
	for _, why := range []error{errRow, bellman.ErrFull, bellman.ErrUnknown, bellman.ErrFenced} {
		t.Run(why.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &table{refuse: func([]*row) error { return why }, probe: why}
				l, w, impatient := lane(h, Options{})
				defer impatient()
				const n = 300
				for range n {
					l.Put(outcome())
				}
				first := asked("first")
				l.Put(first)
				stop := run(l, w)
				pass(10 * time.Second)
				if err := <-first.done; !errors.Is(err, why) {
					t.Errorf("the caller got %v; want the store's error", err)
				}
				if err := l.Put(asked("next")); !errors.Is(err, why) || !l.Ill() {
					t.Errorf("Put() = %v, Ill() = %t; want an error, and ill", err, l.Ill())
				}
				if h.writes.Load() > 120 {
					t.Errorf("%d transactions in 10s; want a few, with pauses between them", h.writes.Load())
				}
				h.mu.Lock()
				h.refuse, h.probe = nil, nil
				h.mu.Unlock()
				pass(3 * time.Second)
				if len(h.written) != n || l.Ill() || l.Apart() > 0 {
					t.Errorf("%d of %d outcomes written, Ill() = %t, %d apart; want all written, not ill, none apart", len(h.written), n, l.Ill(), l.Apart())
				}
				if len(h.health) != 2 || h.health[0] == nil || h.health[1] != nil {
					t.Errorf("health reported to the host %v; want one failure and its end", h.health)
				}
				stop()
			})
		})
	}
}

// A store that has no room for new tasks rejects only those, and the lane is not ill.
func TestNoRoomForAdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &table{refuse: func([]*row) error { return bellman.ErrFull }}
		l, w, impatient := lane(h, Options{})
		defer impatient()
		stop := run(l, w)
		o := asked("new")
		o.adds = true
		if err := l.Do(t.Context(), o, o.done); !errors.Is(err, bellman.ErrFull) || l.Ill() {
			t.Errorf("Do() = %v, Ill() = %t; want ErrFull, and not ill", err, l.Ill())
		}
		stop()
	})
}

// A stop whose time is over gives up all outcomes that cannot be written, also those that are
// apart.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &table{refuse: func(ops []*row) error {
			if slices.ContainsFunc(ops, func(r *row) bool { return r.name == "bad" }) {
				return errRow
			}
			return nil
		}}
		l, w, impatient := lane(h, Options{})
		stop := run(l, w)
		l.Put(&row{name: "bad", happened: true})
		pass(time.Second)
		h.mu.Lock()
		h.refuse = func([]*row) error { return errRow }
		h.probe = errRow
		h.mu.Unlock()
		for range 10 {
			l.Put(outcome())
		}
		pass(time.Second)
		impatient()
		stop()
		if h.gaveUp != 11 || w.Busy() {
			t.Errorf("%d outcomes given up, busy %t; want 11, and not busy", h.gaveUp, w.Busy())
		}
	})
}

// A stop retries rows that are apart at once, however long their pause still is.
func TestStopRetriesRejectedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &table{refuse: func(ops []*row) error { return errors.New("a row that cannot be written") }}
		l, w, _ := lane(h, Options{})
		stop := run(l, w)
		if err := l.Put(outcome()); err != nil {
			t.Fatal(err)
		}
		pass(20 * time.Minute)
		if l.Apart() != 1 {
			t.Fatalf("%d rows are apart; want 1", l.Apart())
		}
		h.mu.Lock()
		h.refuse = nil
		h.mu.Unlock()
		began := time.Now()
		l.Hasten()
		w.Wait()
		if took := time.Since(began); took > 0 || len(h.written) != 1 {
			t.Errorf("%d rows written %v after the stop; want 1 at once", len(h.written), took)
		}
		h.mu.Lock()
		breaks := 2
		h.refuse = func(ops []*row) error {
			if breaks--; breaks < 0 {
				return nil
			}
			return errors.New("the connection broke")
		}
		h.mu.Unlock()
		began = time.Now()
		if err := l.Put(outcome()); err != nil {
			t.Fatal(err)
		}
		w.Wait()
		if took := time.Since(began); took > 300*time.Millisecond || len(h.written) != 2 {
			t.Errorf("%d rows written %v after the stop; want the other row soon, because the stop waits for it", len(h.written), took)
		}
		stop()
	})
}

// The retry of a row that is apart delays everything after it, so its time counts as writing.
func TestHangingRetryCountsAsWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &table{refuse: func(ops []*row) error { return errors.New("a row that cannot be written") }}
		l, w, _ := lane(h, Options{})
		stop := run(l, w)
		if err := l.Put(outcome()); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		const hangs = 3 * time.Second
		h.mu.Lock()
		h.refuse = func(ops []*row) error { time.Sleep(hangs); return nil }
		h.mu.Unlock()
		pass(firstApart)
		if writing := l.Writing(); writing < hangs/4 || writing > hangs {
			t.Errorf("Writing() = %v while a retry hangs; want the time since the retry began", writing)
		}
		pass(hangs)
		if writing := l.Writing(); writing != 0 || len(h.written) != 1 {
			t.Errorf("%d rows written, Writing() = %v; want 1 and 0", len(h.written), writing)
		}
		stop()
	})
}
