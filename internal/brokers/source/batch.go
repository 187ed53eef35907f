package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
)

// A batch is a group of messages that were received together.
type batch struct {
	source   *Source
	session  Session
	letters  *deadLetters
	messages []Message

	left  []int           // messages that are no tasks yet
	tasks []*bellman.Task // tasks[i] comes from messages[at[i]]
	at    []int
	under []*bellman.Trace          // the traces of the messages' tasks; nil: none
	ends  []func(bellman.ID, error) // end the messages' spans; nil: there are none
	safe  []Message
	text  []byte // buffer for the JSON of one task
	gone  int    // messages that are not in hand any more, of a batch that was set aside
	said  bool   // it was logged that its messages cannot be stored

	before []chan struct{} // of each batch that came earlier and was being stored then: closed when it is
	passed chan struct{}   // closed when the tasks with an ordering key are stored; nil: it is closed
}

// store converts the messages to tasks, stores them, and acknowledges each message. It retries
// until it succeeds, or others takes the batch over. An error means that ctx ended or the session
// broke: the broker delivers unacknowledged messages again.
func (b *batch) store(ctx context.Context, others *aside) error {
	b.left, b.tasks, b.at, b.said = b.left[:0], b.tasks[:0], b.at[:0], false
	for i := range b.messages {
		b.left = append(b.left, i)
	}
	b.begin()
	return b.finish(ctx, others)
}

// finish is store from where it is. It retries until it succeeds if others is nil or takes no more.
func (b *batch) finish(ctx context.Context, others *aside) error {
	s := b.source
	defer func() { // of what others did not take over
		s.figures.taken(b.gone - len(b.messages))
		b.endAll()
	}()
	for failed := 0; ; failed++ {
		err := b.convert()
		if len(b.tasks) > 0 {
			switch err := b.inOrder(ctx, others != nil); {
			case err == errBehind && others.take(b):
				return nil
			case err == errBehind:
				continue
			case err != nil:
				return err
			}
			err = cmp.Or(b.try(ctx), err)
			if err := b.ack(); err != nil {
				return err
			}
		}
		if !b.ordered() && b.passed != nil { // messages that are left do not hold back others
			close(b.passed)
			b.passed = nil
		}
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.figures.held(err)
		if !b.said {
			b.said = true
			s.log.Warn("messages cannot be stored; they wait", "messages", len(b.tasks)+len(b.left), "err", err)
		}
		if failed >= triesBefore && others.take(b) {
			return nil
		}
		sleep.For(ctx, pause(failed))
	}
	clear(b.tasks)
	clear(b.messages)
	return nil
}

// inOrder waits until earlier batches are stored, if a task has an ordering key: such tasks are
// attempted in the order in which they were stored. It returns errBehind if it waits for longTurn,
// unless it is to wait for as long as it takes.
func (b *batch) inOrder(ctx context.Context, impatient bool) error {
	if !b.ordered() {
		return nil
	}
	var late <-chan time.Time
	if impatient {
		late = time.After(longTurn)
	}
	for _, passed := range b.before {
		select {
		case <-passed:
		case <-late:
			return errBehind
		case <-ctx.Done(): // a batch that failed never passes
			return ctx.Err()
		}
	}
	return nil
}

// ordered reports whether a task that is not stored yet has an ordering key.
func (b *batch) ordered() bool {
	return slices.ContainsFunc(b.tasks, func(t *bellman.Task) bool { return t.OrderingKey != "" })
}

// longRound is how long convert goes on after a message that it must leave: its check may have
// waited long.
const longRound = time.Second

// convert makes tasks of the messages that are left. Those that stay left must be tried again, for
// the reason that it returns; they come after the others.
func (b *batch) convert() (again error) {
	began := time.Now()
	var later []int
	for n, i := range b.left {
		t, err := b.task(&b.messages[i])
		if _, is := errors.AsType[*Later](err); is {
			again = err
			later = append(later, i)
			if time.Since(began) > longRound {
				b.left = append(slices.Delete(b.left, 0, n+1), later...)
				return again
			}
			continue
		}
		if err != nil {
			b.letters.add(b.messages[i], err)
			b.end(i, bellman.ID{}, err)
			continue
		}
		if b.ends != nil {
			t.SetTrace(b.under[i])
		}
		b.tasks, b.at = append(b.tasks, t), append(b.at, i)
	}
	b.left = append(b.left[:0], later...)
	return again
}

// try stores the tasks once. Tasks that stay in the batch must be tried again, for the reason that
// it returns.
func (b *batch) try(ctx context.Context) (again error) {
	added := b.source.o.Tasks.Take(ctx, b.tasks...)
	kept, existing := 0, 0
	for i, a := range added {
		m := b.messages[b.at[i]]
		var invalid *bellman.Invalid
		switch {
		case a.Err == nil:
			b.safe = append(b.safe, m)
			b.end(b.at[i], a.ID, nil)
			if a.Existing {
				existing++
			}
		case errors.As(a.Err, &invalid), errors.Is(a.Err, bellman.ErrKeyTaken), errors.Is(a.Err, bellman.ErrAliasTaken):
			b.letters.add(m, a.Err)
			b.end(b.at[i], a.ID, a.Err)
		default:
			again = a.Err
			b.tasks[kept], b.at[kept] = b.tasks[i], b.at[i]
			kept++
		}
	}
	b.source.figures.stored(len(b.safe)-existing, existing)
	b.tasks, b.at = slices.Delete(b.tasks, kept, len(b.tasks)), b.at[:kept]
	return again
}

// begin starts the spans of the messages.
func (b *batch) begin() {
	if b.ends, b.under = nil, nil; b.source.o.Tracer == nil {
		return
	}
	b.ends, b.under = make([]func(bellman.ID, error), len(b.messages)), make([]*bellman.Trace, len(b.messages))
	for i := range b.messages {
		b.under[i], b.ends[i] = b.source.o.Tracer.Take(b.source.o.Name, b.messages[i].Header)
	}
}

// end ends the span of one message, with its task or the reason why there is none.
func (b *batch) end(i int, id bellman.ID, err error) {
	if b.ends != nil && b.ends[i] != nil {
		b.ends[i](id, err)
		b.ends[i] = nil
	}
}

// endAll ends the spans of messages with an unknown outcome: they are delivered again.
func (b *batch) endAll() {
	for i := range b.ends {
		b.end(i, bellman.ID{}, errAgain)
	}
}

var errAgain = errors.New("the message was not stored, and comes again")

func (b *batch) ack() error {
	if len(b.safe) == 0 {
		return nil
	}
	err := b.session.Ack(b.safe)
	clear(b.safe)
	b.safe = b.safe[:0]
	return err
}

// maxKept is the largest buffer for the JSON of tasks that a batch keeps, in bytes.
const maxKept = 64 << 10

// task converts a message to a task.
func (b *batch) task(m *Message) (*bellman.Task, error) {
	o, text := &b.source.o, m.Body
	if o.Mapping != nil {
		var err error
		if text, err = o.Mapping.AppendTask(b.text[:0], &m.Message); err != nil {
			return nil, err
		}
		if cap(text) <= maxKept {
			b.text = text
		}
	}
	key := m.ID
	if len(key) > bellman.MaxKey || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
		sum := sha256.Sum256([]byte(key))
		key = "sha256:" + hex.EncodeToString(sum[:])
	}
	return o.Tasks.Task(text, o.Into, key)
}
