package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
)

// maxEvent bounds one line of the stream: a task and an attempt.
const maxEvent = 1 << 20

// Events follows the changes of all tasks, or of one queue's if queue is not
// empty, from now on, as they are committed. It ends without an error when the
// server shuts down, and with one, yielded with the zero Event, when the
// connection breaks or ctx ends. A reader that is too slow misses events, and
// what happened before the call is not told: read the tasks for that.
func (c *Client) Events(ctx context.Context, queue string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		q := url.Values{}
		if queue != "" {
			q.Set("queue", queue)
		}
		resp, err := c.send(ctx, http.MethodGet, "/v1/events", q, nil)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			yield(Event{}, problem(resp))
			return
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, maxEvent)
		var e Event
		for lines.Scan() {
			line := lines.Bytes()
			if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
				e = Event{Type: string(name)}
				continue
			}
			data, ok := bytes.CutPrefix(line, []byte("data: "))
			if !ok {
				continue // a heartbeat, or the empty line that ends an event
			}
			if err := json.Unmarshal(data, &e); err != nil {
				yield(Event{}, fmt.Errorf("bellman: event %q is not what was expected: %w", e.Type, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Event{}, fmt.Errorf("bellman: events: %w", err))
		}
	}
}
