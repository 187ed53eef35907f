package source_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// The log names each reason for dead letters with the number of its messages, in few lines.
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
			t.Errorf("the log has the reasons %v; want 30 messages that are not JSON, and 30 without a queue", by)
		}
		all := 0
		for _, n := range by {
			all += n
		}
		if all != 80 || lines > 40 { // at most 11 lines for each group that is stored together, and several groups are possible
			t.Errorf("the log reports %d dead letters in %d lines; want 80 in at most 40", all, lines)
		}
	})
}

// A message that cannot be a task becomes a dead letter, with the reason in one line. It delays no
// other message, not even while dead letters cannot be stored.
func TestPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		open := b.closeDead()
		from, stop := run(b, s)
		defer stop()
		b.publish("no JSON", "{")
		b.publish("no queue", "task bad")
		b.publish("alias", "task aliased")
		b.publish("one", "task 1")
		b.publish("one", "task 2") // the key exists already with other content
		for i := range 1000 {
			b.publish(fmt.Sprint("other", i), "task x")
		}
		time.Sleep(time.Second)
		if n := s.count(); n != 1001 {
			t.Errorf("%d messages are stored while dead letters cannot be stored; want 1001", n)
		}
		if i := from.Info(); i.InHand != 4 || i.Dead != 0 || !strings.Contains(i.LastError, "unroutable") {
			t.Errorf("Info() = %+v; want 4 in hand, and the error", i)
		}
		open.Store(true)
		time.Sleep(20 * time.Second)
		if i := from.Info(); i.Stored != 1001 || i.Dead != 4 || i.InHand != 0 || b.left() != 0 {
			t.Errorf("Info() = %+v with %d messages left; want none", i, b.left())
		}
		if want := "malformed JSON: {"; b.dead["no JSON"] != want {
			t.Errorf("the reason of the dead letter is %q; want %q", b.dead["no JSON"], want)
		}
		if !strings.Contains(b.dead["no queue"], `queue: there is no queue "default"`) || !strings.Contains(b.dead["one"], "key exists with other content") ||
			!strings.Contains(b.dead["alias"], "another task has this alias") {
			t.Errorf("reasons of the dead letters: %q", b.dead)
		}
	})
}

// Dead letters that cannot be stored do not keep a source from going on after a pause, and a stop
// does not wait for them.
func TestPoisonBeforePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		open := b.closeDead()
		from, stop := run(b, s)
		b.publish("no JSON", "{")
		time.Sleep(time.Second)
		s.close("overloaded: 7 tasks wait")
		time.Sleep(time.Second)
		s.close("")
		b.publish("other", "task x")
		time.Sleep(time.Second)
		if i := from.Info(); i.State != source.Consuming || i.Stored != 1 || i.InHand != 1 {
			t.Errorf("Info() = %+v a second after the pause; want it to consume, the other message stored and the dead letter in hand", i)
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took > 6*time.Second || b.left() != 1 || from.Info().InHand != 0 {
			t.Errorf("the stop took %v with %d messages left, %+v; want 5 s, and the dead letter left", took, b.left(), from.Info())
		}
		open.Store(true)
		from, stop = run(b, s)
		time.Sleep(time.Second)
		stop()
		if i := from.Info(); i.Dead != 1 || b.left() != 0 {
			t.Errorf("Info() = %+v with %d messages left; want one dead letter", i, b.left())
		}
	})
}

// The broker refuses one dead letter of a group. Only that one is stored again, and it holds back
// no others.
func TestOneDeadLetterRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		var open atomic.Bool
		b.storeDead = func(id string) error {
			if id == "refused" && !open.Load() {
				return errors.New("full")
			}
			return nil
		}
		from, stop := run(b, s)
		b.publish("refused", "{")
		for i := range 40 {
			if i == 20 {
				time.Sleep(time.Minute)
			}
			b.publish(fmt.Sprint("dead", i), "{")
		}
		time.Sleep(time.Minute)
		if i := from.Info(); i.Dead != 40 || i.InHand != 1 || b.left() != 1 || i.LastError != "full" {
			t.Errorf("Info() = %+v with %d messages left; want all dead letters stored but one", i, b.left())
		}
		open.Store(true)
		time.Sleep(time.Minute)
		if i := from.Info(); i.Dead != 41 || i.InHand != 0 || b.left() != 0 {
			t.Errorf("Info() = %+v with %d messages left; want all dead letters stored", i, b.left())
		}
		stop()
		for id, n := range b.storedDead {
			if n != 1 {
				t.Errorf("dead letter %s is stored %d times; want once", id, n)
			}
		}
	})
}

// Dead letters that cannot be stored take a limited amount of memory, and none is lost.
func TestManyDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, s)
		b.prefetch = 40_000 // like a broker that delivers everything again
		open := b.closeDead()
		from, stop := run(b, s)
		defer stop()
		const messages = 30_000
		for i := range messages {
			b.publish(fmt.Sprint("dead", i), "{")
		}
		time.Sleep(time.Minute)
		if i := from.Info(); i.InHand < 20_000 || i.InHand > 20_000+2*3*source.BatchMost {
			t.Errorf("%d messages are in hand; want 20,000 and those being taken", i.InHand)
		}
		open.Store(true)
		time.Sleep(time.Minute)
		if i := from.Info(); i.Dead != messages || i.InHand != 0 || b.left() != 0 {
			t.Errorf("Info() = %+v with %d messages left; want none", i, b.left())
		}
	})
}
