package source

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman"
)

// Tasks makes tasks and stores them.
type Tasks interface {
	// Task makes a task of its JSON, as a create over HTTP does, with queue and key
	// where it names none. The error says what is wrong with it, and that it can
	// never be a task. It keeps nothing of the text.
	Task(text []byte, queue, key string) (*bellman.Task, error)

	// Take stores tasks and says what became of each, in order. One without an error
	// is durable.
	Take(ctx context.Context, tasks ...*bellman.Task) []bellman.Added

	// Closed says why no more should be taken just now; empty: there is room.
	Closed(ctx context.Context) string
}

// A Tracer makes spans of messages.
type Tracer interface {
	// Take begins the span of a message that was taken from a source, under the trace
	// that its headers name, and returns what its task is to be under. end ends it, when
	// the task is stored, or the message cannot be one.
	Take(source string, header map[string]string) (under *bellman.Trace, end func(bellman.ID, error))
}

// Options of a Source. Name, Broker and Tasks are required.
type Options struct {
	Name    string   // for people: main/order.paid
	Broker  Broker   // where messages come from
	Tasks   Tasks    // where they go
	Into    string   // the queue of tasks that name none
	Mapping *Mapping // nil: a message's body is a task as POST /v1/tasks takes it
	Tracer  Tracer   // makes a span of each message; nil: there are none

	Logger      *slog.Logger  // default: slog.Default()
	StopTimeout time.Duration // for what was taken already when Run must end; default 5s
}

const (
	// storing batches are stored side by side: while one is committed the next one is
	// mapped, and another one gathers.
	storing = 2

	// BatchMost is how many messages are stored as one, which is what the engine
	// commits at once.
	BatchMost = 512

	// look is how often a source asks whether there is room, where no batch that it has
	// stored makes it ask.
	look = 100 * time.Millisecond

	// soundAfter is how long a session has to last until the next one that breaks is
	// opened anew at once.
	soundAfter = 10 * time.Second

	shortestPause = 100 * time.Millisecond
	longestPause  = 15 * time.Second
)

// A Source takes messages of one queue or stream. Make one with New, and Run it.
type Source struct {
	o       Options
	log     *slog.Logger
	figures figures
}

// New makes a source.
func New(o Options) *Source {
	o.StopTimeout = cmp.Or(o.StopTimeout, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Source{o: o, log: o.Logger.With("source", o.Name)}
	s.figures.is(Connecting, "")
	return s
}

// Run takes messages until ctx ends; then it takes no more, stores and
// acknowledges those that it has, and returns. Nothing else ends it: it connects
// again for as long as it takes.
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
		sleep(ctx, wait)
	}
}

// session connects and takes messages until ctx ends or something breaks.
func (s *Source) session(ctx context.Context) error {
	s.figures.is(Connecting, "")
	session, err := s.o.Broker.Open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	for ctx.Err() == nil {
		if err := s.wait(ctx, session); err != nil || ctx.Err() != nil {
			return err
		}
		if err := session.Resume(ctx); err != nil {
			return err
		}
		s.figures.is(Consuming, "")
		if err := s.consume(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

// wait returns when there is room.
func (s *Source) wait(ctx context.Context, session Session) error {
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
		case <-time.After(look):
		}
	}
}

// consume takes messages until there is no room for more or ctx ends, and deals
// with those that it has. The error says what broke.
func (s *Source) consume(ctx context.Context, session Session) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx)) // what was taken is finished
	defer cancel()
	g, work := errgroup.WithContext(work)
	graves := newGraves(s, session)
	t := takers{session: session, graves: graves, turn: make(chan struct{}, 1), slots: make(chan struct{}, storing), stored: make(chan struct{}, 1)}
	var left sync.WaitGroup
	for range storing + 1 {
		left.Add(1)
		g.Go(func() error {
			defer left.Done()
			return s.take(work, &t)
		})
	}
	g.Go(func() error {
		left.Wait()
		graves.close()
		return nil
	})
	g.Go(func() error { return graves.bury(work) })
	done := make(chan error, 1)
	go func() { done <- g.Wait() }()

	ticker := time.NewTicker(look)
	defer ticker.Stop()
	stop, broken := ctx.Done(), session.Done()
	var late <-chan time.Time
	var fault error
	pause := func() {
		ticker.Stop()
		if err := session.Pause(); err != nil {
			fault = err
			cancel()
		}
	}
	paused := false
	ask := func() {
		if paused {
			return
		}
		if why := s.o.Tasks.Closed(ctx); why != "" {
			paused = true
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
			fault = session.Err()
			cancel()
		case <-stop:
			stop = nil
			late = time.After(s.o.StopTimeout)
			if !paused {
				paused = true
				pause()
			}
		case <-late:
			s.log.Warn("received messages could not be stored in time; the broker redelivers them")
			cancel()
		case <-t.stored:
			ask()
		case <-ticker.C:
			ask()
		}
	}
}

// takers are those who take from one session, side by side.
type takers struct {
	session Session
	graves  *graves
	turn    chan struct{} // held by who takes a batch
	slots   chan struct{} // held by who stores one
	stored  chan struct{} // told of a batch that is stored
}

// take takes batches one after the other, until there are no more.
func (s *Source) take(ctx context.Context, t *takers) error {
	b := batch{source: s, session: t.session, graves: t.graves}
	for {
		err := t.next(ctx, &b)
		if len(b.messages) > 0 {
			failed := b.store(ctx)
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

// next takes a batch, and a slot for it if it has messages. Where the store is busy
// the batch grows meanwhile: few large ones cost store, broker and this process less
// than many small ones.
func (t *takers) next(ctx context.Context, b *batch) (err error) {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	in := &b.source.figures
	b.messages, err = t.session.Take(ctx, b.messages[:0], BatchMost)
	had := len(b.messages)
	if in.taken(had); had == 0 {
		return err
	}
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

// pause is how long to wait after so many failures in a row.
func pause(failed int) time.Duration {
	d := longestPause
	if failed < 8 {
		d = min(shortestPause<<failed, longestPause)
	}
	return d/2 + rand.N(d/2+1) // many nodes that lost one broker do not come back at once
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
