package results

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/rule"
)

// Rules say where the ends of a queue's tasks are told, and how. Shape is required.
type Rules struct {
	To map[bellman.State]Queue // by how a task ended; a state that is missing is told nowhere

	// Shape writes a task as JSON, as every call of the API answers it.
	Shape func(*bellman.Task) []byte
	Log   *slog.Logger // default: slog.Default()
}

// A Queue is where results go.
type Queue struct {
	Name string

	// Words make the result's body of an event, which is their json; nil: the event
	// itself is sent. A chat's robot wants words of its own.
	Words *rule.Value
}

// Ended returns the results of a task that has ended: none or one. What cannot be
// said in the queue's words is sent as an event, with a line in the log, for a result
// must not be lost. A result has neither merchant nor order number, since it is
// nothing that a merchant is told: both are in the event.
func (r *Rules) Ended(t *bellman.Task) []bellman.Task {
	to, told := r.To[t.State]
	if !told {
		return nil
	}
	event, err := json.Marshal(Of(t, r.Shape(t)))
	if err != nil {
		panic(fmt.Errorf("outcome: the task's shape is no JSON: %w", err))
	}
	result, err := to.Tell("bellman.task."+t.State.String(), key(t), event)
	if err != nil {
		log := r.Log
		if log == nil {
			log = slog.Default()
		}
		log.Error("event_json fails for a result, which is sent as a plain event", "task", t.ID, "queue", to.Name, "err", err)
	}
	return []bellman.Task{result}
}

// Tell returns the task that tells of an event, given as JSON, in the queue's words.
// Where these fail, which the error says, it tells the event itself.
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

// say makes the body that words make of an event.
func say(words *rule.Value, event []byte) ([]byte, error) {
	value, err := words.Evaluate(&rule.Answer{Body: event}, rule.Facts{})
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// key tells one end of a task from its others: each has more attempts, or another
// state.
func key(t *bellman.Task) string {
	return fmt.Sprintf("%s/%v/%d", t.ID, t.State, t.Attempts)
}
