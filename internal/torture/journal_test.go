package torture

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// all stands for every node where one is named.
const all = -1

// An event is trouble that was made, from before it began until after it ended.
type event struct {
	kind     string
	node     int // whom it hits, or all
	harmless bool
	from, to time.Time
}

// A journal is what happened, in the order in which it began.
type journal struct {
	mu     sync.Mutex
	events []*event
}

// begin writes down that trouble begins; over, that it has ended.
func (j *journal) begin(t testing.TB, kind string, node int) (over func()) {
	return j.add(t, &event{kind: kind, node: node, from: time.Now()})
}

// harmless writes down what excuses nothing.
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

// slack is how long trouble is felt after it is over: connections are made anew,
// what was to be sent is sent.
const slack = time.Second

// hits finds the trouble that a node was in at some time from one moment to
// another, a death before anything else; nil if there was none.
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

// kinds says how much trouble of each kind there was.
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
