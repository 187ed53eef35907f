package source_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// run runs a source in a bubble; stop ends it and waits.
func run(b *broker, s *store) (from *source.Source, stop func()) {
	from = source.New(source.Options{Name: "test", Broker: b, Tasks: s, Into: "default", Logger: slog.New(slog.DiscardHandler)})
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

// TestTrouble: whatever fails, hangs or breaks off, each message is stored or with
// the dead letters in the end, and none is acknowledged before.
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
	b.bury = func() error {
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
		t.Fatalf("%d messages are left after an hour", left)
	}
	if len(b.dead) != messages/50*2 || s.count() != messages-len(b.dead) {
		t.Errorf("%d are stored and %d with the dead letters; want %d and %d", s.count(), len(b.dead), messages-messages/50*2, messages/50*2)
	}
}

// TestReasons: the log says of dead letters each reason, with its number of messages, in few lines.
func TestReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		for i := range 30 {
			b.publish(fmt.Sprint("no JSON", i), "{")
			b.publish(fmt.Sprint("no queue", i), "task bad")
		}
		for i := range 20 {
			b.publish(fmt.Sprint("other", i), fmt.Sprint("[", i))
		}
		var log bytes.Buffer
		from := source.New(source.Options{Name: "test", Broker: b, Tasks: s, Into: "default", Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			from.Run(ctx)
		}()
		for b.left() > 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		<-done
		by, lines := map[string]int{}, 0
		for text := range strings.Lines(log.String()) {
			var line struct {
				Msg, Err string
				Messages int
			}
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line.Msg, "messages can be no tasks") {
				by[line.Err] += line.Messages
				lines++
			}
		}
		if by["malformed JSON: {"] != 30 || by[`queue: there is no queue "default"`] != 30 {
			t.Errorf("the log has the reasons %v; want 30 messages that are no JSON, and 30 without a queue", by)
		}
		all := 0
		for _, n := range by {
			all += n
		}
		if all != 80 || lines > 40 { // at most 11 for those that are put away together, and they may be so in several groups
			t.Errorf("the log says of %d messages in %d lines that they are dead; want 80 in 40 at most", all, lines)
		}
	})
}

// TestPoison: a message that can be no task is with the dead letters, with the
// reason in one line, and holds nobody up: not even while it cannot be put there.
func TestPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		var open atomic.Bool
		b.bury = func() error {
			if !open.Load() {
				return errors.New("unroutable")
			}
			return nil
		}
		from, stop := run(b, s)
		defer stop()
		b.publish("no JSON", "{")
		b.publish("no queue", "task bad")
		b.publish("alias", "task aliased")
		b.publish("one", "task 1")
		b.publish("one", "task 2") // the key is there, with other content
		for i := range 1000 {
			b.publish(fmt.Sprint("other", i), "task x")
		}
		time.Sleep(time.Second)
		if n := s.count(); n != 1001 {
			t.Errorf("%d messages are stored while dead letters cannot be put away; want 1001", n)
		}
		if i := from.Info(); i.InHand != 4 || i.Dead != 0 || !strings.Contains(i.LastError, "unroutable") {
			t.Errorf("the source says %+v; want 4 in hand and why", i)
		}
		open.Store(true)
		time.Sleep(20 * time.Second)
		if i := from.Info(); i.Stored != 1001 || i.Dead != 4 || i.InHand != 0 || b.left() != 0 {
			t.Errorf("the source says %+v, %d are left; want all dealt with", i, b.left())
		}
		if want := "malformed JSON: {"; b.dead["no JSON"] != want {
			t.Errorf("the reason is %q; want %q", b.dead["no JSON"], want)
		}
		if !strings.Contains(b.dead["no queue"], `queue: there is no queue "default"`) || !strings.Contains(b.dead["one"], "key exists with other content") ||
			!strings.Contains(b.dead["alias"], "another task has this alias") {
			t.Errorf("reasons: %q", b.dead)
		}
	})
}

// TestManyDead: what cannot be put away takes no more than so much memory, and nothing
// of it is lost.
func TestManyDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		b.prefetch = 40_000 // as a broker that hands everything over again
		var open atomic.Bool
		b.bury = func() error {
			if !open.Load() {
				return errors.New("unroutable")
			}
			return nil
		}
		from, stop := run(b, s)
		defer stop()
		const messages = 30_000
		for i := range messages {
			b.publish(fmt.Sprint("dead", i), "{")
		}
		time.Sleep(time.Minute)
		if i := from.Info(); i.InHand < 20_000 || i.InHand > 20_000+2*3*source.BatchMost {
			t.Errorf("%d are in hand; want 20,000 and what is being taken", i.InHand)
		}
		open.Store(true)
		time.Sleep(time.Minute)
		if i := from.Info(); i.Dead != messages || i.InHand != 0 || b.left() != 0 {
			t.Errorf("the source says %+v, %d are left; want all dealt with", i, b.left())
		}
	})
}

// TestFlow: while there is no room nothing is taken, what was taken is finished, and
// it goes on when there is room.
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
			t.Fatalf("%d are stored and %d left; want some of each, and none in between", stored, b.left())
		}
		if i := from.Info(); i.State != source.Paused || i.Why != "overloaded: 7 tasks wait" || i.InHand != 0 {
			t.Errorf("the source says %+v; want it paused", i)
		}
		time.Sleep(time.Hour)
		if n := s.count(); n != stored {
			t.Errorf("%d were taken while there was no room", n-stored)
		}
		s.close("")
		time.Sleep(time.Minute)
		if i := from.Info(); i.State != source.Consuming || s.count() != 10_000 || b.opened != 1 {
			t.Errorf("the source says %+v with %d stored, %d sessions; want all, in one", i, s.count(), b.opened)
		}
	})
}

// TestMark: a source sees that there is no more room as soon as a batch is stored, and
// takes no more than what it has in hand.
func TestMark(t *testing.T) {
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
			t.Errorf("%d are stored with a mark of %d; want at most %d", n, s.high, most)
		}
	})
}

// TestBatches: while the store is busy the next batch gathers, however few messages the
// broker hands over at once.
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
				t.Fatalf("%d are in hand; want %d, which were handed over and are not acknowledged", in, out)
			}
		}
		time.Sleep(time.Second)
		// Two are stored at a time, each for 100 ms, and what comes meanwhile is the next.
		if n := s.count(); n != 1000 || s.calls > 25 {
			t.Errorf("%d messages were stored in %d batches; want 1000 in some 20", n, s.calls)
		}
	})
}

// TestStop: what was taken is stored and acknowledged; where the store hangs, a stop
// is over all the same, and the messages are still with the broker.
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
				t.Errorf("the stop took %v, %d of %d that are stored are acknowledged", took, len(b.acked), s.count())
			case hang == time.Hour && (len(b.acked) != 0 || b.left() != 10_000):
				t.Errorf("%d are acknowledged and %d left; want all left", len(b.acked), b.left())
			}
			if from.Info().State != source.Stopped {
				t.Errorf("the source says %+v", from.Info())
			}
		})
	}
}

// TestAway: a broker that is away for a day is asked again and again, but seldom.
func TestAway(t *testing.T) {
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
			t.Errorf("the source says %+v after half a day; want it to have tried each 7.5 to 15 s", i)
		}
		time.Sleep(12*time.Hour + 16*time.Second)
		if s.count() != 1 {
			t.Error("the broker is back, and the message is not stored 16 s later")
		}
	})
}

// TestKeys: an id that can be no key is one all the same.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		long, control := strings.Repeat("x", 300), "a\nb"
		s.kept[long], s.kept[control] = "", "" // Ack looks for ids
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
			t.Errorf("keys %q; want two that are hashes", s.kept)
		}
	})
}
