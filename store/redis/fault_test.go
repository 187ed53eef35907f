package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// A lostError is the error of a call that failed on purpose.
type lostError struct {
	done  bool // whether the call was done all the same
	reply any  // the reply that the caller did not get
}

func (l *lostError) Error() string { return fmt.Sprintf("injected: connection lost, done: %t", l.done) }

func (l *lostError) Unwrap() error { return io.EOF }

// A fault makes calls fail when plan says so, before or after they are sent.
type fault struct {
	plan func(ctx context.Context, cmd client.Cmder) (fails, done bool)
}

func isScript(cmd client.Cmder) bool { return cmd.Name() == "evalsha" || cmd.Name() == "eval" }

func (f *fault) DialHook(next client.DialHook) client.DialHook { return next }

func (f *fault) ProcessHook(next client.ProcessHook) client.ProcessHook {
	return func(ctx context.Context, cmd client.Cmder) error {
		fails, done := f.plan(ctx, cmd)
		if !fails {
			return next(ctx, cmd)
		}
		if done {
			if err := next(ctx, cmd); err != nil {
				return err
			}
		}
		err := &lostError{done: done}
		if c, is := cmd.(*client.Cmd); is {
			err.reply = c.Val()
		}
		cmd.SetErr(err)
		return err
	}
}

func (f *fault) ProcessPipelineHook(next client.ProcessPipelineHook) client.ProcessPipelineHook {
	return next
}

// asked marks calls whose unknown outcome was resolved.
type asked struct{}

// A patientStore acts like a caller that retries. It finds out the outcome of an unknown write,
// here by asking the fault itself.
type patientStore struct{ *Store }

func (p *patientStore) Commit(ctx context.Context, b *store.Batch) error {
	for {
		err := p.Store.Commit(context.WithValue(ctx, asked{}, true), b)
		lost, is := errors.AsType[*lostError](err)
		if !is {
			return err
		}
		if !errors.Is(err, bellman.ErrUnknown) {
			return fmt.Errorf("a commit was sent, but its error says that nothing was written: %w", err)
		}
		if lost.done {
			said, _ := lost.reply.([]any)
			note(b, b.Adds, said)
			return nil
		}
	}
}

// TestStoreWithFaults runs storetest on a store whose calls fail often, before and after they are
// sent. Reads are retried; commits may have an unknown outcome.
func TestStoreWithFaults(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	broken := 0
	storetest.Run(t, func(t *testing.T) store.Store {
		calls, quiet := 0, 12 // no faults while the store opens
		failed := map[string]int{}
		return &patientStore{openTest(t, newStore(t), Options{Connections: 4, hook: &fault{func(ctx context.Context, cmd client.Cmder) (bool, bool) {
			mu.Lock()
			defer mu.Unlock()
			name, script := cmd.Name(), isScript(cmd)
			if calls++; calls <= quiet || script && ctx.Value(asked{}) == nil || name == "info" || name == "config" || name == "hello" {
				return false, false
			}
			// Where several goroutines call, chance could fail each try of one read.
			which := fmt.Sprint(cmd.Args()...)
			if failed[which]++; failed[which] >= again {
				return false, false
			}
			quiet = calls + 5 + calls%7
			broken++
			return true, broken%2 == 0 && !script || script && broken%4 == 0
		}}})}
	})
	if broken == 0 {
		t.Error("no call failed, so the test shows nothing")
	}
}

// TestOutcomes breaks the connection before and after a commit. It compares the error that the
// caller gets with what was written.
func TestOutcomes(t *testing.T) {
	ctx := context.Background()
	var fails, done bool
	f := &fault{func(_ context.Context, cmd client.Cmder) (bool, bool) {
		return fails && isScript(cmd), done
	}}
	s := openTest(t, newStore(t), Options{hook: f})
	if err := s.Join(ctx, store.Node{Name: "a"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Claim(ctx, "a", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, done = range []bool{false, true} {
		now := time.Now()
		status := bellman.Status{Version: 1, Began: now, Due: now, VisibleAt: now, Updated: now}
		task := func() *bellman.Task { return &bellman.Task{ID: bellman.NewID(), Queue: "q", Status: status} }
		old, fresh, follow := task(), task(), task()
		fresh.Key = fmt.Sprint("fresh", done)
		if err := s.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: old}}}); err != nil {
			t.Fatal(err)
		}
		b := &store.Batch{Leases: []store.Lease{lease}, Adds: []store.Add{{Task: fresh}}, Changes: []store.Change{{ID: old.ID, Version: 1,
			To: bellman.Status{State: bellman.Succeeded, Finished: now}, Attempt: &bellman.Attempt{Number: 1}, Follow: []store.Add{{Task: follow}}}},
			Docs: []store.Doc{{Kind: "k", Name: fmt.Sprint(done), Value: []byte("{}")}}}
		fails = true
		err := s.Commit(ctx, b)
		fails = false
		if !errors.Is(err, bellman.ErrUnknown) {
			t.Errorf("done %t: Commit() = %v, want ErrUnknown", done, err)
		}
		has := func(id bellman.ID) bool { _, err := s.Task(ctx, id); return err == nil }
		ended, err := s.Task(ctx, old.ID)
		if err != nil {
			t.Fatal(err)
		}
		_, docErr := store.ReadDoc(ctx, s, "k", fmt.Sprint(done))
		for what, is := range map[string]bool{"the task": has(fresh.ID), "what follows": has(follow.ID), "the change": ended.State == bellman.Succeeded,
			"the attempt": ended.Last != nil, "the document": docErr == nil} {
			if is != done {
				t.Errorf("done %t: %s exists: %t; want the same", done, what, is)
			}
		}
		// Once the shard has a new epoch, the old transaction was either written or never will be.
		newer, err := s.Claim(ctx, "a", 0, lease.Epoch)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(ctx, b); !errors.Is(err, bellman.ErrFenced) {
			t.Errorf("done %t: Commit() under the old epoch = %v; want ErrFenced", done, err)
		}
		lease = newer
		b.Leases[0] = lease
		if err := s.Commit(ctx, b); err != nil {
			t.Errorf("done %t: second Commit() = %v", done, err)
		}
		if a := b.Adds[0]; a.Err != nil || done != (a.Existing == fresh.ID) {
			t.Errorf("done %t: second Commit(): Existing = %v, Err = %v; want the task existing if the first was done", done, a.Existing, a.Err)
		}
		if err := b.Changes[0].Err; done != errors.Is(err, bellman.ErrConflict) {
			t.Errorf("done %t: second Commit(): the change has %v; want ErrConflict if the first was done", done, err)
		}
	}
}

// TestSameEpochTwice loses a claim, as a fail-over may, and another node claims the same epoch. The
// node whose claim was lost is fenced off.
func TestSameEpochTwice(t *testing.T) {
	ctx := context.Background()
	address := newStore(t)
	a, b := openTest(t, address, Options{}), openTest(t, address, Options{})
	for name, s := range map[string]*Store{"a": a, "b": b} {
		if err := s.Join(ctx, store.Node{Name: name}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	lost, err := a.Claim(ctx, "a", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.single.HSet(ctx, a.prefix+"S", "e0", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := a.single.HDel(ctx, a.prefix+"S", "o0", "k0").Err(); err != nil {
		t.Fatal(err)
	}
	won, err := b.Claim(ctx, "b", 0, 0)
	if err != nil || won.Epoch != lost.Epoch {
		t.Fatalf("Claim() = %v, %v; want epoch %d again", won, err, lost.Epoch)
	}
	now := time.Now()
	batch := func(l store.Lease) *store.Batch {
		return &store.Batch{Leases: []store.Lease{l}, Adds: []store.Add{{Task: &bellman.Task{ID: bellman.NewID(), Queue: "q", Status: bellman.Status{Version: 1, Due: now, VisibleAt: now}}}}}
	}
	if err := a.Commit(ctx, batch(lost)); !errors.Is(err, bellman.ErrFenced) {
		t.Errorf("Commit() of the node whose claim was lost = %v, want ErrFenced", err)
	}
	if err := b.Commit(ctx, batch(won)); err != nil {
		t.Errorf("Commit() of the node with the valid claim = %v", err)
	}
	// The answer to a claim may be lost, so its mark is read with the shards.
	if state, err := a.State(ctx, ""); err != nil || state.Shards[0].Lease != won {
		t.Errorf("State() has %+v, %v; want lease %+v", state.Shards[0], err, won)
	}
}
