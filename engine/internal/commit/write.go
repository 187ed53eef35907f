package commit

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sort"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
)

// Pauses between retries while the store accepts nothing, and of an isolated outcome.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
	firstApart = 2 * time.Second
	lastApart  = 5 * time.Minute
	stopApart  = 100 * time.Millisecond // while a stop waits for it
)

// An apart is an isolated outcome: the store rejects it and accepts others.
type apart[O Op] struct {
	op    O
	wait  time.Duration
	again time.Time // on the monotonic clock
}

// Run commits ops until the lane is closed and empty. ctx must outlive the attempts: their outcomes
// are written however the engine ends.
func (l *Lane[O]) Run(ctx context.Context) {
	var buf []O
	for {
		ops, over := l.take(buf[:0])
		if over {
			return
		}
		l.host.Moved()
		if len(ops) == 0 {
			l.tryApart(ctx)
			continue
		}
		l.begin()
		n := len(ops)
		left := l.writeAll(ctx, ops)
		clear(ops)
		buf = ops
		l.end(n - left)
	}
}

func (l *Lane[O]) begin() { l.writing.Store(int64(time.Since(l.base))) }

func (l *Lane[O]) end(done int) {
	l.writing.Store(0)
	l.host.Moved()
	l.work.Finish(done)
}

// writeAll commits ops, in one transaction if possible. It returns when each op is written,
// rejected or isolated, with the number of isolated ops.
func (l *Lane[O]) writeAll(ctx context.Context, ops []O) (left int) {
	for len(ops) > 0 {
		again, refused, err := l.round(ctx, ops)
		if err == nil { // the store accepts other rows
			for _, r := range refused {
				left += l.refuse(r.op, r.err, firstApart)
			}
			l.pause = 0
			return left
		}
		for _, r := range refused {
			again = append(again, r.op)
		}
		if ops = l.suffer(again, err); len(ops) == 0 {
			break
		}
	}
	return left
}

// A refusal is an op that the store rejected on its own.
type refusal[O Op] struct {
	op  O
	err error
}

// round commits ops: all at once, and in halves if the store rejects them but accepts something
// else, until each bad op stands alone. An error means that the store accepts nothing, or that the
// outcome is unknown; the remaining ops are returned with it.
func (l *Lane[O]) round(ctx context.Context, ops []O) (again []O, refused []refusal[O], _ error) {
	// Finding one bad op takes this many rejections in a row. After more, other ops are bad too, or
	// the store accepts nothing any more.
	deep := bits.Len(uint(len(ops)))
	inRow := deep  // since the last success
	broke := false // since then, an outcome is written again because its connection broke
	for work := [][]O{ops}; len(work) > 0; {
		piece := l.host.Admit(work[len(work)-1])
		work = work[:len(work)-1]
		if len(piece) == 0 {
			continue
		}
		err := l.host.Write(ctx, piece)
		switch {
		case err == nil:
			inRow, broke = 0, false
			l.sicken(nil)
			continue
		case errors.Is(err, bellman.ErrFenced) && l.host.Fenced(ctx):
			work = append(work, piece)
			continue
		case errors.Is(err, bellman.ErrUnknown):
			if piece, err = l.settle(ctx, piece, err); err != nil {
				return slices.Concat(append(work, piece)...), refused, err
			}
			work = append(work, piece)
			continue
		}
		if inRow++; inRow > deep {
			if hopeless(err) || l.host.Probe(ctx) != nil {
				return slices.Concat(append(work, piece)...), refused, err
			}
			inRow = 0
		}
		if len(piece) == 1 && !broke && piece[0].Happened() && errors.Is(err, bellman.ErrUnreachable) {
			broke, inRow = true, deep // seldom its own fault: if the next connection breaks too, the store is asked
			work = append(work, piece)
			continue
		}
		if len(piece) == 1 {
			refused = append(refused, refusal[O]{piece[0], err})
			continue
		}
		half := len(piece) / 2
		work = append(work, piece[half:], piece[:half:half])
	}
	l.sicken(nil)
	return nil, refused, nil
}

// hopeless reports whether an error means that the store accepts nothing at all.
func hopeless(err error) bool {
	return errors.Is(err, bellman.ErrClosed) || errors.Is(err, bellman.ErrFull) || errors.Is(err, bellman.ErrFenced)
}

// suffer handles ops while the store accepts nothing. Requests get the error; outcomes are returned
// after a pause. Meanwhile new requests are rejected and no attempt starts.
func (l *Lane[O]) suffer(ops []O, err error) (kept []O) {
	adds := true
	for _, o := range ops {
		adds = adds && o.OnlyAdds()
	}
	kept = l.tell(ops, err)
	switch {
	case errors.Is(err, bellman.ErrClosed):
		return nil
	case errors.Is(err, bellman.ErrFull) && adds:
		return nil // other ops may still be accepted
	}
	l.sicken(err)
	if l.rest() {
		if len(kept) == 0 {
			l.sicken(nil) // the next op shows
		}
		return kept
	}
	l.host.GiveUp(kept)
	return nil
}

// tell sends the error to all requests, and returns the outcomes.
func (l *Lane[O]) tell(ops []O, err error) (kept []O) {
	for _, o := range ops {
		if o.Happened() {
			kept = append(kept, o)
		} else {
			o.Done(err)
		}
	}
	return kept
}

// rest pauses before a retry. It returns false when a stop gives up waiting.
func (l *Lane[O]) rest() bool {
	l.pause = min(max(2*l.pause, firstPause), lastPause)
	sleep.For(l.o.Patience, l.pause)
	return l.o.Patience.Err() == nil
}

// settle resolves a transaction of unknown outcome. Requests get ErrUnknown. It returns the
// outcomes to write again; an error means that a stop gives up waiting.
func (l *Lane[O]) settle(ctx context.Context, ops []O, unknown error) (again []O, _ error) {
	l.sicken(unknown) // first: a caller that gets the error must see that the lane is ill
	kept := l.tell(ops, unknown)
	for l.rest() {
		again, err := l.host.Settle(ctx, ops)
		if err == nil {
			return again, nil
		}
	}
	return kept, unknown
}

// refuse handles an op that the store rejects while it accepts others. It returns 1 if the op is
// isolated, to be retried later.
func (l *Lane[O]) refuse(o O, err error, wait time.Duration) int {
	if !o.Happened() {
		o.Done(err)
		return 0
	}
	if l.stops() {
		wait = min(wait, stopApart)
	}
	l.host.Apart(o, err, wait)
	again := time.Now().Add(wait)
	i := sort.Search(len(l.apart), func(i int) bool { return l.apart[i].again.After(again) })
	l.apart = slices.Insert(l.apart, i, &apart[O]{o, wait, again})
	l.aside.Store(int64(len(l.apart)))
	return 1
}

// tryApart retries the outcome that has been isolated for the longest, or gives all of them up when
// a stop gives up waiting.
func (l *Lane[O]) tryApart(ctx context.Context) {
	if l.o.Patience.Err() != nil {
		var ops []O
		for _, a := range l.apart {
			ops = append(ops, a.op)
		}
		l.apart = nil
		l.aside.Store(0)
		l.host.GiveUp(ops)
		l.work.Finish(len(ops))
		return
	}
	a := l.apart[0]
	l.apart = slices.Delete(l.apart, 0, 1)
	l.aside.Store(int64(len(l.apart)))
	l.begin() // other ops wait for this one too
	again, refused, err := l.round(ctx, []O{a.op})
	left := 0
	for _, r := range refused {
		left += l.refuse(r.op, r.err, min(2*a.wait, lastApart))
	}
	for _, o := range again {
		left += l.refuse(o, err, a.wait)
	}
	l.end(1 - left)
}
