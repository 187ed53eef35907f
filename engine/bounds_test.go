package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// New rejects a queue that cannot work.
func TestInvalidQueues(t *testing.T) {
	long := strings.Repeat("很", bellman.MaxName)
	tests := []struct {
		queue engine.Queue
		want  string // part of the error; empty: valid
	}{
		{engine.Queue{Name: long, Concurrency: bellman.MaxConcurrency}, ""},
		{engine.Queue{Name: long + "久"}, "want 1 to 128 characters"},
		{engine.Queue{Name: "a b"}, "without spaces"},
		{engine.Queue{Name: "a\x00"}, "without spaces"},
		{engine.Queue{Name: "a\xff"}, "want 1 to 128 characters"},
		{engine.Queue{}, "want 1 to 128 characters"},
		{engine.Queue{Name: "q", Concurrency: -1}, "Concurrency is -1: want 0 to 100000"},
		{engine.Queue{Name: "q", EndpointConcurrency: bellman.MaxConcurrency + 1}, "EndpointConcurrency is 100001: want 0 to 100000"},
		{engine.Queue{Name: "q", Timeout: -time.Second}, "Timeout is -1s: want 1ms to 10m0s"},
		{engine.Queue{Name: "q", MaxAge: -time.Second}, "MaxAge is -1s: want 0s to 87600h"},
		{engine.Queue{Name: "q", MaxAge: schedule.MaxDuration + 1}, "want 0s to 87600h"}, // otherwise every task is invalid
		{engine.Queue{Name: "q", Rate: math.NaN()}, "Rate is NaN: want 0 for no limit, or 1/3600"},
		{engine.Queue{Name: "q", EndpointRate: -1}, "EndpointRate is -1: want 0"},
		{engine.Queue{Name: "q", EndpointRate: 1e-300}, "EndpointRate is 1e-300: want 0"}, // would be no limit
		{engine.Queue{Name: "q", Rate: math.Inf(1)}, "Rate is +Inf: want 0"},
		{engine.Queue{Name: "q", Rate: schedule.MinRate, EndpointRate: schedule.MaxRate}, ""},
		{engine.Queue{Name: "q", Kind: bellman.KindPoll + 1}, "Kind is 4: want"},
		{engine.Queue{Name: "q", Kind: bellman.KindOwn + 1}, ""},
	}
	for _, tt := range tests {
		tt.queue.Handler = &receiver{answer: refuse}
		_, err := engine.New(engine.Options{Store: memory.New(), Queues: []engine.Queue{tt.queue}})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New() with queue %.20q: %v; want an error with %q", tt.queue.Name, err, tt.want)
		}
	}
}

// A negative retention would delete tasks as they end.
func TestInvalidRetention(t *testing.T) {
	_, err := engine.New(engine.Options{Store: memory.New(), Queues: []engine.Queue{{Name: "q", Handler: &receiver{answer: accept}}},
		Retention: engine.Retention{Failed: -1}})
	if err == nil || !strings.Contains(err.Error(), "Failed:-1ns") {
		t.Errorf("New() with a negative retention: %v; want an error that names it", err)
	}
}

// Texts that are too long for a database are rejected with every store. A stored task that has such
// a text is still attempted.
func TestOversizedTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		old := &bellman.Task{ID: bellman.NewID(), Queue: "q", Key: strings.Repeat("k", 3000), Schedule: "0s", Timeout: time.Second,
			Kind: bellman.KindNotify, Status: bellman.Status{Version: 1, Began: time.Now().UTC(), Due: time.Now().UTC(), VisibleAt: time.Now().UTC()}}
		if err := s.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: old}}}); err != nil {
			t.Fatal(err)
		}
		e, stop := run(t, s, engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		name, key := strings.Repeat("n", bellman.MaxStoredName), strings.Repeat("k", bellman.MaxStoredKey)
		added := e.Add(t.Context(),
			&bellman.Task{Queue: "q", Key: key, OrderingKey: key, MerchantNo: name, OrderNo: name, URL: "http://h/" + key},
			&bellman.Task{Queue: "q", Key: key + "k", OrderingKey: key + "k", MerchantNo: name + "n", OrderNo: name + "n", URL: "http://" + name + "n"})
		if added[0].Err != nil {
			t.Errorf("the longest texts: %v", added[0].Err)
		}
		var invalid *bellman.Invalid
		var fields []string
		if errors.As(added[1].Err, &invalid) {
			for _, f := range invalid.Fields {
				fields = append(fields, f.Field)
			}
		}
		if got, want := strings.Join(fields, " "), "key merchant_no order_no ordering_key url"; got != want {
			t.Errorf("texts one byte longer: %v; want an error for each of %s", added[1].Err, want)
		}
		long := strings.Repeat("x", 3<<20)
		err := e.Check(&bellman.Task{Queue: "q", Event: long, URL: "http://h/" + long, Method: long, Success: long, Endpoint: long,
			Header: map[string]string{"X": long}, Origin: &bellman.Origin{CreatedBy: long, Trace: &bellman.Trace{State: long}}})
		fields = nil
		if errors.As(err, &invalid) {
			for _, f := range invalid.Fields {
				fields = append(fields, f.Field)
			}
		}
		if got, want := strings.Join(fields, " "), "event url method success endpoint created_by tracestate headers"; got != want {
			t.Errorf("texts of %d bytes: errors for %s; want one for each of %s", len(long), got, want)
		}
		if err := e.Add(t.Context(), &bellman.Task{Queue: "q", Body: make([]byte, bellman.MaxData+1)})[0].Err; !errors.As(err, &invalid) || invalid.Fields[0].Field != "body" {
			t.Errorf("a body one byte longer: %v; want an error for it", err)
		}
		if task, err := e.Wait(t.Context(), old.ID); err != nil || task.State != bellman.Succeeded {
			t.Errorf("a stored task with a key of 3000 bytes: %v, %v; want succeeded", task.State, err)
		}
	})
}

// A nil task is rejected as invalid, and does not panic.
func TestAddNil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		var invalid *bellman.Invalid
		if added := e.Add(t.Context(), nil, &bellman.Task{Queue: "q"}); !errors.As(added[0].Err, &invalid) || added[1].Err != nil {
			t.Errorf("Add(nil, a task) = %v, %v; want an Invalid, nil", added[0].Err, added[1].Err)
		}
		if err := e.Check(nil); !errors.As(err, &invalid) {
			t.Errorf("Check(nil) = %v; want an Invalid", err)
		}
		if adds := e.Prepare(nil); !errors.As(adds[0].Err, &invalid) || adds[0].Task == nil { // AddTx reads the task
			t.Errorf("Prepare(nil) = %v, %v; want a task, and an Invalid", adds[0].Task, adds[0].Err)
		}
		if err := e.AddWith(t.Context(), nil, nil); !errors.As(err, &invalid) {
			t.Errorf("AddWith(nil) = %v; want an Invalid", err)
		}
	})
}

// A dozing store answers the first read of a task, and no further one.
type dozing struct {
	*memory.Store
	read atomic.Bool
}

func (s *dozing) Task(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	if s.read.Swap(true) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Task(ctx, id)
}

// If the time of a caller is over, Wait returns the task as it was last read.
func TestWaitReturnsTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := run(t, &dozing{Store: memory.New()}, engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if task, err := e.Wait(ctx, id); !errors.Is(err, context.DeadlineExceeded) || task == nil || task.ID != id {
			t.Errorf("Wait() = %v, %v; want the task, and the error of ctx", task, err)
		}
	})
}

// A call that waits for Run to start logs this once.
func TestAddBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e, err := engine.New(engine.Options{Store: memory.New(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Queues: []engine.Queue{{Name: "q", Handler: &receiver{answer: accept}}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 {
			if added := e.Add(ctx, &bellman.Task{Queue: "q"}); !errors.Is(added[0].Err, context.DeadlineExceeded) || !strings.Contains(added[0].Err.Error(), "call Engine.Run") {
				t.Errorf("Add() before Run = %v; want the error of ctx and a hint to call Run", added[0].Err)
			}
		}
		synctest.Wait() // wait until the log is written
		if n := strings.Count(log.String(), "waits for Engine.Run"); n != 1 {
			t.Errorf("the log has %d lines about the wait; want 1:\n%s", n, log.String())
		}
	})
}

// A handler that returns more data than a database takes fails its attempt, and the next one is
// made on schedule. Its commit would be repeated for ever.
func TestTooMuchData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		large := make([]byte, bellman.MaxData+1)
		e, stop := run(t, s, engine.Queue{Name: "q", Schedule: "0s, 1s*", Handler: &receiver{answer: func(_ *bellman.Task, number int) bellman.Verdict {
			return bellman.Verdict{Next: bellman.Succeed, Data: large[:bellman.MaxData+2-number]}
		}}})
		defer stop()
		added := e.Add(t.Context(), &bellman.Task{Queue: "q"})[0]
		task, err := e.Wait(t.Context(), added.ID)
		if err != nil || task.Attempts != 2 || len(task.Data) != bellman.MaxData {
			t.Fatalf("%d attempts, %d bytes of data, %v; want 2, the second of which is kept", task.Attempts, len(task.Data), err)
		}
		log, err := s.Attempts(t.Context(), added.ID, 0, 10)
		if err != nil || len(log) != 2 || log[0].Result != bellman.Refused || !strings.Contains(log[0].Error, "want at most 8388608") {
			t.Errorf("%+v, %v; want the first attempt refused, and why", log, err)
		}
	})
}
