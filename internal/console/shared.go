package console

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// readTimeout bounds what is read for many pages at once.
const readTimeout = 5 * time.Second

// A shared value is read by one and used by all who ask within a while, so that it
// costs the same for one page that is open as for two hundred. The zero shared is
// ready.
type shared[T any] struct {
	mu      sync.Mutex
	value   T
	until   time.Time
	read    bool          // there is a value
	reading chan struct{} // of soon; closed when it is read
	err     error         // of the last one
}

// get returns the value, which is read anew if it is older than age. Whoever reads
// it does so for all: that its own caller leaves does not end it.
func (s *shared[T]) get(ctx context.Context, age time.Duration, read func(context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		return s.value, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	value, err := read(ctx)
	if err != nil {
		return value, err
	}
	s.value, s.until = value, time.Now().Add(age)
	return value, nil
}

// soon is get for those who cannot wait for longer than wait: then the value is what
// was read last, however old, and what is being read is for those who ask next. has is
// false while nothing was read yet.
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

// readFor reads the value for all who wait for it.
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

// forget makes the next get read anew.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}

// A part is a piece of a page that is sent to all who look at it.
type part struct {
	name string // of its template
	data func(context.Context) (any, error)
}

// livePart sends a part of a page again and again.
func (q *request) livePart(p part, pace time.Duration) {
	kept := q.parts[q.visitor.lang.code+"/"+p.name]
	last := ""
	q.stream(pace, func() (event, data string, err error) {
		text, err := kept.get(q.r.Context(), pace-pace/8, func(ctx context.Context) (string, error) {
			data, err := p.data(ctx)
			if err != nil {
				return "", err
			}
			var b bytes.Buffer
			if err := q.visitor.lang.pages["overview"].ExecuteTemplate(&b, p.name, data); err != nil {
				return "", err
			}
			return strings.ReplaceAll(strings.TrimSpace(b.String()), "\n", "\ndata: "), nil
		})
		if err != nil || text == last {
			return "", "", err
		}
		last = text
		return "part", text, nil
	})
}

// live streams the figures of the first page.
func (q *request) live() {
	switch q.r.URL.Query().Get("part") {
	case "figures":
		q.livePart(part{"part.figures", func(ctx context.Context) (any, error) { return q.figures(ctx) }}, 2*time.Second)
	case "queues":
		q.livePart(part{"part.queued", func(ctx context.Context) (any, error) { return q.figures(ctx) }}, 2*time.Second)
	default:
		q.fail(http.StatusNotFound, "error.no_page")
	}
}
