package poll

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// A world is a hostile channel and what really happened there.
type world struct {
	*rand.Rand
	h      *house
	errors int           // percent of answers that are lost
	lies   int           // percent of answers that say something else than what is
	lag    time.Duration // so long a refund is unknown to queries
	takes  time.Duration // so long it lasts
	ends   Reading

	numbers  map[string]bool // under which something was requested
	arrived  int             // requests that reached the channel
	since    time.Time       // of the first that did; zero: none
	sent     time.Time       // when the last request was sent, arrived or not
	stated   map[Reading]bool
	notFound time.Time // start of the last query that was answered NOT_FOUND; zero: another state was answered since
	wrong    string
}

func (w *world) percent(p int) bool { return w.IntN(100) < p }

func (w *world) query(o *order.Order) Answer {
	at := w.h.now
	a := Answer{Reading: Waiting, Answer: said("query")}
	switch {
	case w.percent(w.lies):
		a.Reading = Reading(w.IntN(int(FailedThere) + 1))
	case w.since.IsZero() || at.Before(w.since.Add(w.lag)):
		a.Reading = NotFound
	case !at.Before(w.since.Add(w.takes)):
		a.Reading = w.ends
	}
	if w.percent(w.errors) {
		a = Answer{Answer: order.Answer{Result: bellman.TimedOut, Throttled: w.percent(30)}}
	}
	w.stated[a.Reading] = true
	switch a.Reading {
	case NotFound:
		w.notFound = at
	case QueryError:
	default:
		w.notFound = time.Time{}
	}
	return a
}

func (w *world) request(o *order.Order) RequestAnswer {
	at := w.h.now
	if !w.sent.IsZero() && (w.notFound.IsZero() || w.notFound.Before(w.sent.Add(RequestGap))) {
		w.wrong = fmt.Sprintf("a second request at %v, the one before at %v, NOT_FOUND at %v", at, w.sent, w.notFound)
	}
	w.numbers[o.RefNo], w.sent, w.notFound = true, at, time.Time{}
	switch {
	case w.percent(w.errors):
		if w.percent(50) {
			w.arrive(at)
		}
		return RequestAnswer{Answer: order.Answer{Result: bellman.TimedOut}}
	case w.percent(w.lies):
		return RequestAnswer{Answer: order.Answer{Status: 403}, Reading: RequestRefused}
	}
	w.arrive(at)
	return RequestAnswer{Answer: said("request"), Reading: RequestAccepted}
}

func (w *world) arrive(at time.Time) {
	w.arrived++
	if w.since.IsZero() {
		w.since = at
	}
}

// live plays one life with crashes between any two steps, and returns what is wrong with it; empty:
// nothing.
func live(t testing.TB, seed uint64) string {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 1)), numbers: map[string]bool{}, stated: map[Reading]bool{}}
	asks := w.percent(70)
	w.h = newHouse(t, func(r *Rules) { r.Request = asks })
	w.h.channel.query, w.h.channel.request = w.query, w.request
	w.errors, w.lies = []int{0, 5, 30, 80}[w.IntN(4)], []int{0, 0, 5, 30}[w.IntN(4)]
	w.lag = time.Duration(w.IntN(int(RequestGap)))
	w.takes = w.lag + time.Duration(w.Int64N(int64(48*time.Hour)))
	w.ends = Done + Reading(w.IntN(2))
	if !asks {
		w.since = created
	}
	task := w.h.refund([]string{"", "1m*3", "10s*", "@ 5s, 1m, 10m", "1h*2; max 3h", "alipay_refund"}[w.IntN(6)])
	crashes := w.IntN(20)
	for range 3000 {
		if task.State.Ended() {
			break
		}
		if w.percent(3) && task.Before == nil {
			task.Trigger, task.Before = bellman.ByHand, &bellman.Before{Due: task.Due}
		} else if w.percent(2) {
			task.Trigger = bellman.BySettle
		}
		if task.Before == nil && task.Due.After(w.h.now) {
			w.h.now = task.Due
		}
		if w.percent(5) {
			w.h.now = w.h.now.Add(time.Duration(w.Int64N(int64(2 * time.Hour)))) // nobody was there
		}
		number := int(task.Attempts) + 1
		if w.percent(crashes) { // the node dies before the attempt, or after it and before the record
			if w.percent(50) {
				w.h.handler.Attempt(context.Background(), task, number)
			}
			if w.percent(50) {
				task.Attempts++
			}
			task.Phase = bellman.Announced
			continue
		}
		v := w.h.handler.Attempt(context.Background(), task, number)
		took := time.Duration(w.IntN(int(5 * time.Second)))
		w.h.now = w.h.now.Add(took)
		if w.percent(1) { // somebody changed the task meanwhile: the verdict is only logged
			task.Attempts++
			task.Phase, task.Trigger, task.Before = bellman.Waiting, bellman.BySchedule, nil
			continue
		}
		w.h.record(task, v)
		if _, err := ParseLife(task.Data); err != nil {
			return err.Error()
		}
	}
	l := w.h.life(task)
	switch {
	case w.wrong != "":
		return w.wrong
	case len(w.numbers) > 1:
		return fmt.Sprintf("requested under %v", w.numbers)
	case w.lies == 0 && w.arrived > 1:
		return fmt.Sprintf("%d requests arrived", w.arrived)
	case task.State == bellman.Failed:
		return "it failed: " + task.Reason
	case !task.State.Ended():
		if w.lies == 0 && w.arrived > 0 {
			return "it never ended"
		}
		return ""
	case !w.stated[map[string]Reading{StateDone: Done, StateFailedThere: FailedThere}[l.State]]:
		return "it became " + l.State + ", which the channel never said"
	case w.lies == 0 && l.State != w.ends.String():
		return fmt.Sprintf("it became %s, and is %v", l.State, w.ends)
	case w.h.tells != 1 || len(w.h.told) != 1:
		return fmt.Sprintf("the merchant was told %d times", w.h.tells)
	}
	return ""
}

func TestLives(t *testing.T) {
	n := uint64(4_000)
	if testing.Short() {
		n = 400
	}
	for seed := range n {
		if wrong := live(t, seed); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
	}
}
