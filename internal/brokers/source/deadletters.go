package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bellmanhq/bellman/internal/sleep"
)

// Bounds of the dead letters that wait to be stored: the broker holds back further messages until
// these are acknowledged.
const (
	maxDead      = 20_000
	maxDeadBytes = 64 << 20
)

// maxReason is the longest reason of a dead letter, in bytes.
const maxReason = 500

// maxReasons is the largest number of reasons in one log message.
const maxReasons = 10

// deadLetters are the messages that cannot become a task, on their way to the dead letters. Other
// messages do not wait for them, unless there are very many. They last as long as their session: a
// pause does not wait for them either.
type deadLetters struct {
	source  *Source
	session Session
	wake    sleep.Waker

	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned; then err is its error
	err    error

	mu     sync.Mutex
	room   sync.Cond // with mu
	dead   []Dead
	on     int // number of messages on their way
	bytes  int
	closed bool // no further messages come
	over   bool // run has returned
}

// newDeadLetters starts run, which goes on after ctx ended, until close or cancel.
func newDeadLetters(ctx context.Context, s *Source, session Session) *deadLetters {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g := &deadLetters{source: s, session: session, wake: sleep.NewWaker(), cancel: cancel, done: make(chan struct{})}
	g.room.L = &g.mu
	go func() {
		defer close(g.done)
		g.err = g.run(ctx)
	}()
	return g
}

// add adds a message with its reason. It waits while there is no room.
func (g *deadLetters) add(m Message, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.over && (g.on >= maxDead || g.bytes >= maxDeadBytes) {
		g.room.Wait()
	}
	if g.over {
		return // it is delivered again
	}
	g.on++
	g.bytes += len(m.Body)
	g.dead = append(g.dead, Dead{Message: &m, Reason: oneLine(why.Error())})
	g.source.figures.taken(1)
	g.wake.Wake()
}

// waiting reports whether messages are on their way.
func (g *deadLetters) waiting() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.on > 0
}

// close announces that no further messages come.
func (g *deadLetters) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.wake.Wake()
}

// run stores dead letters until no further messages come. Those that cannot be stored are tried
// again, together with those that came meanwhile.
func (g *deadLetters) run(ctx context.Context) error {
	var dead []Dead
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.source.figures.taken(-len(dead) - len(g.dead)) // they are delivered again
		g.dead, g.over = nil, true
		g.room.Broadcast()
	}()
	for failed := 0; ; {
		g.mu.Lock()
		dead = append(dead, g.dead...)
		closed := g.closed
		g.dead = nil
		g.mu.Unlock()
		if len(dead) == 0 {
			if closed {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-g.wake:
			}
			continue
		}
		left, why, err := g.store(ctx, dead)
		dead = left
		switch {
		case err != nil:
			return err
		case why == nil:
			failed = 0
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		}
		g.source.figures.held(why)
		if failed == 0 {
			g.source.log.Error("dead letters cannot be stored; they wait", "messages", len(dead), "err", why)
		}
		sleep.For(ctx, pause(failed))
		failed++
	}
}

// store stores dead letters once, and acknowledges the stored ones. It returns the others, and why
// the first of them could not be stored. err means that the session broke.
func (g *deadLetters) store(ctx context.Context, dead []Dead) (left []Dead, why, err error) {
	var stored []Dead
	var messages []Message
	for i, failed := range g.session.StoreDead(ctx, dead) {
		if failed != nil {
			left, why = append(left, dead[i]), cmp.Or(why, failed)
			continue
		}
		stored, messages = append(stored, dead[i]), append(messages, *dead[i].Message)
	}
	if len(stored) == 0 {
		return left, why, nil
	}
	s := g.source
	s.figures.taken(-len(stored))
	s.figures.deadLettered(len(stored))
	s.say(stored)
	g.gone(stored)
	return left, why, g.session.Ack(messages)
}

// gone makes room for further messages.
func (g *deadLetters) gone(dead []Dead) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.on -= len(dead)
	for _, d := range dead {
		g.bytes -= len(d.Body)
	}
	g.room.Broadcast()
}

// say logs each reason with its number of messages, and the reasons beyond maxReasons together.
func (s *Source) say(dead []Dead) {
	const text = "messages can be no tasks: they are with the dead letters"
	var reasons []string // the most frequent first
	messages := make(map[string]int)
	for _, d := range dead {
		if messages[d.Reason]++; messages[d.Reason] == 1 {
			reasons = append(reasons, d.Reason)
		}
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return messages[b] - messages[a] })
	said := 0
	for _, reason := range reasons[:min(len(reasons), maxReasons)] {
		said += messages[reason]
		s.log.Warn(text, "messages", messages[reason], "err", reason)
	}
	if more := len(reasons) - maxReasons; more > 0 {
		s.log.Warn(text, "messages", len(dead)-said, "err", fmt.Sprintf("%d other reasons; each message has its own in Bellman-Reason", more))
	}
}

// oneLine makes a reason suitable for a header.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}
