package source_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// run runs a source in a bubble. stop ends it and waits.
func run(b *broker, s *store) (from *source.Source, stop func()) {
	return runLogged(b, s, io.Discard)
}

// runLogged is run with a log.
func runLogged(b *broker, s *store, log io.Writer) (from *source.Source, stop func()) {
	from = source.New(source.Options{Name: "test", Broker: b, Tasks: s, Into: "default", Logger: slog.New(slog.NewTextHandler(log, nil))})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		from.Run(ctx)
	}()
	return from, func() {
		cancel()
		<-done
	}
}

// Whatever fails, hangs or breaks off, each message ends up stored or among the dead letters. None
// is acknowledged before that.
func TestTrouble(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) { trouble(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func trouble(t *testing.T, random *rand.Rand) {
	s := newStore()
	b := newBroker(t, s)
	chance := func(n int) func() bool {
		var own = rand.New(rand.NewPCG(random.Uint64(), 1))
		turn := make(chan struct{}, 1)
		return func() bool {
			turn <- struct{}{}
			defer func() { <-turn }()
			return own.IntN(n) == 0
		}
	}
	fails, hangs, lost, shut, gone := chance(4), chance(6), chance(8), chance(3), chance(3)
	s.take = func() error {
		if hangs() {
			time.Sleep(3 * time.Second)
		}
		if fails() {
			return bellman.ErrUnreachable
		}
		return nil
	}
	s.lost = lost
	b.open = func() error {
		if gone() {
			return errors.New("connection refused")
		}
		return nil
	}
	b.storeDead = func(string) error {
		if shut() {
			return errors.New("unroutable")
		}
		return nil
	}
	_, stop := run(b, s)
	const messages = 3000
	for i := range messages {
		body := "task " + fmt.Sprint(i)
		switch i % 50 {
		case 7:
			body = "no task"
		case 9:
			body = "task bad"
		}
		b.publish(fmt.Sprint("m", i), body)
		if i%100 == 0 {
			time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
		}
		if i%700 == 699 {
			b.cut()
		}
		if i%900 == 899 {
			s.close("overloaded")
			time.Sleep(5 * time.Second)
			s.close("")
		}
	}
	began := time.Now()
	for b.left() > 0 && time.Since(began) < time.Hour {
		time.Sleep(time.Second)
	}
	stop()
	if left := b.left(); left > 0 {
		t.Fatalf("%d messages are left after an hour; want none", left)
	}
	if len(b.dead) != messages/50*2 || s.count() != messages-len(b.dead) {
		t.Errorf("%d messages are stored and %d are dead letters; want %d and %d", s.count(), len(b.dead), messages-messages/50*2, messages/50*2)
	}
}

// Tasks with an ordering key are stored in the order of their messages, although batches are stored
// side by side. Other tasks do not wait for them.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var calls atomic.Int32
		s.take = func() error { // the first batch takes longest, and fails at first
			switch calls.Add(1) {
			case 1:
				time.Sleep(time.Second)
				return bellman.ErrUnreachable
			case 2:
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}
		b := newBroker(t, s)
		_, stop := run(b, s)
		for _, id := range []string{"ordered 1", "other", "ordered 2", "ordered 3"} {
			b.publish(id, "task "+id)
			time.Sleep(100 * time.Millisecond) // a batch for each
		}
		time.Sleep(time.Minute)
		stop()
		if got := strings.Join(s.order, ", "); got != "other, ordered 1, ordered 2, ordered 3" {
			t.Errorf("the tasks are stored in the order %s", got)
		}
	})
}

// A valid message whose merchant cannot be read, because the database is away, waits. It is no dead
// letter, and delays no other message.
func TestCheckedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		var away atomic.Bool
		away.Store(true)
		s.check = func(body string) error {
			if body == "never" || away.Load() && body == "merchant" {
				return &source.Later{Err: bellman.ErrUnreachable}
			}
			return nil
		}
		from, stop := run(b, s)
		defer stop()
		b.publish("never", "task never")
		for i := range 10 {
			b.publish(fmt.Sprint("merchant", i), "task merchant")
			b.publish(fmt.Sprint("other", i), "task x")
		}
		time.Sleep(time.Minute)
		if i := from.Info(); s.count() != 10 || i.Dead != 0 || b.left() != 11 || !strings.Contains(i.LastError, "cannot be reached") {
			t.Errorf("%d messages are stored and %d left, %+v; want 10 and 11, no dead letter, and the error", s.count(), b.left(), i)
		}
		away.Store(false)
		time.Sleep(time.Minute)
		if i := from.Info(); s.count() != 20 || i.Dead != 0 || b.left() != 1 {
			t.Errorf("%d messages are stored and %d left, %+v; want 20 and 1, and no dead letter", s.count(), b.left(), i)
		}
	})
}

// While the store has no room, nothing is taken. Messages that were taken before are finished. The
// source goes on when there is room.
func TestFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.take = func() error {
			time.Sleep(50 * time.Millisecond)
			return nil
		}
		b := newBroker(t, s)
		from, stop := run(b, s)
		defer stop()
		for i := range 10_000 {
			b.publish(fmt.Sprint(i), "task x")
		}
		time.Sleep(500 * time.Millisecond)
		s.close("overloaded: 7 tasks wait")
		time.Sleep(time.Second)
		stored := s.count()
		if stored == 0 || stored == 10_000 || b.left() != 10_000-stored {
			t.Fatalf("%d messages are stored and %d left; want some of each, and none in hand", stored, b.left())
		}
		if i := from.Info(); i.State != source.Paused || i.Why != "overloaded: 7 tasks wait" || i.InHand != 0 {
			t.Errorf("Info() = %+v; want it paused", i)
		}
		time.Sleep(time.Hour)
		if n := s.count(); n != stored {
			t.Errorf("%d messages were taken while there was no room; want none", n-stored)
		}
		s.close("")
		time.Sleep(time.Minute)
		if i := from.Info(); i.State != source.Consuming || s.count() != 10_000 || b.opened != 1 {
			t.Errorf("Info() = %+v with %d stored in %d sessions; want all in one session", i, s.count(), b.opened)
		}
	})
}

// A source notices as soon as a batch is stored that there is no more room. It stores no more than
// it has in hand.
func TestStopsAtLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.high = 2000
		s.take = func() error {
			time.Sleep(time.Millisecond)
			return nil
		}
		b := newBroker(t, s)
		_, stop := run(b, s)
		defer stop()
		for i := range 20_000 {
			b.publish(fmt.Sprint(i), "task x")
		}
		time.Sleep(time.Second)
		if n, most := s.count(), s.high+3*b.prefetch; n < s.high || n > most {
			t.Errorf("%d messages are stored with a limit of %d; want at most %d", n, s.high, most)
		}
	})
}

// While the store is busy, the next batch gathers, even if the broker delivers few messages at a
// time.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.take = func() error {
			time.Sleep(100 * time.Millisecond)
			return nil
		}
		b := newBroker(t, s)
		b.prefetch = 10_000
		from, stop := run(b, s)
		defer stop()
		for i := range 1000 {
			b.publish(fmt.Sprint(i), "task x")
			time.Sleep(time.Millisecond)
			synctest.Wait()
			b.mu.Lock()
			out := len(b.out)
			b.mu.Unlock()
			if in := from.Info().InHand; in != out {
				t.Fatalf("%d messages are in hand; want %d, the number of delivered and unacknowledged ones", in, out)
			}
		}
		time.Sleep(time.Second)
		// Two batches are stored at a time, each for 100 ms. Messages that arrive meanwhile form
		// the next batch.
		if n := s.count(); n != 1000 || s.calls > 25 {
			t.Errorf("%d messages were stored in %d batches; want 1000 in about 20", n, s.calls)
		}
	})
}

// At a stop, messages that were taken are stored and acknowledged. If the store hangs, the stop
// ends in time all the same, and the messages stay with the broker.
func TestStop(t *testing.T) {
	for _, hang := range []time.Duration{time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := newStore()
			b := newBroker(t, s)
			s.take = func() error {
				time.Sleep(hang)
				return bellman.ErrUnreachable
			}
			if hang == time.Second {
				s.take = func() error {
					time.Sleep(hang)
					return nil
				}
			}
			from, stop := run(b, s)
			for i := range 10_000 {
				b.publish(fmt.Sprint(i), "task x")
			}
			time.Sleep(500 * time.Millisecond)
			began := time.Now()
			stop()
			took := time.Since(began)
			switch {
			case hang == time.Second && (took > 2*time.Second || len(b.acked) == 0 || len(b.acked) != s.count()):
				t.Errorf("the stop took %v, with %d of %d stored messages acknowledged; want all in time", took, len(b.acked), s.count())
			case hang == time.Hour && (len(b.acked) != 0 || b.left() != 10_000):
				t.Errorf("%d messages are acknowledged and %d left; want all left", len(b.acked), b.left())
			}
			if from.Info().State != source.Stopped {
				t.Errorf("Info() = %+v; want nothing in hand", from.Info())
			}
		})
	}
}

// A broker that is away for a day is tried again and again, but rarely.
func TestBrokerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		began := time.Now()
		b.open = func() error {
			if time.Since(began) < 24*time.Hour {
				return errors.New("connection refused")
			}
			return nil
		}
		from, stop := run(b, s)
		defer stop()
		b.publish("1", "task x")
		time.Sleep(12 * time.Hour)
		if i := from.Info(); i.State != source.Connecting || i.Why != "connection refused" || i.Failures < 2000 || i.Failures > 6000 {
			t.Errorf("Info() = %+v after half a day; want a try each 7.5 to 15 s", i)
		}
		time.Sleep(12*time.Hour + 16*time.Second)
		if s.count() != 1 {
			t.Error("the message is not stored 16 s after the broker was back")
		}
	})
}

// While a source connects again, its reason is the last error: a broker that does not answer takes
// long to fail, and is in the list of what needs attention all that time.
func TestReasonStaysWhileConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		b.open = func() error {
			time.Sleep(10 * time.Second)
			return errors.New("no answer")
		}
		from, stop := run(b, s)
		defer stop()
		time.Sleep(time.Second)
		if i := from.Info(); i.State != source.Connecting || i.Why != "" {
			t.Errorf("Info() = %+v before the first error; want it connecting, without a reason", i)
		}
		for range 60 {
			time.Sleep(10 * time.Second)
			if i := from.Info(); i.State != source.Connecting || i.Why != "no answer" {
				t.Fatalf("Info() = %+v after %d failures; want it connecting, with the last error", i, i.Failures)
			}
		}
	})
}

// A message id that is not a valid key is turned into one.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		long, control := strings.Repeat("x", 300), "a\nb"
		s.kept[long], s.kept[control] = "", "" // Ack looks for the ids
		_, stop := run(b, s)
		b.publish(long, "task 1")
		b.publish(control, "task 2")
		time.Sleep(time.Second)
		stop()
		hashed := 0
		for key := range s.kept {
			if strings.HasPrefix(key, "sha256:") && len(key) == 71 {
				hashed++
			}
		}
		if hashed != 2 {
			t.Errorf("keys %q; want two hashes", s.kept)
		}
	})
}
