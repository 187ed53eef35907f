package dispatch

import (
	"slices"
	"testing"
	"time"
)

// drain starts and ends n items one after the other, and returns them.
func drain(t *testing.T, d *D[string], now int64, n int) []string {
	t.Helper()
	var got []string
	for range n {
		ticket, item, ok := d.Next(now)
		if !ok {
			t.Fatalf("Next gave nothing after %v", got)
		}
		got = append(got, item)
		d.Done(now, ticket, Accepted)
	}
	return got
}

// push opens the line of a queue and an endpoint, and adds n items with that name.
func push(d *D[string], now int64, r Rules, n int) {
	name := r.Queue + "/" + r.Endpoint
	d.Open(now, lineID(r.Queue, r.Endpoint), r)
	for range n {
		d.Push(now, lineID(r.Queue, r.Endpoint), now, 0, Alone, name)
	}
}

func TestEndpointsTakeTurns(t *testing.T) {
	d := New[string](Options{})
	push(d, 0, Rules{Queue: "q", Endpoint: "a"}, 100)
	push(d, 0, Rules{Queue: "q", Endpoint: "b"}, 3)
	push(d, 0, Rules{Queue: "r", Endpoint: "c"}, 3)
	push(d, 0, Rules{Queue: "s", Endpoint: "c"}, 3) // the same endpoint in another queue gets no extra turns
	got := drain(t, d, 0, 9)
	want := []string{"q/a", "q/b", "r/c", "q/a", "q/b", "s/c", "q/a", "q/b", "r/c"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Endpoints with a backlog get equal shares, whatever the state of the pool.
func TestBackloggedEndpointsGetTheSame(t *testing.T) {
	w := newWorld(t, Options{Floor: 10, Ceiling: 100})
	w.answer = func(w *world, j job) (int64, Outcome) { return 5*ms + w.rand.Int64N(ms), Accepted }
	names := hosts("e", 50)
	for _, e := range names {
		for range 1000 {
			w.push(Rules{Queue: "q", Endpoint: e}, 0)
		}
	}
	w.run(s)
	least, most := len(w.waits[names[0]]), 0
	for _, e := range names {
		least, most = min(least, len(w.waits[e])), max(most, len(w.waits[e]))
	}
	if least < 200 || float64(most) > 1.05*float64(least) {
		t.Errorf("endpoints got between %d and %d attempts in a second; want about the same, 200 at least", least, most)
	}
}

// The lines of a queue at its limit take turns too, whatever other queues do.
func TestLinesOfALimitedQueueTakeTurns(t *testing.T) {
	for _, limit := range []int{1, 3} {
		w := newWorld(t, Options{})
		w.answer = func(w *world, j job) (int64, Outcome) { return ms + w.rand.Int64N(ms), Accepted }
		names := hosts("e", 20)
		for _, e := range names {
			for range 500 {
				w.push(Rules{Queue: "limited", Endpoint: e, QueueConcurrency: limit}, 0)
				w.push(Rules{Queue: "other", Endpoint: "other" + e}, 0)
			}
		}
		w.run(s)
		least, most := 1<<30, 0
		for _, e := range names {
			least, most = min(least, len(w.waits[e])), max(most, len(w.waits[e]))
		}
		// Attempts take 1.5 ms, limit at a time, over twenty lines.
		if want := limit * 1000 / 30; least < want*9/10 || most > want*12/10 {
			t.Errorf("limit %d: lines got between %d and %d attempts, want about %d each", limit, least, most, want)
		}
	}
}

func TestRetriesComeAfterFirstsAndAreNotStarved(t *testing.T) {
	tests := []struct {
		name     string
		late     int64 // lateness of the retries
		firsts   int
		retries  int
		take     int
		want     int // number of retries taken
		atLeastA int // longest run of items without a retry
	}{
		{"retries wait", 0, 100, 100, 64, 8, 7},
		{"late ones go every second time", 6 * s, 100, 100, 64, 32, 1},
		{"firsts used up", 0, 4, 10, 14, 10, 4},
		{"no retries", 0, 20, 0, 20, 0, 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := New[string](Options{})
			now := 10 * s
			d.Open(now, 1, Rules{Queue: "q", Endpoint: "e"})
			for range tt.retries {
				d.Push(now, 1, now-tt.late, 1, Alone, "retry")
			}
			for range tt.firsts {
				d.Push(now, 1, now, 0, Alone, "first")
			}
			n, run := 0, 0
			for _, item := range drain(t, d, now, tt.take) {
				if run++; item == "retry" {
					n++
					run = 0
				}
				if run > tt.atLeastA {
					t.Fatalf("%d items in a row without a retry; want a retry sooner", run)
				}
			}
			if n != tt.want {
				t.Errorf("%d retries of %d, want %d", n, tt.take, tt.want)
			}
		})
	}
}

// A line's rate is not enough for all its items, and young items go first. Items of the youngest
// ages are on time as long as three quarters of the rate are enough for them. Older items get the
// rest.
func TestYoungGoFirst(t *testing.T) {
	tests := []struct {
		name  string
		feed  [ages]int   // new items a second, by age, with a rate of 100
		late  [ages]int64 // most lateness, by age; 0: no bound
		least int         // least attempts of the oldest age in a minute
	}{
		{"newcomers", [ages]int{50, 0, 0, 0, 0, 200}, [ages]int64{30 * ms}, 60 * 45},
		{"most are newcomers", [ages]int{70, 0, 0, 0, 0, 200}, [ages]int64{50 * ms}, 60 * 24},
		{"more newcomers than can go", [ages]int{200, 0, 0, 0, 0, 200}, [ages]int64{}, 60 * 23},
		{"each goes before the next", [ages]int{20, 20, 20, 200, 0, 200}, [ages]int64{30 * ms, 50 * ms, 300 * ms}, 60 * 11},
		{"old ones only at first", [ages]int{70}, [ages]int64{50 * ms}, 682},
		{"no young ones", [ages]int{0, 0, 0, 0, 0, 200}, [ages]int64{}, 60 * 99},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, Options{LineBound: 4096})
			r := Rules{Queue: "q", QueueRate: 100, YoungFirst: true}
			w.answer = func(w *world, j job) (int64, Outcome) { return 5 * ms, Accepted }
			var starts [ages]int
			w.started = func(w *world, ticket Ticket, j job) {
				age, _ := r.age(j.attempts)
				starts[age]++
				if late := w.now - j.due; tt.late[age] > 0 && late > tt.late[age] {
					t.Fatalf("an item attempted %d times was %v late after %v; want %v at most",
						j.attempts, time.Duration(late), time.Duration(w.now), time.Duration(tt.late[age]))
				}
			}
			for range 682 { // as many as the line has room for
				w.push(r, 16)
			}
			for age, perSecond := range tt.feed {
				for i := range int64(60 * perSecond) {
					w.at(i*s/int64(perSecond), func() { w.push(r, 1<<age>>1) })
				}
			}
			w.run(60 * s)
			if starts[ages-1] < tt.least {
				t.Errorf("%d old items in a minute; want at least %d", starts[ages-1], tt.least)
			}
			total := 0
			for _, n := range starts {
				total += n
			}
			if want := min(59*100, 60*tt.feed[0]+682); total < want {
				t.Errorf("%d attempts in a minute; want %d", total, want)
			}
		})
	}
}

// However many young items arrive, the item that has waited n-th longest is among the first 8n
// items taken, or 4n if it is late.
func TestYoungDoNotStarveTheOld(t *testing.T) {
	for _, attempts := range []int{1, 2, 4, 8, 16} {
		for _, tt := range []struct {
			late int64
			each int
		}{{0, 8}, {6 * s, 4}} {
			d := New[string](Options{})
			now := 10 * s
			d.Open(now, 1, Rules{Queue: "q", Endpoint: "e", YoungFirst: true})
			for range 20 {
				d.Push(now, 1, now-tt.late, attempts, Alone, "old")
			}
			took := 0
			for n := range 20 {
				for got := ""; got != "old"; took++ {
					for young := 0; young <= 16; young = max(2*young, 1) { // young items of each age, including its own
						d.Push(now, 1, now+1, young, Alone, "new")
					}
					got = drain(t, d, now, 1)[0]
				}
				if took > tt.each*(n+1) {
					t.Fatalf("attempted %d times, %v late: number %d went after %d items; want each %dth", attempts, time.Duration(tt.late), n+1, took, tt.each)
				}
			}
		}
	}
}

// Urgent items go to the front of a full line, within its limits, and do not starve the others.
func TestUrgentGoFirst(t *testing.T) {
	d := New[string](Options{LineBound: 100})
	r := Rules{Queue: "q", Endpoint: "e", Concurrency: 2}
	push(d, 0, r, 100)
	id := lineID("q", "e")
	if got := d.Push(0, id, 0, 0, Alone, "q/e"); got != Full {
		t.Fatalf("Push to a full line = %v; want Full", got)
	}
	for range 100 {
		if got := d.Push(0, id, 0, Urgent, Alone, "urgent"); got != Kept {
			t.Fatalf("Push of an urgent item to a full line = %v; want Kept", got)
		}
	}
	if got := d.Push(0, id, 0, Urgent, Alone, "urgent"); got != Full {
		t.Errorf("Push of an urgent item to a line full of urgent ones = %v; want Full", got)
	}
	for i, item := range drain(t, d, 0, 114) {
		if want := i%8 != 7 && i < 114; (item == "urgent") != want {
			t.Fatalf("item %d is %s; want an urgent one but for each eighth", i, item)
		}
	}
	for range 2 {
		d.Next(0)
	}
	d.Push(0, id, 0, Urgent, Alone, "urgent")
	if _, item, ok := d.Next(0); ok {
		t.Errorf("Next gave %s; want nothing above the endpoint's limit", item)
	}
}

func TestLimitsHold(t *testing.T) {
	tests := []struct {
		name  string
		rules Rules
		o     Options
		want  int // in flight when Next gives nothing more
	}{
		{"a new endpoint", Rules{}, Options{}, 8},
		{"another start", Rules{}, Options{Start: 3}, 3},
		{"endpoint concurrency", Rules{Concurrency: 2}, Options{}, 2},
		{"queue concurrency", Rules{QueueConcurrency: 5}, Options{}, 5},
		{"a burst of the rate", Rules{Rate: 100}, Options{}, 2},
		{"a burst of the queue's rate", Rules{QueueRate: 10}, Options{}, 1},
		{"ceiling", Rules{}, Options{Ceiling: 4}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := New[string](tt.o)
			r := tt.rules
			r.Queue, r.Endpoint = "q", "e"
			push(d, 0, r, 50)
			n := 0
			for {
				if _, _, ok := d.Next(0); !ok {
					break
				}
				n++
			}
			if n != tt.want {
				t.Errorf("%d in flight, want %d", n, tt.want)
			}
		})
	}
}

func TestStrictestQueueHoldsForTheEndpoint(t *testing.T) {
	d := New[string](Options{})
	push(d, 0, Rules{Queue: "q", Endpoint: "e", Concurrency: 5}, 10)
	push(d, 0, Rules{Queue: "r", Endpoint: "e", Concurrency: 2}, 10)
	for range 2 {
		if _, _, ok := d.Next(0); !ok {
			t.Fatal("Next gave nothing for one of the first two items")
		}
	}
	if _, item, ok := d.Next(0); ok {
		t.Fatalf("Next gave %s, the third to an endpoint whose limit is 2", item)
	}
	d.Reload(0, func(Rules) Rules { return Rules{Concurrency: 4} })
	if _, _, ok := d.Next(0); !ok {
		t.Error("Next gave nothing after the limit was raised")
	}
}

func TestRateIsExact(t *testing.T) {
	for _, perSecond := range []float64{0.5, 3, 200, 5000} {
		if perSecond > 6000/fewer {
			continue
		}
		for _, r := range []Rules{{Rate: perSecond}, {QueueRate: perSecond}} {
			w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
			w.answer = func(w *world, j job) (int64, Outcome) { return ms / 2, Accepted }
			r.Queue, r.Endpoint = "q", "e"
			for range 60000 / fewer {
				w.push(r, 0)
			}
			const seconds = 10
			w.run(seconds * s)
			want := int(perSecond*seconds) + 1
			if most := want + int(perSecond*float64(burst)/float64(s)); w.starts < want || w.starts > most {
				t.Errorf("%+v: %d attempts in %ds, want %d to %d", r, w.starts, seconds, want, most)
			}
		}
	}
}

func TestSkippedGivesBackItsToken(t *testing.T) {
	d := New[string](Options{})
	push(d, 0, Rules{Queue: "q", Endpoint: "e", Rate: 1}, 100)
	for range 99 {
		ticket, _, ok := d.Next(0)
		if !ok {
			t.Fatal("a skipped item cost a token")
		}
		d.Done(0, ticket, Skipped)
	}
	d.Next(0)
	push(d, 0, Rules{Queue: "q", Endpoint: "e", Rate: 1}, 1)
	if _, _, ok := d.Next(s - 1); ok {
		t.Error("Next gave a second item within a second")
	}
	if at, ok := d.Wake(s - 1); !ok || at != s {
		t.Errorf("Wake = %v, %t; want %v", time.Duration(at), ok, time.Duration(s))
	}
	if _, _, ok := d.Next(s); !ok {
		t.Error("Next gave nothing after a second")
	}
}

func TestPause(t *testing.T) {
	for _, kind := range []string{"queue", "endpoint"} {
		t.Run(kind, func(t *testing.T) {
			d := New[string](Options{LineBound: 10})
			pause, resume, name := d.PauseQueue, d.ResumeQueue, "q"
			if kind == "endpoint" {
				pause, resume, name = d.PauseEndpoint, d.ResumeEndpoint, "e"
			}
			pause(0, name) // before the endpoint or queue is known
			push(d, 0, Rules{Queue: "q", Endpoint: "e"}, 20)
			push(d, 0, Rules{Queue: "other", Endpoint: "other"}, 1)
			if got := drain(t, d, 0, 1); got[0] != "other/other" {
				t.Fatalf("Next gave %v; want the item of other/other", got)
			}
			if _, item, ok := d.Next(0); ok {
				t.Fatalf("Next gave %s of a paused %s", item, kind)
			}
			if wait := d.Wait(0, lineID("q", "e")); wait != Forever {
				t.Errorf("Wait = %v, want Forever", wait)
			}
			if n := d.Totals().Waiting; n != 10 {
				t.Errorf("%d waiting, want the line's bound of 10", n)
			}
			if at, ok := d.Wake(0); ok {
				t.Errorf("Wake = %v, want none", at)
			}
			resume(0, name)
			drain(t, d, 0, 10)
		})
	}
}
