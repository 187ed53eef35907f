package results

import (
	"encoding/json"
	"net/url"

	"github.com/bellmanhq/bellman"
)

// ContentType is the content type of an Event.
const ContentType = "application/cloudevents+json; charset=utf-8"

// An Event reports one end of a task, in the JSON format of CloudEvents 1.0
// (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md). The same
// end always has the same id.
type Event struct {
	SpecVersion string          `json:"specversion"` // 1.0
	ID          string          `json:"id"`          // TASK/STATE/ATTEMPTS
	Source      string          `json:"source"`      // bellman/queues/QUEUE
	Type        string          `json:"type"`        // bellman.task.STATE
	Subject     string          `json:"subject"`     // the task's id
	Time        string          `json:"time"`        // when it ended: RFC 3339, UTC, milliseconds
	ContentType string          `json:"datacontenttype"`
	Data        json.RawMessage `json:"data"` // the task as the API shows it
}

// eventOf returns the event of an ended task; data is the task as JSON.
func eventOf(t *bellman.Task, data []byte) Event {
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
