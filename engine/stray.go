package engine

import (
	"time"

	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// strays are the queues that have tasks at this node and are not configured here. The tasks
// were accepted, and are nobody's mistake: they wait until their queue is configured, or
// their shards are those of a node that knows it.
type strays struct {
	mu   locks.Mutex
	said map[string]time.Time // by queue, when the log said so last
}

// strayAgain is how often the log says of a queue that its tasks wait.
const strayAgain = 10 * time.Minute

// stray holds the tasks of a queue that is not configured.
func (e *Engine) stray(queue string) {
	e.strays.mu.Lock()
	_, known := e.strays.said[queue]
	if !known {
		if e.strays.said == nil {
			e.strays.said = make(map[string]time.Time)
		}
		e.strays.said[queue] = e.clock.now()
	}
	e.strays.mu.Unlock()
	if !known {
		e.log.Warn(strayText, "queue", queue)
	}
	e.dispatch.PauseQueue(e.clock.now().UnixNano(), queue)
}

const strayText = "tasks wait in a queue that is not configured; they go on when it is"

// sayStrays says so again, as long as there are such tasks.
func (e *Engine) sayStrays(now time.Time) {
	again := make(map[string]bool)
	e.strays.mu.Lock()
	for queue, said := range e.strays.said {
		if now.Sub(said) >= strayAgain {
			again[queue], e.strays.said[queue] = true, now
		}
	}
	e.strays.mu.Unlock()
	if len(again) == 0 {
		return
	}
	for _, q := range e.dispatch.Queues() {
		if again[q.Name] && q.Waiting > 0 {
			e.log.Warn(strayText, "queue", q.Name, "waiting", q.Waiting, "oldest_due", atNs(q.OldestDue))
		}
	}
}

// strayTasks is how many tasks of such queues are due and wait in memory.
func (e *Engine) strayTasks() (n int) {
	e.strays.mu.Lock()
	none := len(e.strays.said) == 0
	e.strays.mu.Unlock()
	if none {
		return 0
	}
	for _, q := range e.dispatch.Queues() {
		if _, ok := e.queue(q.Name); !ok {
			n += q.Waiting
		}
	}
	return n
}

// settleStrays holds the queues that are no longer configured, and lets those go
// that are again.
func (e *Engine) settleStrays(queues map[string]Queue) {
	for _, q := range e.dispatch.Queues() {
		if _, ok := queues[q.Name]; !ok {
			e.stray(q.Name)
		}
	}
	e.strays.mu.Lock()
	var back []string
	for name := range e.strays.said {
		if _, ok := queues[name]; ok {
			delete(e.strays.said, name)
			if e.pauses.get("queue/"+name) == nil {
				back = append(back, name)
			}
		}
	}
	e.strays.mu.Unlock()
	for _, name := range back {
		e.applyPause("queue/"+name, false)
		e.comeBack()
	}
	if len(back) > 0 {
		e.pump()
	}
}
