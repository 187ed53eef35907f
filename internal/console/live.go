package console

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	livePace     = time.Second      // between checks of what a page shows
	liveBeat     = 15 * time.Second // between comments that keep a silent stream open
	liveTimeout  = 30 * time.Second // longest time to write one event to a slow reader
	maxListeners = 500              // concurrent streams
	maxOfKey     = 200              // concurrent streams of one key, which a team may share
)

// sessionOver is the event that makes a page reload itself, and so leads to the sign-in.
const sessionOver = "event: over\ndata: \n\n"

// stream sends server-sent events while the browser is connected and signed in. look is called at
// each step and returns the next event; empty: nothing to send.
func (q *request) stream(pace time.Duration, look func() (event, data string, err error)) error {
	if !q.listeners.Enter(q.visitor.Who, maxListeners, maxOfKey) {
		http.Error(q.w, "too many pages are open", http.StatusServiceUnavailable)
		return nil
	}
	defer q.listeners.Leave(q.visitor.Who)
	h := q.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // makes a proxy pass on each event at once
	out := http.NewResponseController(q.w)
	send := func(text string) bool {
		if err := out.SetWriteDeadline(time.Now().Add(liveTimeout)); err != nil && q.r.Context().Err() != nil {
			return false // if deadlines are not supported, the end of the connection stops the stream
		}
		if _, err := q.w.Write([]byte(text)); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	if !send("retry: 3000\n\n") {
		return nil
	}
	tick := time.NewTicker(pace)
	defer tick.Stop()
	session, from := q.cookie(q.r, sessionCookie), q.o.Proxies.From(q.r)
	sent := time.Now()
	for {
		select {
		case <-q.r.Context().Done():
			return nil
		case <-q.stopping:
			return nil
		case <-tick.C:
		}
		if signedIn := q.visitor.SignedIn; signedIn && !q.goesOn(q.r.Context(), session, from) || !signedIn && !q.open() {
			send(sessionOver)
			return nil
		}
		event, data, err := look()
		switch {
		case err != nil:
			return nil // the browser connects again
		case event != "":
			if !send(fmt.Sprintf("event: %s\ndata: %s\n\n", event, data)) {
				return nil
			}
			sent = time.Now()
		case time.Since(sent) >= liveBeat:
			if !send(": alive\n\n") {
				return nil
			}
			sent = time.Now()
		}
	}
}

// taskLive notifies the page of a task when the task changes.
func (q *request) taskLive() error {
	t, err := q.task()
	if err != nil {
		return err
	}
	version := t.Version
	if n, err := strconv.ParseUint(q.r.URL.Query().Get("version"), 10, 32); err == nil {
		version = uint32(n) // the version that the page shows, which may be out of date
	}
	return q.stream(livePace, func() (event, data string, err error) {
		now, err := q.o.Reader.Task(q.r.Context(), t.ID)
		if err != nil || now.Version == version {
			return "", "", err
		}
		version = now.Version
		return "changed", fmt.Sprint(version), nil
	})
}
