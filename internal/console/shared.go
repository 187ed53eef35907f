package console

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// readTimeout is the longest time of a reading that many pages share.
const readTimeout = 5 * time.Second

// A shared value is read once for all callers within a period, so that two hundred open pages cost
// no more than one. The zero value is ready to use.
type shared[T any] struct {
	mu      sync.Mutex
	value   T
	until   time.Time
	read    bool          // there is a value
	reading chan struct{} // set while soon reads; closed when the reading is done
	err     error         // of the last reading of soon

	failed  time.Time // when the last reading of get failed; zero: none did
	failure error     // of that reading
}

// get returns the value, and reads it first if it is older than age. The reading is for all
// callers: it goes on if its first caller leaves.
func (s *shared[T]) get(ctx context.Context, age time.Duration, read func(context.Context) (T, error)) (T, error) {
	return s.getFor(ctx, time.Now(), age, read)
}

// getFor is get for a caller that came at a time. If a reading failed while the caller waited, its
// error is the caller's too. Otherwise all callers would wait for readTimeout, one after the other,
// if the store does not answer.
func (s *shared[T]) getFor(ctx context.Context, came time.Time, age time.Duration, read func(context.Context) (T, error)) (value T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case time.Now().Before(s.until):
		return s.value, nil
	case s.failed.After(came):
		return value, s.failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	if value, err = read(ctx); err != nil {
		s.failed, s.failure = time.Now(), err
		return value, err
	}
	s.value, s.until = value, time.Now().Add(age)
	return value, nil
}

// soon is get for callers that wait no longer than wait. After that it returns the last value,
// however old, and the reading goes on for later callers. has is false if nothing was read yet.
func (s *shared[T]) soon(ctx context.Context, age, wait time.Duration, read func(context.Context) (T, error)) (value T, has bool, err error) {
	s.mu.Lock()
	if time.Now().Before(s.until) {
		defer s.mu.Unlock()
		return s.value, true, nil
	}
	if s.reading == nil {
		s.reading = make(chan struct{})
		go s.readFor(context.WithoutCancel(ctx), age, read) // ends within readTimeout
	}
	reading := s.reading
	s.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	late := false
	select {
	case <-reading:
	case <-timer.C:
		late = true
	case <-ctx.Done():
		return value, false, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !late && s.err != nil {
		return value, false, s.err
	}
	return s.value, s.read, nil
}

// readFor reads the value for all callers that wait for it.
func (s *shared[T]) readFor(ctx context.Context, age time.Duration, read func(context.Context) (T, error)) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	value, err := read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err = err; err == nil {
		s.value, s.read, s.until = value, true, time.Now().Add(age)
	}
	close(s.reading)
	s.reading = nil
}

// forget makes the next get read again.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}

// eventLines makes a text the data of one event. A carriage return ends a line of an event too: if
// it stayed, the text that follows, which may be a merchant's answer, would be a line of its own,
// such as event: over.
var eventLines = strings.NewReplacer("\r\n", "\ndata: ", "\r", "\ndata: ", "\n", "\ndata: ")

// livePart sends a part of the overview, with the present figures, repeatedly. name is the name of
// its template. All visitors share it.
func (q *request) livePart(name string) error {
	const pace = 2 * time.Second
	kept := q.parts[q.visitor.lang.code+"/"+name]
	last := ""
	return q.stream(pace, func() (event, data string, err error) {
		text, err := kept.get(q.r.Context(), pace-pace/8, func(ctx context.Context) (string, error) {
			f, err := q.figures(ctx)
			if err != nil {
				return "", err
			}
			var b bytes.Buffer
			if err := q.visitor.lang.pages["overview"]().ExecuteTemplate(&b, name, f); err != nil {
				return "", err
			}
			return eventLines.Replace(strings.TrimSpace(b.String())), nil
		})
		if err != nil || text == last {
			return "", "", err
		}
		last = text
		return "part", text, nil
	})
}

// live streams the figures of the overview, or of the page of queues.
func (q *request) live() error {
	switch q.r.URL.Query().Get("part") {
	case "figures":
		return q.livePart("part.figures")
	case "queues":
		return q.livePart("part.queued")
	}
	return fail(http.StatusNotFound, "error.no_page")
}
