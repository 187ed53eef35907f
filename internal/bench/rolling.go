package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// rolling: each node in turn is stopped and another takes its place, while tasks
// are created at a steady pace at whichever node takes them, and come due.
func (r *run) rolling() error {
	c, err := r.cluster(r.sizes.nodes, "")
	if err != nil {
		return err
	}
	s := &steady{r: r, nodes: slices.Clone(c.nodes), took: newDurations()}
	over := make(chan struct{})
	g, ctx := errgroup.WithContext(r.ctx)
	g.Go(func() error { return s.run(ctx, over) })
	g.Go(func() error {
		defer close(over)
		for i := range c.nodes {
			sleepUntil(time.Now().Add(r.sizes.settle))
			if err := c.nodes[i].stop(); err != nil {
				return err
			}
			if err := c.replace(i); err != nil {
				return err
			}
			s.replaced(i, c.nodes[i])
		}
		sleepUntil(time.Now().Add(r.sizes.settle))
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	late, err := s.lateness()
	if err != nil {
		return err
	}
	if err := r.settled(c.nodes[0].awaitPending(r.ctx, 0)); err != nil {
		return err
	}
	r.figure("tasks while nodes were restarted", float64(late.h.TotalCount()), "")
	r.figure("requests tried at another node", float64(s.elsewhere), "")
	r.figure("create to answer, most", s.took.ms(100), "ms")
	_, _, most := r.percentiles("arrival after due", late)
	r.must(most, inPostgres(atMost(500)))
	return c.stop()
}

// A steady creates tasks at a steady pace.
type steady struct {
	r     *run
	loads []*load   // of one second each
	kept  [][]int64 // Unix ns at which each of their tasks was accepted

	mu        sync.Mutex
	nodes     []*process
	elsewhere int // requests that the node of their turn did not answer well
	took      durations
}

// Tasks are due so long after they are created, for most to go to another node
// than the one that took them.
const (
	soonest = 200 * time.Millisecond
	within  = time.Second
)

const posts = 50 // a second

// run goes on until over is closed, and then to the end of the second.
func (s *steady) run(ctx context.Context, over <-chan struct{}) error {
	g, ctx := errgroup.WithContext(ctx)
	each := max(s.r.sizes.pace/posts, 1)
	gap := time.Second / posts
	for begun := time.Now(); ctx.Err() == nil; begun = begun.Add(time.Second) {
		select {
		case <-over:
			return g.Wait()
		default:
		}
		l := s.r.newLoad(posts * each)
		l.due = make([]int64, len(l.at))
		for i := range l.due {
			l.due[i] = begun.Add(time.Duration(i/each)*gap + soonest + rand.N(within)).UnixMilli()
		}
		kept := make([]int64, len(l.at))
		s.loads, s.kept = append(s.loads, l), append(s.kept, kept)
		plan := to(l, s.r.url)
		for post := range posts {
			sleepUntil(begun.Add(time.Duration(post) * gap))
			g.Go(func() error {
				sent := time.Now()
				err := s.post(ctx, &plan, post*each, each)
				now := time.Now()
				for i := range each {
					kept[post*each+i] = now.UnixNano()
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				s.took.add(int64(now.Sub(sent)))
				return err
			})
		}
	}
	return g.Wait()
}

// post creates n tasks at one node, or if that does not answer at the next: the
// tasks have keys, so that none is created twice.
func (s *steady) post(ctx context.Context, plan *plan, from, n int) error {
	for try := 0; ; try++ {
		p := s.node(from/n + try)
		c := p.creator("/v1/tasks/batch")
		err := c.accepted(ctx, plan, from, n)
		if err == nil || ctx.Err() != nil || try > 1000 {
			return err
		}
		s.mu.Lock()
		s.elsewhere++
		s.mu.Unlock()
		sleepUntil(time.Now().Add(5 * time.Millisecond))
	}
}

func (s *steady) node(turn int) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[turn%len(s.nodes)]
}

func (s *steady) replaced(i int, by *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[i] = by
}

// accepted creates n tasks of a plan, some of which may be there already.
func (c *creator) accepted(ctx context.Context, p *plan, from, n int) error {
	c.batchOf(n, func(b []byte, k int) []byte { return p.appendCreate(b, from+k) })
	status, err := c.send(ctx)
	if err != nil {
		return err
	}
	got := bytes.Count(c.poster.answer, created) + bytes.Count(c.poster.answer, existing)
	if status != http.StatusOK || got != n {
		return fmt.Errorf("create a batch: %d, %d of %d accepted: %.300s", status, got, n, c.poster.answer)
	}
	return nil
}

// lateness is how long after their due times tasks arrived; after they were
// accepted, where that was later.
func (s *steady) lateness() (durations, error) {
	late := newDurations()
	for n, l := range s.loads {
		if err := s.r.arrive(l); err != nil {
			return late, err
		}
		for i := range l.at {
			if at := l.at[i].Load(); at > 0 {
				late.add(at - max(l.due[i]*int64(time.Millisecond), s.kept[n][i]))
			}
		}
	}
	return late, nil
}
