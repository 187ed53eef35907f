package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/schedule"
)

// A scene is one part of the story. play returns when it is over, with an error if anything went
// differently.
type scene struct {
	title string
	play  func(context.Context, *stage) error
}

// A stage holds what scenes use. They are played one at a time.
type stage struct {
	*timeline
	client   *client.Client
	api      string // its address
	notices  string // where it takes the channel's notices
	merchant *merchant
	channel  *channel
	events   <-chan engine.Event

	made  []string          // ids of the tasks, in order
	ended map[string]string // states of the tasks whose last attempt was shown, by id
}

// tell plays all scenes, and prints where to look afterwards.
func (s *stage) tell(ctx context.Context, scenes []scene) error {
	s.print("bellman listens on %s, a pretend merchant on %s,\na pretend payment channel on %s\n", s.api, s.merchant.url, s.channel.url)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i, scene := range scenes {
		s.print("\n%d. %s\n\n", i+1, scene.title)
		err := scene.play(ctx, s)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("demo: %s: not over after %s: %w", scene.title, patience, err)
		}
		if ctx.Err() != nil {
			return nil // the visitor ended the demo
		}
		if err != nil {
			return fmt.Errorf("demo: %s: %w", scene.title, err)
		}
	}
	s.print("\nThe story is over. Tasks:\n")
	for _, id := range s.made {
		s.print("  %s\n", id)
	}
	s.print("\nThe console is at %s/, the API is described in %[1]s/openapi.json\n", s.api)
	return nil
}

// linger prints what happens to tasks that are sent now, until ctx ends.
func (s *stage) linger(ctx context.Context) {
	s.print(`
Look:
  curl -s %[1]s/v1/tasks/%[2]s
  curl -s '%[1]s/v1/tasks?state=succeeded'
  curl -s %[1]s/v1/queues
  curl -s %[1]s/v1/orders/M1001/%[4]s
Try:
  curl -s %[1]s/v1/tasks/%[2]s/resend -H 'Content-Type: application/json' -d '{"mode":"once"}'
  curl -s %[1]s/v1/tasks -H 'Content-Type: application/json' \
    -d '{"queue":"merchant-notify","url":"%[3]s","json":{"order_no":"A-1","state":"SUCCESS"}}'

Ctrl-C ends it, and removes the store.

`, s.api, s.made[0], s.merchant.url, contests)
	for {
		select {
		case e, more := <-s.events:
			if !more {
				return
			}
			s.show(e)
		case <-ctx.Done():
			return
		}
	}
}

// attempted prints events until an attempt of the task is recorded, and returns that event.
func (s *stage) attempted(ctx context.Context, id string) (engine.Event, error) {
	for {
		select {
		case e, more := <-s.events:
			if !more {
				return e, errors.New("the server has stopped")
			}
			s.show(e)
			if e.Attempt != nil && e.Task.ID.String() == id {
				return e, nil
			}
		case <-ctx.Done():
			return engine.Event{}, ctx.Err()
		}
	}
}

// show prints what bellman recorded.
func (s *stage) show(e engine.Event) {
	a := e.Attempt
	if a == nil {
		return // the API's answer was shown
	}
	result := a.Result.String()
	if a.Status != 0 && a.Result == bellman.ErrorStatus {
		result = fmt.Sprintf("%s %d", result, a.Status)
	}
	next := fmt.Sprintf("%s: %s", e.Task.State, e.Task.Reason)
	if e.Task.State.Ended() {
		s.ended[e.Task.ID.String()] = e.Task.State.String()
	} else {
		gap := e.Task.Due.Sub(a.Started).Round(10 * time.Millisecond)
		next = fmt.Sprintf("next due at %s, %s after this one", s.offset(e.Task.Due), schedule.FormatDuration(gap))
	}
	if a.Action != "" {
		result = a.Action + ", " + a.Reading
	}
	s.say("bellman", fmt.Sprintf("records attempt %d: %s", a.Number, result), next)
}

// add is create for a task that must be new.
func (s *stage) add(ctx context.Context, what string, in client.CreateTask) (*client.Task, error) {
	task, created, err := s.create(ctx, what, in)
	if err == nil && !created {
		err = fmt.Errorf("task %s was there already", task.ID)
	}
	return task, err
}

// create adds a task through the API and prints the answer. The merchant may be notified before the
// answer arrives.
func (s *stage) create(ctx context.Context, what string, in client.CreateTask) (task *client.Task, created bool, err error) {
	s.say("shop", what, "POST /v1/tasks")
	task, created, err = s.client.Create(ctx, in)
	switch {
	case err != nil:
		s.say("bellman", "refuses", strings.Replace(err.Error(), "bellman: ", "answers ", 1))
	case created:
		s.made = append(s.made, task.ID)
		s.say("bellman", "has kept it", "answers 201, task "+task.ID)
	default:
		s.say("bellman", "has it already", "answers 200, task "+task.ID)
	}
	return task, created, err
}
