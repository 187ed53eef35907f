package engine

import (
	"time"

	"github.com/bellmanhq/bellman/store"
)

// No attempt starts from content that the store has not confirmed within the last
// confirmedFor. A task may be cancelled, completed or rescheduled at any node while it waits
// in this node's line. A hint usually says so within milliseconds, and any hint may be lost.
// So a lost hint delays such a change by confirmedFor at most.
//
// The time counts from before the read or the commit was sent: what the store said was true
// at some moment after that, however long the answer took.
const (
	confirmAgain = time.Second             // older content is read again when the task's turn has come
	confirmedFor = 1800 * time.Millisecond // older content starts no attempt
)

// confirmed reports whether an item has its content, and the store has confirmed it within
// a while before now. A store that is this process's alone changes only by what the hand is
// told, so there all content is. What was confirmed before the machine was paused is not:
// the monotonic clock stood still meanwhile.
func (e *Engine) confirmed(it *item, now time.Time, within time.Duration) bool {
	return it.task != nil && (e.sole || now.Sub(it.known) <= within && !it.known.Before(e.leases.resumedAt()))
}

// confirm asks the store whether the task of an item in flight is as it is in hand. If not,
// or if the store does not say, it drops the item, and is false.
func (e *Engine) confirm(it *item) bool {
	read := time.Now()
	tasks, err := e.store.Load(e.attempts, []store.Entry{it.Entry})
	if err != nil || tasks[0] == nil {
		if err != nil && e.attempts.Err() == nil {
			e.log.Error("a due task cannot be read", "task", it.ID, "err", err)
		}
		e.hand.drop(true, it)
		return false
	}
	e.hand.mu.Lock()
	defer e.hand.mu.Unlock()
	it.known = read
	return true
}

// saySlow is how often the log says that the store is too slow.
const saySlow = 10 * time.Second

// slowReads says in the log, now and then, that attempts wait for a store that takes too
// long to say what their tasks are.
func (e *Engine) slowReads() {
	now := time.Now().UnixNano()
	if last := e.saidSlow.Load(); now-last > int64(saySlow) && e.saidSlow.CompareAndSwap(last, now) {
		e.log.Warn("attempts wait: the store takes too long to read their tasks", "most", confirmedFor)
	}
}
