package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/access"
)

const (
	maxListeners = 64               // open streams
	maxOfKey     = 16               // open streams of one key
	eventBuffer  = 1024             // events that one stream may lag behind
	heartbeat    = 15 * time.Second // between comments that keep an idle stream open
	writeTimeout = 30 * time.Second // for one event; then the stream ends
)

// onlyQueue is the parameter of the stream.
var onlyQueue = huma.Param{
	Name: "queue", In: "query", Description: "Only this queue's tasks.", Schema: &huma.Schema{Type: huma.TypeString},
}

// events serves GET /v1/events.
func (a *API) events(w *response, r *http.Request) {
	if refused := checkQuery(r, &onlyQueue); refused != nil {
		write(w, refused)
		return
	}
	queue := r.URL.Query().Get("queue")
	if queue != "" && !w.scope.HasQueue(queue) {
		write(w, w.outsideQueue(queue))
		return
	}
	if !a.listeners.Enter(w.who, maxListeners, maxOfKey) {
		write(w, later(http.StatusTooManyRequests, 10*time.Second, fmt.Sprintf("too many streams of events are open: at most %d, and %d of one key", maxListeners, maxOfKey)))
		return
	}
	defer a.listeners.Leave(w.who)
	events, cancel := a.o.Engine.Subscribe(eventBuffer)
	defer cancel()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies must pass on each event at once
	a.stream(w, r, events, queue)
}

// stream writes events until they end, or the reader leaves or lags.
func (a *API) stream(w *response, r *http.Request, events <-chan engine.Event, queue string) {
	out := http.NewResponseController(w)
	send := func(text []byte) bool {
		if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && r.Context().Err() != nil {
			return false // without deadlines, the stream ends when the reader leaves
		}
		if _, err := w.Write(text); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	replaced := a.keys.Load().replaced
	if _, refused := a.admit(r, access.MayRead); refused != nil {
		return // the keys were replaced
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	if !send([]byte(": connected\n\n")) {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-replaced:
			return
		case <-beat.C:
			if _, refused := a.admit(r, access.MayRead); refused != nil {
				return // the key has expired
			}
			if !send([]byte(": alive\n\n")) {
				return
			}
		case e, more := <-events:
			if !more {
				return
			}
			if queue != "" && e.Task.Queue != queue || !w.sees(e.Task) {
				continue
			}
			if !send(a.event(&e)) {
				return
			}
		}
	}
}

// event returns an event in the format of server-sent events.
func (a *API) event(e *engine.Event) []byte {
	name := "task"
	out := client.Event{Task: a.Shown(e.Task), Added: e.Added}
	if e.Attempt != nil {
		name = "attempt"
		shown := attempt(e.Attempt)
		out.Attempt, out.Task.Last = &shown, last(e.Attempt)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, marshal(out))
}
