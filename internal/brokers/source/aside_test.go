package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// Messages that can neither be stored nor be dead letters hold back no others, and do not keep a
// source from going on after a pause: such as those whose check panics, or whose merchant is in the
// store and cannot be read.
func TestStuckMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.check = func(body string) error {
			if body == "unread" {
				return &source.Later{Err: errors.New("read merchant M1: unexpected end of JSON input")}
			}
			return nil
		}
		s.reject = func(body string) error {
			if body == "panics" {
				return errors.New("check a task of queue default: it panicked")
			}
			return nil
		}
		b := newBroker(t, s)
		from, stop := run(b, s)
		others := 0
		rest := func(when string) {
			t.Helper()
			before := s.count()
			for range 100 {
				others++
				b.publish(fmt.Sprint("other", others), "task x")
			}
			time.Sleep(time.Minute)
			if n := s.count() - before; n != 100 {
				t.Errorf("%d of 100 other messages are stored %s; want all", n, when)
			}
		}
		for i := range 4 {
			for _, body := range []string{"unread", "panics"} {
				b.publish(fmt.Sprint(body, i), "task "+body)
				time.Sleep(time.Second) // a batch for each
			}
		}
		time.Sleep(time.Minute)
		rest("beside them")
		s.close("overloaded: 7 tasks wait")
		time.Sleep(10 * time.Second)
		s.close("")
		rest("after a pause")
		if i := from.Info(); i.State != source.Consuming || i.InHand != 8 || i.Dead != 0 || b.opened != 1 {
			t.Errorf("Info() = %+v in %d sessions; want one that consumes, with 8 in hand", i, b.opened)
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took > 10*time.Second || b.left() != 8 {
			t.Errorf("the stop took %v, and %d messages are left; want 8 in time", took, b.left())
		}
	})
}

// Tasks with an ordering key wait behind one that cannot be stored, and keep their order. They do
// not wait for a stuck task without a key, and a later message without a key does not wait for
// them.
func TestStuckOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var stuck atomic.Bool
		stuck.Store(true)
		s.reject = func(body string) error {
			if stuck.Load() && (body == "ordered 1" || body == "panics") {
				return errors.New("check a task of queue default: it panicked")
			}
			return nil
		}
		b := newBroker(t, s)
		_, stop := run(b, s)
		defer stop()
		publish := func(id string) {
			b.publish(id, "task "+id)
			time.Sleep(10 * time.Second) // a batch for each
		}
		stored := func() string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return strings.Join(s.order, ", ")
		}
		publish("panics")
		for i := range 5 {
			publish(fmt.Sprint("ordered ", i))
		}
		publish("other")
		time.Sleep(time.Minute)
		if got := stored(); got != "ordered 0, other" {
			t.Errorf("the stored tasks are %s; want ordered 0 and the other one", got)
		}
		stuck.Store(false)
		time.Sleep(time.Minute)
		if got := strings.Replace(stored(), ", panics", "", 1); got != "ordered 0, other, ordered 1, ordered 2, ordered 3, ordered 4" {
			t.Errorf("the tasks are stored in the order %s", got)
		}
	})
}

// A task with an ordering key that cannot be stored keeps its place during a pause: tasks that come
// after the pause wait for it.
func TestStuckOrderOverPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var stuck atomic.Bool
		stuck.Store(true)
		s.reject = func(body string) error {
			if stuck.Load() && body == "ordered 1" {
				return errors.New("check a task of queue default: it panicked")
			}
			return nil
		}
		b := newBroker(t, s)
		from, stop := run(b, s)
		defer stop()
		b.publish("ordered 1", "task ordered 1")
		time.Sleep(10 * time.Second)
		s.close("overloaded: 7 tasks wait")
		time.Sleep(10 * time.Second)
		s.close("")
		b.publish("ordered 2", "task ordered 2")
		time.Sleep(time.Minute)
		stored := func() string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return strings.Join(s.order, ", ")
		}
		if state := from.Info().State; state != source.Consuming || stored() != "" {
			t.Errorf("after the pause the source is %s, and has stored %q; want consuming, and nothing before ordered 1", state, stored())
		}
		stuck.Store(false)
		time.Sleep(time.Minute)
		if got := stored(); got != "ordered 1, ordered 2" {
			t.Errorf("the tasks are stored in the order %s; want ordered 1 first", got)
		}
	})
}

// The log of a stop says once that messages could not be stored in time, whether the store hangs or
// they were set aside. It does not speak of dead letters, because there are none.
func TestStopSaysOnce(t *testing.T) {
	for _, hangs := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newStore()
			s.take = func() error {
				if hangs {
					time.Sleep(time.Hour)
				}
				return bellman.ErrUnreachable
			}
			b := newBroker(t, s)
			var log bytes.Buffer
			_, stop := runLogged(b, s, &log)
			b.publish("one", "task x")
			time.Sleep(10 * time.Second)
			stop()
			if n := strings.Count(log.String(), "could not be stored in time"); n != 1 {
				t.Errorf("with a store that hangs (%t) the log says it %d times; want once:\n%s", hangs, n, &log)
			}
		})
	}
}

// A batch that was set aside because it waited for an earlier one, and then cannot be stored for a
// reason of its own: the log has that reason, once.
func TestStuckBehindIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var stuck atomic.Bool
		stuck.Store(true)
		s.reject = func(body string) error {
			switch {
			case body == "ordered 1" && stuck.Load():
				return errors.New("the first reason")
			case body == "ordered 2":
				return errors.New("the second reason")
			}
			return nil
		}
		b := newBroker(t, s)
		var log bytes.Buffer
		_, stop := runLogged(b, s, &log)
		for i := 1; i <= 2; i++ {
			b.publish(fmt.Sprint("ordered ", i), fmt.Sprint("task ordered ", i))
			time.Sleep(10 * time.Second)
		}
		stuck.Store(false)
		time.Sleep(time.Minute)
		stop()
		for _, reason := range []string{"the first reason", "the second reason"} {
			if n := strings.Count(log.String(), reason); n != 1 {
				t.Errorf("the log has %s %d times; want once:\n%s", reason, n, &log)
			}
		}
	})
}
