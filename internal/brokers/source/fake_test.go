package source_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/rule"
)

// A broker is a queue in memory. Messages that were delivered and not acknowledged when a session
// ends are delivered again. It is used in a synctest bubble.
type broker struct {
	t     *testing.T
	store *store

	mu         sync.Mutex
	waiting    []source.Message
	out        map[int]source.Message // messages delivered in the current session
	acked      map[string]int
	dead       map[string]string // reasons by message id
	storedDead map[string]int    // number of dead letters by message id
	opened     int
	session    *session

	prefetch  int
	open      func() error // returns an error if the session cannot be opened
	storeDead func(id string) error
}

func newBroker(t *testing.T, s *store) *broker {
	return &broker{t: t, store: s, out: map[int]source.Message{}, acked: map[string]int{}, dead: map[string]string{}, storedDead: map[string]int{}, prefetch: 100}
}

// publish puts a message into the queue. Its body is its id.
func (b *broker) publish(id, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, source.Message{Message: rule.Message{ID: id, Body: []byte(body)}})
}

func (b *broker) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) + len(b.out)
}

func (b *broker) Open(context.Context) (source.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened++
	if b.open != nil {
		if err := b.open(); err != nil {
			return nil, err
		}
	}
	if b.session != nil {
		b.t.Error("a session is opened while another one is open")
	}
	b.session = &session{broker: b, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	return b.session, nil
}

// cut breaks the current session.
func (b *broker) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != nil {
		b.session.end(errors.New("the connection broke"))
	}
}

type session struct {
	broker *broker
	wake   chan struct{}
	done   chan struct{}
	err    error
	taking bool
	next   int
}

func (s *session) end(why error) {
	if s.err == nil {
		s.err = why
		close(s.done)
	}
}

func (s *session) Done() <-chan struct{} { return s.done }
func (s *session) Err() error            { return s.err }

func (s *session) Resume(context.Context) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.taking = true
	return s.err
}

func (s *session) Pause() error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.taking = false
	return s.err
}

func (s *session) Take(ctx context.Context, buf []source.Message, most int) ([]source.Message, error) {
	for {
		s.broker.mu.Lock()
		for s.taking && len(buf) < most && len(s.broker.waiting) > 0 && len(s.broker.out) < s.broker.prefetch {
			m := s.broker.waiting[0]
			s.broker.waiting = s.broker.waiting[1:]
			s.next++
			m.Delivery = s.next
			s.broker.out[s.next] = m
			buf = append(buf, m)
		}
		taking, err := s.taking, s.err
		s.broker.mu.Unlock()
		switch {
		case len(buf) > 0:
			return buf, nil
		case !taking:
			return buf, io.EOF
		case err != nil:
			return buf, err
		}
		select {
		case <-ctx.Done():
			return buf, ctx.Err()
		case <-s.done:
		case <-time.After(time.Millisecond):
		}
	}
}

// Ack fails the test if a message is neither stored nor among the dead letters.
func (s *session) Ack(messages []source.Message) error {
	b := s.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	for _, m := range messages {
		_, dead := b.dead[m.ID]
		if !dead && !b.store.has(m.ID) {
			b.t.Errorf("message %s is acknowledged, but neither stored nor among the dead letters", m.ID)
		}
		if _, handed := b.out[m.Delivery.(int)]; !handed {
			b.t.Errorf("message %s is acknowledged twice in one session", m.ID)
		}
		delete(b.out, m.Delivery.(int))
		b.acked[m.ID]++
	}
	return nil
}

func (s *session) StoreDead(_ context.Context, dead []source.Dead) []error {
	b := s.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	errs := make([]error, len(dead))
	for i, d := range dead {
		if errs[i] = s.err; errs[i] == nil && b.storeDead != nil {
			errs[i] = b.storeDead(d.ID)
		}
		if errs[i] == nil {
			b.dead[d.ID] = d.Reason
			b.storedDead[d.ID]++
		}
	}
	return errs
}

func (s *session) Close() {
	b := s.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	s.end(errors.New("closed"))
	for _, m := range b.out {
		b.waiting = append(b.waiting, m)
	}
	clear(b.out)
	b.session = nil
}

// A store keeps tasks by their keys. A task's content is the body of its message. If that begins
// with "ordered", the task has an ordering key.
type store struct {
	mu     sync.Mutex
	kept   map[string]string
	order  []string // keys in the order in which the tasks were stored
	most   int      // tasks in the largest call
	calls  int
	closed string
	high   int                     // closed from this number of tasks on; 0: never closed
	take   func() error            // returns the error of a call; nil: no errors
	lost   func() bool             // reports whether a call returns an error although everything was stored
	check  func(body string) error // returns the error of Task for a body that is a task; nil: no errors
	reject func(body string) error // returns the error of one task of a call; nil: no errors
}

func newStore() *store { return &store{kept: map[string]string{}} }

func (s *store) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.kept[key]
	return has
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.kept)
}

func (s *store) Task(text []byte, queue, key string) (*bellman.Task, error) {
	body, ok := strings.CutPrefix(string(text), "task ")
	if !ok {
		return nil, errors.New("malformed JSON:\n\t" + string(text))
	}
	if s.check != nil {
		if err := s.check(body); err != nil {
			return nil, err
		}
	}
	task := &bellman.Task{Queue: queue, Key: key, Body: []byte(body)}
	if strings.HasPrefix(body, "ordered") {
		task.OrderingKey = "order"
	}
	return task, nil
}

func (s *store) Take(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	added := make([]bellman.Added, len(tasks))
	fail := func(err error) []bellman.Added {
		for i := range added {
			added[i] = bellman.Added{Err: err}
		}
		return added
	}
	var err error
	if s.take != nil {
		if err = s.take(); err != nil {
			return fail(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = max(s.most, len(tasks))
	s.calls++
	for i, t := range tasks {
		body, there := s.kept[t.Key]
		if s.reject != nil {
			if added[i].Err = s.reject(string(t.Body)); added[i].Err != nil {
				continue
			}
		}
		switch {
		case string(t.Body) == "bad":
			invalid := new(bellman.Invalid)
			invalid.Add("queue", fmt.Sprintf("there is no queue %q", t.Queue))
			added[i].Err = invalid.Err()
		case string(t.Body) == "aliased":
			added[i].Err = bellman.ErrAliasTaken
		case there && body != string(t.Body):
			added[i].Err = bellman.ErrKeyTaken
		case there:
			added[i].Existing = true
		default:
			s.kept[t.Key] = string(t.Body)
			s.order = append(s.order, t.Key)
		}
	}
	if s.lost != nil && s.lost() {
		return fail(bellman.ErrUnknown)
	}
	return added
}

func (s *store) Closed(context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.high > 0 && len(s.kept) >= s.high {
		return "overloaded"
	}
	return s.closed
}

func (s *store) close(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = why
}

// closeDead makes the broker refuse dead letters until open is true.
func (b *broker) closeDead() (open *atomic.Bool) {
	open = new(atomic.Bool)
	b.storeDead = func(string) error {
		if !open.Load() {
			return errors.New("unroutable")
		}
		return nil
	}
	return open
}
