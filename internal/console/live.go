package console

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	livePace     = time.Second      // between looks at what a page shows
	liveBeat     = 15 * time.Second // between comments that keep a silent stream alive
	liveTimeout  = 30 * time.Second // for one event, until the reader is given up
	maxListeners = 500              // streams at once
	maxOfKey     = 200              // of them, those of one key, which a team may share
)

// sessionOver is the event that tells a page to ask for itself anew, and so for a sign-in.
const sessionOver = "event: over\ndata: \n\n"

// stream sends server-sent events for as long as the reader is there and signed in.
// At each step look says what to send; empty: nothing.
func (q *request) stream(pace time.Duration, look func() (event, data string, err error)) {
	if !q.listeners.Enter(q.visitor.Who, maxListeners, maxOfKey) {
		http.Error(q.w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer q.listeners.Leave(q.visitor.Who)
	h := q.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy must pass on each event at once
	out := http.NewResponseController(q.w)
	send := func(text string) bool {
		if err := out.SetWriteDeadline(time.Now().Add(liveTimeout)); err != nil && q.r.Context().Err() != nil {
			return false // where deadlines are not supported, the reader's leaving ends it
		}
		if _, err := q.w.Write([]byte(text)); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	if !send("retry: 3000\n\n") {
		return
	}
	tick := time.NewTicker(pace)
	defer tick.Stop()
	session := q.cookie(q.r, sessionCookie)
	sent := time.Now()
	for {
		select {
		case <-q.r.Context().Done():
			return
		case <-q.stopping:
			return
		case <-tick.C:
		}
		if signedIn := q.visitor.SignedIn; signedIn && !q.goesOn(q.r.Context(), session) || !signedIn && !q.open() {
			send(sessionOver)
			return
		}
		event, data, err := look()
		switch {
		case err != nil:
			return // the browser asks again
		case event != "":
			if !send(fmt.Sprintf("event: %s\ndata: %s\n\n", event, data)) {
				return
			}
			sent = time.Now()
		case time.Since(sent) >= liveBeat:
			if !send(": alive\n\n") {
				return
			}
			sent = time.Now()
		}
	}
}

// taskLive tells the page of a task when it is no longer as it was.
func (q *request) taskLive() {
	t := q.task()
	if t == nil {
		return
	}
	version := t.Version
	if n, err := strconv.ParseUint(q.r.URL.Query().Get("version"), 10, 32); err == nil {
		version = uint32(n) // what the page shows, which may be older by now
	}
	q.stream(livePace, func() (event, data string, err error) {
		now, err := q.reader.Task(q.r.Context(), t.ID)
		if err != nil || now.Version == version {
			return "", "", err
		}
		version = now.Version
		return "changed", fmt.Sprint(version), nil
	})
}
