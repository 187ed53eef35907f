package torture

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// all stands for every node.
const all = -1

// An event is one trouble, from before it began until after it ended.
type event struct {
	kind     string
	node     int // the node that it hits, or all
	harmless bool
	from, to time.Time
}

// A journal has all events, in the order of their beginning.
type journal struct {
	mu     sync.Mutex
	events []*event
}

// begin records that trouble begins; over records its end.
func (j *journal) begin(t testing.TB, kind string, node int) (over func()) {
	return j.add(t, &event{kind: kind, node: node, from: time.Now()})
}

// harmless records something that excuses nothing.
func (j *journal) harmless(t testing.TB, kind string, node int) (over func()) {
	return j.add(t, &event{kind: kind, node: node, from: time.Now(), harmless: true})
}

func (j *journal) add(t testing.TB, e *event) (over func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
	if testing.Verbose() {
		t.Logf("%s %s", e.from.UTC().Format("15:04:05.000"), e)
	}
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if e.to.IsZero() {
			e.to = time.Now()
		}
	}
}

func (e *event) String() string {
	if e.node == all {
		return e.kind
	}
	return fmt.Sprintf("%s of node %d", e.kind, e.node)
}

// slack is how long the effects of trouble last after its end, such as new connections and delayed
// messages.
const slack = time.Second

// hits returns the trouble of a node between two moments, or nil. A death takes precedence.
func (j *journal) hits(node int, from, to time.Time) (found *event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.events {
		if e.harmless || e.node != node && e.node != all || e.from.After(to) || !e.to.IsZero() && e.to.Add(slack).Before(from) {
			continue
		}
		if found == nil || e.kind == death {
			found = e
		}
	}
	return found
}

// death is the kind of trouble that ends a node.
const death = "kill -9"

// kinds returns the number of events by kind, as text.
func (j *journal) kinds() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	count := map[string]int{}
	var order []string
	for _, e := range j.events {
		if count[e.kind]++; count[e.kind] == 1 {
			order = append(order, e.kind)
		}
	}
	return tally(order, count)
}

func tally(order []string, count map[string]int) string {
	var text []string
	for _, kind := range order {
		text = append(text, fmt.Sprintf("%d %s", count[kind], kind))
	}
	return strings.Join(text, ", ")
}
