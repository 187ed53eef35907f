package engine

import (
	"log/slog"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// unknownQueues are queues that have tasks at this node but are not configured here. Their tasks
// wait until the queue is configured, or until their shards move to a node that knows the queue.
type unknownQueues struct {
	log      *slog.Logger
	clock    *clock.Clock
	rules    *Rules
	dispatch *dispatch.D[*item]
	pauses   *pauses

	mu   locks.Mutex
	said map[string]time.Time // when the log last named each queue
}

func (s *unknownQueues) init() {
	s.said = make(map[string]time.Time)
	locks.Name(&s.mu, "unknown")
}

// unknownQueueAgain is how often the log repeats that the tasks of a queue wait.
const unknownQueueAgain = 10 * time.Minute

// hold pauses a queue that is not configured.
func (s *unknownQueues) hold(queue string) {
	s.mu.Lock()
	_, known := s.said[queue]
	if !known {
		s.said[queue] = s.clock.Now()
	}
	s.mu.Unlock()
	if !known {
		s.log.Warn(unknownQueueText, "queue", queue)
	}
	s.dispatch.PauseQueue(s.clock.Now().UnixNano(), queue)
	if _, ok := s.rules.queue(queue); ok { // SetQueues has just added it, and may not know of this
		s.settle(*s.rules.queues.Load())
	}
}

const unknownQueueText = "tasks wait in a queue that is not configured"

// say repeats the log line for queues that still have tasks.
func (s *unknownQueues) say(now time.Time) {
	again := make(map[string]bool)
	s.mu.Lock()
	for queue, said := range s.said {
		if now.Sub(said) >= unknownQueueAgain {
			again[queue], s.said[queue] = true, now
		}
	}
	s.mu.Unlock()
	if len(again) == 0 {
		return
	}
	for _, q := range s.dispatch.Queues() {
		if again[q.Name] && q.Waiting > 0 {
			s.log.Warn(unknownQueueText, "queue", q.Name, "waiting", q.Waiting, "oldest_due", atNs(q.OldestDue))
		}
	}
}

// tasks returns how many due tasks of unknown queues wait in memory.
func (s *unknownQueues) tasks() (n int) {
	s.mu.Lock()
	none := len(s.said) == 0
	s.mu.Unlock()
	if none {
		return 0
	}
	for _, q := range s.dispatch.Queues() {
		if _, ok := s.rules.queue(q.Name); !ok {
			n += q.Waiting
		}
	}
	return n
}

// settle pauses queues that are no longer configured, and resumes those that are configured again.
func (s *unknownQueues) settle(queues map[string]Queue) {
	for _, q := range s.dispatch.Queues() {
		if _, ok := queues[q.Name]; !ok {
			s.hold(q.Name)
		}
	}
	s.mu.Lock()
	var back []string
	for name := range s.said {
		if _, ok := queues[name]; ok {
			delete(s.said, name)
			back = append(back, name)
		}
	}
	s.mu.Unlock()
	for _, name := range back {
		s.pauses.restore("queue/" + name)
	}
	if len(back) > 0 {
		s.pauses.resumed()
	}
}
