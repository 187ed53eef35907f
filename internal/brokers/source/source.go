package source

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
)

// Tasks creates and stores tasks.
type Tasks interface {
	// Task parses the JSON of a task like POST /v1/tasks. queue and key are defaults. An error that
	// is no
	// *Later means that the text can never become a task. Task keeps no reference to text.
	Task(text []byte, queue, key string) (*bellman.Task, error)

	// Take stores tasks, and returns one result for each, in order. A task without an error is
	// durable.
	Take(ctx context.Context, tasks ...*bellman.Task) []bellman.Added

	// Closed returns why no messages should be received now; empty: they should.
	Closed(ctx context.Context) string
}

// A Later is an error that says nothing about a message: what its check needs cannot be read at
// present.
type Later struct{ Err error }

func (l *Later) Error() string { return l.Err.Error() }
func (l *Later) Unwrap() error { return l.Err }

// A Tracer makes spans for messages.
type Tracer interface {
	// Take starts the span of a message, under the trace that its headers name, and returns the
	// trace of its task. end ends the span, when the task is stored or the message cannot become
	// one.
	Take(source string, header map[string]string) (under *bellman.Trace, end func(bellman.ID, error))
}

// Options of a Source. Name, Broker and Tasks are required.
type Options struct {
	Name    string   // shown to people: main/order.paid
	Broker  Broker   // delivers the messages
	Tasks   Tasks    // stores the tasks
	Into    string   // the queue of tasks that name no queue
	Mapping *Mapping // nil: the body of a message is a task as POST /v1/tasks accepts it
	Tracer  Tracer   // makes a span for each message; nil: no spans

	Logger      *slog.Logger  // default: slog.Default()
	StopTimeout time.Duration // after the end of ctx, the time for messages that were received; default 5s
}

const (
	// storing is the number of batches that are stored concurrently: while one is committed, the
	// next is mapped, and another one gathers.
	storing = 2

	// BatchMost is the largest number of messages in one batch, which the engine commits at once.
	BatchMost = 512

	// look is how often a source checks whether it may go on. It also checks after each stored
	// batch.
	look = 100 * time.Millisecond

	// soundAfter is how long a session must last so that the next session is opened at once when it
	// breaks.
	soundAfter = 10 * time.Second

	shortestPause = 100 * time.Millisecond
	longestPause  = 15 * time.Second
)

// notStored is logged at the end of a stop.
const notStored = "received messages could not be stored in time; the broker redelivers them"

// A Source receives the messages of one queue or stream. Make one with New, and Run it.
type Source struct {
	o       Options
	log     *slog.Logger
	figures figures
}

// New makes a source.
func New(o Options) *Source {
	o.StopTimeout = cmp.Or(o.StopTimeout, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	s := &Source{o: o, log: o.Logger.With("source", o.Name)}
	s.figures.is(Connecting, "")
	return s
}

// Run receives messages until ctx ends. Then it stores and acknowledges those it has received, and
// returns. No error ends it: it connects again.
func (s *Source) Run(ctx context.Context) {
	defer s.figures.is(Stopped, "")
	failed := 0
	said := ""
	for ctx.Err() == nil {
		began := time.Now()
		err := s.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= soundAfter {
			failed = 0
		}
		wait := pause(failed)
		failed++
		s.figures.failed(err)
		if text := err.Error(); text != said || failed == 1 {
			said = text
			s.log.Warn("messages cannot be received; retrying", "err", err)
		}
		sleep.For(ctx, wait)
	}
}

// session connects and receives messages until ctx ends or an error occurs. The state is Connecting
// when it begins, and keeps the reason why the session before broke.
func (s *Source) session(ctx context.Context) error {
	session, err := s.o.Broker.Open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	letters, others := newDeadLetters(ctx, s, session), newAside(ctx)
	defer func() {
		others.cancel()
		letters.cancel() // others may wait for room among them
		others.work.Wait()
		<-letters.done
	}()
	late, end := context.WithCancel(context.WithoutCancel(ctx)) // ends StopTimeout after ctx
	defer end()
	defer context.AfterFunc(ctx, func() {
		sleep.For(late, s.o.StopTimeout)
		end()
	})()
	for ctx.Err() == nil {
		if err := s.wait(ctx, session, letters); err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
		if err := session.Resume(ctx); err != nil {
			return err
		}
		s.figures.is(Consuming, "")
		if err := s.consume(ctx, session, letters, others, late.Done()); err != nil {
			return err
		}
	}
	if late.Err() == nil && !others.settle(late.Done()) { // consume has logged it if it gave up
		s.log.Warn(notStored)
	}
	letters.close()
	select {
	case <-letters.done:
	case <-late.Done():
		if letters.waiting() {
			s.log.Warn("dead letters could not be stored in time; the broker redelivers their messages")
		}
	}
	return nil
}

// wait returns when messages may be received.
func (s *Source) wait(ctx context.Context, session Session, letters *deadLetters) error {
	for {
		why := s.o.Tasks.Closed(ctx)
		if why == "" {
			return nil
		}
		s.figures.is(Paused, why)
		select {
		case <-ctx.Done():
			return nil
		case <-session.Done():
			return session.Err()
		case <-letters.done:
			return letters.err
		case <-time.After(look):
		}
	}
}

// consume receives and stores messages until new tasks are not accepted, or ctx ends. It returns an
// error if the session broke. late is closed when a stop waits no longer.
func (s *Source) consume(ctx context.Context, session Session, letters *deadLetters, others *aside, late <-chan struct{}) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx)) // received messages are stored even after ctx ended
	defer cancel()
	t := takers{session: session, letters: letters, others: others, turn: make(chan struct{}, 1), slots: make(chan struct{}, storing), stored: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() { done <- s.takeAll(work, &t) }()

	ticker := time.NewTicker(look)
	defer ticker.Stop()
	stop, broken, deadDone := ctx.Done(), session.Done(), letters.done
	var fault error
	giveUp := func(why error) {
		fault = cmp.Or(fault, why)
		cancel()
		letters.cancel()
	}
	paused := false
	pause := func() {
		paused = true
		ticker.Stop()
		if err := session.Pause(); err != nil {
			giveUp(err)
		}
	}
	ask := func() {
		if paused {
			return
		}
		if why := s.o.Tasks.Closed(ctx); why != "" {
			s.figures.is(Paused, why)
			pause()
		}
	}
	for {
		select {
		case err := <-done:
			if fault == nil && !errors.Is(err, context.Canceled) {
				fault = err
			}
			return fault
		case <-broken:
			broken = nil
			giveUp(session.Err())
		case <-deadDone:
			deadDone = nil
			if !errors.Is(letters.err, context.Canceled) { // otherwise the reason is a taker's
				giveUp(letters.err)
			}
		case <-stop:
			stop = nil
			if !paused {
				pause()
			}
		case <-late:
			late = nil
			s.log.Warn(notStored)
			giveUp(nil)
		case <-t.stored:
			ask()
		case <-ticker.C:
			ask()
		}
	}
}

// takers are the goroutines that receive from one session.
type takers struct {
	session Session
	letters *deadLetters
	others  *aside
	turn    chan struct{} // held by the goroutine that receives a batch
	slots   chan struct{} // held by goroutines that store a batch
	stored  chan struct{} // receives a value when a batch is stored
}

// takeAll runs the takers until the session ends, and returns the first error of one.
func (s *Source) takeAll(ctx context.Context, t *takers) error {
	g, ctx := errgroup.WithContext(ctx)
	for range storing + 1 {
		g.Go(func() error {
			err := s.take(ctx, t)
			if err != nil {
				t.letters.cancel() // others may wait for room among the dead letters
			}
			return err
		})
	}
	return g.Wait()
}

// take receives batches one after another until the session ends.
func (s *Source) take(ctx context.Context, t *takers) error {
	b := batch{source: s, session: t.session, letters: t.letters}
	for {
		err := t.next(ctx, &b)
		if len(b.messages) > 0 {
			failed := b.store(ctx, t.others)
			<-t.slots
			if failed != nil {
				return failed
			}
			select {
			case t.stored <- struct{}{}:
			default:
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// next receives a batch, and waits for a slot if the batch has messages. While the store is busy
// the batch grows: few large batches cost less than many small ones.
func (t *takers) next(ctx context.Context, b *batch) (err error) {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	in := &b.source.figures
	b.messages, err = t.session.Take(ctx, b.messages[:0], BatchMost)
	had := len(b.messages)
	if in.taken(had); had == 0 {
		return err
	}
	defer t.enter(b)
	select {
	case t.slots <- struct{}{}:
		return err
	default:
	}
	t.slots <- struct{}{}
	if err == nil && had < BatchMost {
		b.messages, err = t.session.Take(ctx, b.messages, BatchMost)
		in.taken(len(b.messages) - had)
	}
	return err
}

// enter tells a batch which batches came before it and are still being stored.
func (t *takers) enter(b *batch) {
	passing := slices.DeleteFunc(t.others.passing, func(passed chan struct{}) bool {
		select {
		case <-passed:
			return true
		default:
			return false
		}
	})
	b.before = slices.Clone(passing)
	b.passed = make(chan struct{})
	t.others.passing = append(passing, b.passed)
}

// pause returns the wait after a number of failures in a row.
func pause(failed int) time.Duration {
	d := longestPause
	if failed < 8 {
		d = min(shortestPause<<failed, longestPause)
	}
	return d/2 + rand.N(d/2+1) // spread, so that many nodes do not return to a broker at the same moment
}
