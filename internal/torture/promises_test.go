package torture

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// unrecorded is how long it may take, after an answer, until the outcome of the attempt is durable
// on a busy machine without trouble.
const unrecorded = 3 * time.Second

// apart is how far a node's clock may differ from the receiver's.
const apart = 50 * time.Millisecond

// check compares the remaining tasks with the promises. It logs how many attempts were made twice,
// and why.
func check(tb *testing.T, ledger map[string]receipt, r *receiver, j *journal, kept map[string]client.TaskDetail) {
	tb.Helper()
	t := &faults{tb: tb}
	defer t.rest()
	sights := r.sights()
	why := map[string]int{}
	var reasons []string
	deliveries, unknown := 0, 0
	explain := func(id string, s sight) {
		e := j.hits(s.node, s.at, s.at.Add(slowest+unrecorded))
		if e == nil {
			t.Errorf("task %s: node %d sent attempt %d at %s, which is not logged or was logged late, although the node was not in trouble; the log has %+v, the receiver saw %v",
				id, s.node, s.number, s.at.UTC().Format("15:04:05.000"), kept[id].AttemptLog, sights[id])
			return
		}
		if why[e.kind]++; why[e.kind] == 1 {
			reasons = append(reasons, e.kind)
		}
	}
	for id := range ledger {
		if _, ok := kept[id]; !ok {
			t.Errorf("task %s was accepted, but is missing", id)
		}
	}
	keys := map[string]string{}
	for id, task := range kept {
		if other, twice := keys[task.Key]; twice {
			t.Errorf("tasks %s and %s have the same key %s", id, other, task.Key)
		}
		keys[task.Key] = id
		if _, ok := ledger[id]; !ok {
			t.Errorf("task %s, key %s, exists, but was not accepted under this id", id, task.Key)
		}
		if task.State != "succeeded" {
			t.Errorf("task %s ended as %s, %s; want succeeded", id, task.State, task.Reason)
		}
		deliveries += len(sights[id])
		unknown += consistent(t, task, sights[id], explain)
	}
	for id := range sights {
		if _, ok := kept[id]; !ok {
			t.Errorf("task %s was delivered, but is missing", id)
		}
	}
	extra := 0
	for _, n := range why {
		extra += n
	}
	tb.Logf("%d tasks accepted, %d deliveries, of which %d are in no log or came into it late (%s) and %d attempts were logged as unknown; trouble: %s",
		len(ledger), deliveries, extra, tally(reasons, why), unknown, j.kinds())
}

// faults counts errors, and reports only the first ones.
type faults struct {
	tb testing.TB
	n  int
}

const told = 20

func (f *faults) Errorf(format string, args ...any) {
	f.tb.Helper()
	if f.n++; f.n <= told {
		f.tb.Errorf(format, args...)
	}
}

// rest reports how many more errors there were.
func (f *faults) rest() {
	if f.n > told {
		f.tb.Errorf("and %d more", f.n-told)
	}
}

// consistent compares a task's log with what the receiver saw of it. It calls explain for each
// delivery that is not logged or was logged late. It returns the number of logged attempts of which
// nobody knows whether they were made. A node may lose a shard before it records an attempt, and
// regain it after the next owner has repeated the attempt. The first attempt is then logged late,
// after one that began when it had ended. In the log it has another number than in its request.
func consistent(t *faults, task client.TaskDetail, sights []sight, explain func(id string, s sight)) (unknown int) {
	logged := make([]bool, len(sights))
	accepted, over := false, time.Time{} // of the attempts before it
	for i, a := range task.AttemptLog {
		if a.Number != i+1 {
			t.Errorf("task %s: attempt number %d is at position %d of its log", task.ID, a.Number, i+1)
		}
		if a.Started.Before(a.Due.Time) {
			t.Errorf("task %s: attempt %d was due at %s and started at %s", task.ID, a.Number, a.Due, a.Started)
		}
		late := a.Started.Before(over)
		if accepted && !late {
			t.Errorf("task %s: attempt %d started at %s, although an earlier one was accepted", task.ID, a.Number, a.Started)
		}
		accepted = accepted || a.Result == "accepted"
		over = later(over, ended(a))
		if a.Result == "unknown" {
			unknown++
		}
		seen := slices.IndexFunc(sights, func(s sight) bool {
			return (s.number == a.Number || late && s.number < a.Number) && s.node == nodeOf(a) && s.status == a.Status && s.body == a.Response &&
				!s.at.Before(a.Started.Add(-apart)) && !s.at.After(ended(a).Add(apart))
		})
		switch {
		case late && seen >= 0: // explained below, because it is not marked as logged
		case late:
			explain(task.ID, sight{at: a.Started.Time, node: nodeOf(a), number: a.Number})
		case seen >= 0:
			logged[seen] = true
		case a.Status == 0: // no answer came, so the request may have arrived or not
		default:
			t.Errorf("task %s: node %s logged attempt %d of %s as %s, %d %q; the receiver saw %v", task.ID, a.Node, a.Number, a.Started, a.Result, a.Status, a.Response, sights)
		}
	}
	if !accepted {
		t.Errorf("task %s succeeded, but no attempt in its log was accepted: %+v", task.ID, task.AttemptLog)
	}
	for i, s := range sights {
		if !logged[i] {
			explain(task.ID, s)
		}
	}
	return unknown
}

// nodeOf returns the number of the node that made an attempt; -1: unknown.
func nodeOf(a client.Attempt) int {
	for node := range nodes {
		if strings.HasPrefix(a.Node, agent(node)+"/") {
			return node
		}
	}
	return -1
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ended returns the latest time at which an attempt may have ended, because times are cut to
// milliseconds.
func ended(a client.Attempt) time.Time {
	return a.Started.Add(time.Duration(a.TookMS) * time.Millisecond)
}

// kept reads all tasks of a store that no node has open.
func kept(t *testing.T, store string) map[string]client.TaskDetail {
	t.Helper()
	cmd := exec.Command(copyOf(t, 0), "export", "--store", store)
	cmd.Env = environment()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bellman export: %v\n%s", err, &said)
	}
	tasks := map[string]client.TaskDetail{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var task client.TaskDetail
		if err := d.Decode(&task); err != nil {
			t.Fatal(err)
		}
		if _, twice := tasks[task.ID]; twice {
			t.Errorf("task %s was exported twice", task.ID)
		}
		tasks[task.ID] = task
	}
	return tasks
}
