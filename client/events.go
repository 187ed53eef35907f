package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
)

// maxEvent bounds one line of the stream: a task and an attempt.
const maxEvent = 1 << 20

// Events follows the changes of all tasks, or of one queue's tasks if queue is not empty, from now
// on, as they are committed. It ends without an error when the server shuts down or replaces its
// keys: call it again. When the connection breaks or ctx ends, it yields the error with a zero
// Event and ends. A slow reader misses events, earlier changes are not repeated, and two changes of
// a task at nearly the same time may come in either order: read a task to learn its state.
func (c *Client) Events(ctx context.Context, queue string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		resp, err := c.send(ctx, http.MethodGet, "/v1/events", search(map[string]string{"queue": queue}, 0), nil)
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
