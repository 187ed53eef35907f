package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/rule"
)

// Rules say which queues get the completion events of a queue's tasks. Shape is required.
type Rules struct {
	To map[bellman.State]Queue // by end state; a missing state has no events

	// Shape returns a task as the API shows it.
	Shape func(*bellman.Task) []byte
	Log   *slog.Logger // default: slog.Default()
}

// A Queue is a queue that gets events.
type Queue struct {
	Name string

	// Words compute the body of an event's task from the event, which is their json; nil: the event
	// itself. Chat robots need their own format.
	Words *rule.Value
}

// Ended returns the completion events of an ended task: none or one. If Words fail, the event
// itself is sent and the failure is logged, because an event must not be lost. The task of an event
// has no merchant and no order number, because it is no notification of a merchant; the event
// contains both.
func (r *Rules) Ended(t *bellman.Task) []bellman.Task {
	to, told := r.To[t.State]
	if !told {
		return nil
	}
	event, err := json.Marshal(eventOf(t, r.Shape(t)))
	if err != nil {
		panic(fmt.Errorf("outcome: the task's shape is no JSON: %w", err))
	}
	result, err := to.Tell("bellman.task."+t.State.String(), key(t), event)
	if err != nil {
		log := r.Log
		log = cmp.Or(log, slog.Default())
		log.Error("event_json fails for a result, which is sent as a plain event", "task", t.ID, "queue", to.Name, "err", err)
	}
	return []bellman.Task{result}
}

// Tell returns the task that reports an event, in the queue's format. If Words fail, it returns the
// error and the task with the event itself.
func (q Queue) Tell(typed, key string, event []byte) (bellman.Task, error) {
	told := bellman.Task{
		Queue:  q.Name,
		Key:    key,
		Event:  typed,
		Header: map[string]string{"Content-Type": ContentType},
		Body:   event,
	}
	if q.Words == nil {
		return told, nil
	}
	said, err := say(q.Words, event)
	if err != nil {
		return told, err
	}
	told.Body = said
	told.Header = map[string]string{"Content-Type": "application/json; charset=utf-8"}
	return told, nil
}

// say returns the body that words compute from an event.
func say(words *rule.Value, event []byte) ([]byte, error) {
	value, err := words.Evaluate(&rule.Answer{Body: event}, rule.Facts{})
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// key identifies one end of a task: every other end has more attempts or another state.
func key(t *bellman.Task) string {
	return fmt.Sprintf("%s/%v/%d", t.ID, t.State, t.Attempts)
}
