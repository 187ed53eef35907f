package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A reserving driver leaves one connection of the pool to heartbeats, which use the driver inside.
// Other calls wait for one another: thousands of requests and attempts may read at one time. If a
// heartbeat had to wait behind them, the node would lose its shards while its database works.
type reserving struct {
	Driver
	inUse  chan struct{} // an element for each connection in use
	waits  atomic.Int64
	waited atomic.Int64 // ns
}

func reserve(d Driver) *reserving {
	return &reserving{Driver: d, inUse: make(chan struct{}, max(d.Pool().Most-1, 1))}
}

// reserveWait is how long a call waits for a connection.
const reserveWait = 15 * time.Second

var errAllInUse = errors.New("all connections are in use")

func (r *reserving) take(ctx context.Context) error {
	select {
	case r.inUse <- struct{}{}:
		return nil
	default:
	}
	began := time.Now()
	defer func() {
		r.waits.Add(1)
		r.waited.Add(int64(time.Since(began)))
	}()
	ctx, cancel := context.WithTimeout(ctx, reserveWait)
	defer cancel()
	select {
	case r.inUse <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errAllInUse, ctx.Err())
	}
}

func (r *reserving) give() { <-r.inUse }

func (r *reserving) Read(ctx context.Context, statements ...*Statement) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.give()
	return r.Driver.Read(ctx, statements...)
}

func (r *reserving) Begin(ctx context.Context) (Tx, error) {
	if err := r.take(ctx); err != nil {
		return nil, err
	}
	tx, err := r.Driver.Begin(ctx)
	if err != nil {
		r.give()
		return nil, err
	}
	return &reservingTx{tx, r}, nil
}

// A reservingTx gives its connection back when it ends.
type reservingTx struct {
	Tx
	r *reserving
}

func (t *reservingTx) Commit(ctx context.Context, statements ...*Statement) error {
	defer t.r.give()
	return t.Tx.Commit(ctx, statements...)
}

func (t *reservingTx) Rollback() {
	defer t.r.give()
	t.Tx.Rollback()
}

// Kind is Lost if there was no connection.
func (r *reserving) Kind(err error) Kind {
	if errors.Is(err, errAllInUse) {
		return Lost
	}
	return r.Driver.Kind(err)
}

// Pool includes the waits here.
func (r *reserving) Pool() Pool {
	p := r.Driver.Pool()
	p.Waits += r.waits.Load()
	p.Waited += time.Duration(r.waited.Load())
	return p
}
