package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// A point is where the server is killed: a step in the life of an order with a certain fate.
type point struct{ fate, step string }

var points = []point{
	{"unpaid", "poll"}, {"unpaid", "ask"}, {"unpaid", "close"}, {"unpaid", "confirm 1"}, {"unpaid", "tell decided"}, {"unpaid", "watch"},
	{"sluggish", "close"}, {"sluggish", "confirm 1"}, {"sluggish", "confirm 2"}, // orders whose close shows only later
	{"paid", "poll"}, {"paid", "tell decided"},
	{"paid-as-it-expires", "ask"},
	{"paid-at-the-close", "close"}, {"paid-at-the-close", "ask again"},
	{"paid-after-the-close", "confirm 1"},
	{"paid-late", "watch"}, {"paid-late", "tell late_payment"},
}

// name names the point's order and its queue. A queue is one endpoint, and an endpoint that does
// not answer for a while gets few requests at once. So each point has its own.
func (at point) name() string { return strings.ReplaceAll(at.fate+"-"+at.step, " ", "-") }

// step names the step of an order's watch to which a request belongs.
func (b *bill) step(what string) string {
	switch {
	case what == "close":
		return "close"
	case slices.Contains([]string{"unpaid", "paid-late"}, b.fate) && b.after > 0: // the first query after the close decided
		return "watch"
	case b.closes > 0 && b.after == 0:
		return "confirm 1"
	case b.closes > 0:
		return "confirm 2"
	case b.state == "SUCCESS":
		return "ask again"
	case time.Now().Before(b.expires):
		return "poll"
	}
	return "ask"
}

// A stop holds each order at its point, and releases all of them at once.
type stop struct {
	at      map[string]string // order → step
	reached chan string
	let     chan struct{}
}

func (h *stop) queues() []string { return slices.Sorted(maps.Keys(h.at)) }

// hold holds a request of an order if this is its point. It returns false if the client gave up
// meanwhile. The till's mu is held at the call, and released meanwhile.
func (h *stop) hold(l *till, b *bill, r *http.Request, step string) bool {
	if b.held != "" || h.at[b.no] != step {
		return true
	}
	b.held = step
	l.mu.Unlock()
	defer l.mu.Lock()
	h.reached <- b.no
	select {
	case <-h.let:
		return true
	case <-r.Context().Done():
		return false
	}
}

// script plays the channel and the merchant for each fate.
func (h *stop) script(l *till) {
	l.answer = func(b *bill, r *http.Request, s *visit) {
		step := b.step(s.what)
		if !h.hold(l, b, r, step) {
			return
		}
		switch b.fate + ": " + step {
		case "paid: poll", "paid: ask", "paid-as-it-expires: ask", "paid-at-the-close: close", "paid-after-the-close: confirm 1", "paid-late: watch":
			b.state = "SUCCESS"
		}
		switch {
		case s.what == "close":
			b.shut(s)
		case b.fate == "sluggish":
			b.says(s, "NOTPAY")
		default:
			b.says(s, b.state)
		}
		if s.what == "query" && b.closes > 0 {
			b.after++
		}
	}
	l.tell = func(b *bill, r *http.Request, s *visit, told notice) {
		step := "tell decided"
		if told.LatePayment != "" {
			step = "tell late_payment"
		}
		if !h.hold(l, b, r, step) {
			s.status, s.body = 0, ""
		}
	}
}

// The server is killed between any two steps of an order's life: before an answer, between the
// answer and its record, and after the record. The next start goes on from there.
func TestOrderKilledAtEachStep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		kill func(t *testing.T, l *till, h *stop, p *process)
		lost int // number of each order's requests that are in no log
	}{
		{"before the answer", func(_ *testing.T, _ *till, _ *stop, p *process) { p.kill() }, 1},
		{"before the record", func(t *testing.T, l *till, h *stop, p *process) {
			p.freeze() // the answers arrive but are not read
			close(h.let)
			eventually.True(t, "answered", func() bool {
				l.mu.Lock()
				defer l.mu.Unlock()
				return l.owed == 0
			})
			p.kill()
		}, 1},
		{"after the record", func(t *testing.T, l *till, h *stop, p *process) {
			for _, queue := range append(h.queues(), "tell") { // attempts in flight finish, and nothing follows
				if err := p.client().PauseQueue(t.Context(), queue, because); err != nil {
					t.Fatal(err)
				}
			}
			close(h.let)
			for no := range h.at {
				eventually.True(t, "recorded", func() bool { return l.recorded(t, p, no) })
			}
			p.kill()
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var l till
			h := &stop{at: map[string]string{}, reached: make(chan string, len(points)), let: make(chan struct{})}
			h.script(&l)
			l.start(t)
			for _, at := range points {
				h.at[at.name()] = at.step
			}
			settings := l.settings(t, h.queues(), "schedule: 50ms, 1h*", "confirm: 0s, 200ms", "late_watch: 700ms", "timeout: 5m")
			dir := t.TempDir() + "/data"
			p := serveStore(t, dir, "--config", settings)
			var bills, polled []*bill
			for _, at := range points {
				b := &bill{no: at.name(), queue: at.name(), fate: at.fate}
				if at.step == "poll" {
					polled = append(polled, b)
				} else {
					bills = append(bills, b)
				}
			}
			l.place(t, p.client(), 20*time.Second, polled...) // a slow machine queries before that
			l.place(t, p.client(), 3*time.Second, bills...)
			bills = append(bills, polled...)
			timeout := time.After(patient)
			for left := maps.Clone(h.at); len(left) > 0; {
				select {
				case no := <-h.reached:
					delete(left, no)
				case <-timeout:
					var saw []string
					for _, b := range bills {
						if left[b.no] != "" {
							saw = append(saw, fmt.Sprintf("%s, which expires at %v: %s", b.no, b.expires, brief(b.visits)))
						}
					}
					t.Fatalf("these points were not reached: %v; the channel saw %q; log of the server:\n%s", left, saw, p.log.String())
				}
			}
			tt.kill(t, &l, h, p)
			l.killed(t)

			p = serveStore(t, dir, "--config", settings)
			for _, queue := range append(h.queues(), "tell") {
				if err := p.client().ResumeQueue(t.Context(), queue, because); err != nil {
					t.Fatal(err)
				}
			}
			l.finish(t, p)
			for _, b := range bills {
				page := l.check(t, p.client(), b)
				if lost := l.seen(b) - len(page.Attempts); lost != tt.lost {
					t.Errorf("order %s: %d requests are in no log; want %d: %s", b.no, lost, tt.lost, brief(b.visits))
				}
				want, late := "PAID", ""
				switch b.fate {
				case "unpaid", "sluggish":
					want = "CLOSED"
				case "paid-late":
					want, late = "CLOSED", "PAID"
				}
				if page.OrderState != want || page.LatePayment != late {
					t.Errorf("order %s is %s, late payment %q; want %s, %q; the channel saw %s", b.no, page.OrderState, page.LatePayment, want, late, brief(b.visits))
				}
			}
			p.stop()
		})
	}
}
