package alarm

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/bellmanhq/bellman/internal/results"
)

// Types of events.
const (
	began = "bellman.alarm.began"
	ended = "bellman.alarm.ended"
)

// data is the data of an event.
type data struct {
	Name     string         `json:"name"`
	When     string         `json:"when"`
	Queue    string         `json:"queue"`    // empty: all queues
	Endpoint string         `json:"endpoint"` // empty: the condition has no endpoint; *: the endpoints beyond mostEndpoints
	Above    float64        `json:"above"`    // seconds or a count
	Value    float64        `json:"value"`    // seconds or a count, when the alarm was raised
	Since    string         `json:"since"`
	Until    string         `json:"until"`            // empty: the alarm is raised
	Reason   string         `json:"reason"`           // why it ended; empty: the alarm is raised
	Date     string         `json:"date,omitempty"`   // the day that a reported alarm is about
	Counts   map[string]int `json:"counts,omitempty"` // what value consists of, by kind
	Text     string         `json:"text"`
	TextZH   string         `json:"text_zh"`

	Credential string `json:"credential,omitempty"` // the certificate or key that expires
	Expires    string `json:"expires,omitempty"`

	Decision *Decision `json:"decision,omitempty"`
	Affected *Case     `json:"affected,omitempty"`
}

// event returns the event that reports an alarm: its type, its key and its body. One key is
// reported once. chinese translates why a case needs action.
func event(a *Alarm, chinese func(string) string) (typed, key string, body []byte) {
	typed, at, moment := began, a.Since, "began"
	d := data{
		Name: a.Name, When: a.When, Queue: a.Queue, Endpoint: a.Endpoint, Above: a.Above, Value: a.Value,
		Since: stamp(a.Since), Reason: a.Reason, Date: a.Date, Counts: a.Counts, Decision: a.Decision,
		Credential: a.Credential, Affected: a.Affected,
	}
	d.Text, d.TextZH = texts(a, chinese)
	if !a.Expires.IsZero() {
		d.Expires = stamp(a.Expires)
	}
	if !a.Raised() {
		typed, at, moment = ended, a.Ended, "ended"
		d.Until = stamp(a.Until)
	}
	key = fmt.Sprintf("alarm/%s/%s/%s", a.ID, stamp(a.Since), moment)
	if a.once {
		key = fmt.Sprintf("alarm/%s/%s", a.ID, moment)
	}
	said, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Errorf("alarm: %w", err)) // cannot fail: text and finite numbers
	}
	body, err = json.Marshal(results.Event{
		SpecVersion: "1.0",
		ID:          key,
		Source:      "bellman/alarms/" + url.PathEscape(a.Name),
		Type:        typed,
		Subject:     a.ID,
		Time:        stamp(at),
		ContentType: "application/json",
		Data:        said,
	})
	if err != nil {
		panic(fmt.Errorf("alarm: %w", err))
	}
	return typed, key, body
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
