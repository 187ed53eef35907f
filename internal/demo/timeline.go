package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// A timeline prints events with their times. It is safe for concurrent use.
type timeline struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

func newTimeline(out io.Writer) *timeline { return &timeline{out: out, start: time.Now()} }

// say prints one line: who did what, and the result.
func (l *timeline) say(who, what, outcome string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprintf("%8s  %-8s  %-44s  %s", l.offset(time.Now()), who, what, outcome)
	fmt.Fprintln(l.out, strings.TrimRight(line, " "))
}

// print prints text that is not an event.
func (l *timeline) print(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, format, args...)
}

// offset formats a time for the timeline.
func (l *timeline) offset(t time.Time) string {
	return fmt.Sprintf("+%.3fs", t.Sub(l.start).Seconds())
}
