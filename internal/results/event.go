package results

import (
	"encoding/json"
	"net/url"

	"github.com/bellmanhq/bellman"
)

// ContentType is that of an Event's JSON.
const ContentType = "application/cloudevents+json; charset=utf-8"

// An Event tells of one end of one task, as CloudEvents 1.0 says in its JSON format
// (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
// The same end is told under the same id.
type Event struct {
	SpecVersion string          `json:"specversion"` // 1.0
	ID          string          `json:"id"`          // TASK/STATE/ATTEMPTS
	Source      string          `json:"source"`      // bellman/queues/QUEUE
	Type        string          `json:"type"`        // bellman.task.STATE
	Subject     string          `json:"subject"`     // the task's id
	Time        string          `json:"time"`        // when it ended: RFC 3339, UTC, milliseconds
	ContentType string          `json:"datacontenttype"`
	Data        json.RawMessage `json:"data"` // the task, as every call of the API answers it
}

// Of returns the event of a task that has ended; data is the task as JSON.
func Of(t *bellman.Task, data []byte) Event {
	return Event{
		SpecVersion: "1.0",
		ID:          key(t),
		Source:      "bellman/queues/" + url.PathEscape(t.Queue),
		Type:        "bellman.task." + t.State.String(),
		Subject:     t.ID.String(),
		Time:        t.Finished.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		ContentType: "application/json",
		Data:        data,
	}
}
