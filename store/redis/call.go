package redis

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
)

//go:embed lua
var texts embed.FS

// A script runs in the server without other commands beside it. If memory is short, scripts that
// add tasks are rejected.
type script struct {
	*client.Script
	writes bool
}

func newScript(name string, full, writes bool) script {
	rows, err := texts.ReadFile("lua/rows.lua")
	if err != nil {
		panic(err) // the scripts are embedded in the program
	}
	text, err := texts.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	flags := "#!lua flags=allow-oom\n"
	switch {
	case !writes:
		flags = "#!lua flags=no-writes\n"
	case !full:
		flags = "#!lua\n"
	}
	return script{client.NewScript(flags + string(rows) + string(text)), writes}
}

var (
	takeIn = newScript("commit", false, true) // for commits with new tasks
	commit = newScript("commit", true, true)
	prune  = newScript("prune", true, true)
	nodes  = newScript("nodes", true, true)
	glance = newScript("nodes", true, false)
	due    = newScript("due", true, false)
	count  = newScript("count", true, false)
	list   = newScript("list", true, false)
)

// again is the maximum number of retries for a read, or for a write that the server certainly has
// not executed. pause is the delay between retries.
const (
	again = 4
	pause = 50 * time.Millisecond
)

// An unsent call was not sent to any server.
type unsent struct{ error }

func (u *unsent) Unwrap() error { return u.error }

// run calls a script. For a write, only ErrUnknown means that the script may have run. A call that
// may have run is never sent again.
func (s *Store) run(ctx context.Context, sc script, args ...any) (any, error) {
	return s.do(ctx, sc.writes, func(c *client.Client) (any, error) {
		keys := []string{s.prefix}
		reply, err := s.send(ctx, c, sc, func(p client.Scripter) *client.Cmd { return p.EvalSha(ctx, sc.Hash(), keys, args...) })
		if client.HasErrorPrefix(err, "NOSCRIPT") {
			reply, err = s.send(ctx, c, sc, func(p client.Scripter) *client.Cmd { return sc.Eval(ctx, p, keys, args...) })
		}
		return reply, err
	})
}

// waiting returns for what each write waits.
func (s *Store) waiting() waits {
	w := s.wait
	if s.syncs.Load() {
		w.local = 1
	}
	return w
}

// send sends one call. After a write it also sends WAIT or WAITAOF on the same connection, so that
// the write is durable when send returns.
func (s *Store) send(ctx context.Context, c *client.Client, sc script, call func(client.Scripter) *client.Cmd) (any, error) {
	wait := s.waiting()
	if !sc.writes || wait == (waits{}) {
		return call(c).Result()
	}
	p := c.Pipeline()
	cmd := call(p)
	var waited client.Cmder
	within := answer / 2
	if wait.local > 0 {
		waited = p.Do(ctx, "WAITAOF", wait.local, wait.replicas, within.Milliseconds())
	} else {
		waited = p.Do(ctx, "WAIT", wait.replicas, within.Milliseconds())
	}
	p.Exec(ctx) // each command has its own error
	reply, err := cmd.Result()
	if err != nil {
		return nil, err
	}
	if err := wait.enough(waited.(*client.Cmd)); err != nil {
		return nil, fmt.Errorf("%w: it was written, but: %w", bellman.ErrUnknown, err)
	}
	return reply, nil
}

// do calls f with the connections to the current primary, and retries until a server answers.
func (s *Store) do(ctx context.Context, writes bool, f func(*client.Client) (any, error)) (any, error) {
	for try := 1; ; try++ {
		c, err := s.master(ctx)
		if err != nil {
			err = &unsent{err}
		}
		var reply any
		if err == nil {
			reply, err = f(c)
		}
		if err == nil {
			return reply, nil
		}
		told, repeat := s.tell(ctx, err, writes)
		if !repeat || try == again || ctx.Err() != nil {
			return nil, told
		}
		if !sleep.For(ctx, pause) {
			return nil, told
		}
	}
}

// away are the error replies of a server that did not execute the call and cannot serve it now.
var away = []string{"MOVED", "ASK", "READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "BUSY", "MISCONF", "NOAUTH", "WRONGPASS", "NOPERM"}

// tell converts an error for the caller, and reports whether the call may be retried at once.
func (s *Store) tell(ctx context.Context, err error, writes bool) (told error, repeat bool) {
	var never *unsent
	var bad *UnfitError
	var said client.Error
	var op *net.OpError
	switch {
	case errors.Is(err, bellman.ErrUnknown):
		s.count.unknown.Add(1)
		return err, false
	case errors.As(err, &bad):
		return fmt.Errorf("%w: %w", bellman.ErrUnreachable, err), false
	case errors.As(err, &said):
		return s.answered(err, writes)
	case errors.As(err, &never) || errors.Is(err, client.ErrPoolTimeout) || errors.As(err, &op) && op.Op == "dial":
		s.count.broken.Add(1)
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), err), false
		}
		return fmt.Errorf("%w: %w", bellman.ErrUnreachable, err), false
	case writes:
		s.count.unknown.Add(1)
		return fmt.Errorf("%w: %w", bellman.ErrUnknown, err), false
	}
	s.count.broken.Add(1)
	return fmt.Errorf("%w: %w", bellman.ErrUnreachable, err), true
}

// answered is tell for an error reply of the server.
func (s *Store) answered(err error, writes bool) (told error, repeat bool) {
	text := err.Error()
	starts := func(word string) bool { return strings.HasPrefix(text, word+" ") || text == word }
	switch {
	case starts("FENCED"):
		s.count.fenced.Add(1)
		return fmt.Errorf("%w: %s", bellman.ErrFenced, strings.TrimPrefix(text, "FENCED ")), false
	case starts("CHANGED"):
		return fmt.Errorf("%w: a %s was written meanwhile", bellman.ErrConflict, strings.TrimPrefix(text, "CHANGED ")), false
	case starts("GONE"):
		return fmt.Errorf("%w: the store %s is gone, as after FLUSHALL: restore a backup", bellman.ErrUnreachable, s.prefix), false
	case starts("OOM"):
		return fmt.Errorf("%w: %s", bellman.ErrFull, text), false
	case starts("MISCONF") && strings.Contains(text, "No space left"):
		return fmt.Errorf("%w: %s", bellman.ErrFull, text), false
	}
	for _, word := range away {
		if starts(word) {
			if s.cluster != nil {
				s.cluster.ReloadState(context.Background())
			}
			return fmt.Errorf("%w: %w", bellman.ErrUnreachable, err), word == "MOVED" || word == "READONLY" || word == "TRYAGAIN"
		}
	}
	if writes { // a script that stopped in the middle
		s.count.unknown.Add(1)
		return fmt.Errorf("%w: %w", bellman.ErrUnknown, err), false
	}
	return err, false
}
