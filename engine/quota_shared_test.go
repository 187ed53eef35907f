package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/schedule"
)

type rates struct{ bellman.Handler }

func (rates) Limits() bool { return true }

func (rates) RateOf(context.Context, string) (float64, error) { return 0, nil }

// randomQueues returns queues with random limits that share endpoints.
func randomQueues() []Queue {
	queues := make([]Queue, 1+rand.IntN(5))
	for i := range queues {
		q := Queue{Name: fmt.Sprint("queue", rand.IntN(90), "-", i), Handler: rates{}}
		for _, set := range []func(){
			func() { q.Concurrency = 1 + rand.IntN([]int{3, 40, 3000}[rand.IntN(3)]) },
			func() { q.Rate = schedule.MinRate + rand.ExpFloat64()*[]float64{0.01, 10, 4000}[rand.IntN(3)] },
			func() { q.EndpointConcurrency = 1 + rand.IntN([]int{3, 40, 3000}[rand.IntN(3)]) },
			func() { q.EndpointRate = schedule.MinRate + rand.ExpFloat64()*[]float64{0.01, 10, 4000}[rand.IntN(3)] },
		} {
			if rand.IntN(3) == 0 {
				set()
			}
		}
		queues[i] = q
	}
	return queues
}

// randomNodes returns nodes that own all shards.
func randomNodes(shards int) []quota {
	nodes := make([]quota, 1+rand.IntN(5))
	for i := range nodes {
		nodes[i] = quota{owned: make([]bool, shards), part: 1 / float64(len(nodes))}
	}
	for s := range shards {
		nodes[rand.IntN(len(nodes))].owned[s] = true
	}
	return nodes
}

// For random queues that share an endpoint with a rate, and random owners of shards: whichever of
// the queues have tasks at a node, the nodes' rates sum to the endpoint's. The concurrent attempts
// of each queue sum to its limit, and those of all queues to the least.
func TestQueuesShareTheQuotasOfAnEndpoint(t *testing.T) {
	const slack = 1.000001
	for range 3000 {
		r, err := NewRules(randomQueues()...)
		if err != nil {
			t.Fatal(err)
		}
		limit := rand.ExpFloat64() * []float64{0.01, 10, 4000}[rand.IntN(3)]
		shards := []int{1, 3, 64, 100, 1000}[rand.IntN(5)]
		endpoint := fmt.Sprint("wechatpay:19000", rand.IntN(250))
		nodes, queues := randomNodes(shards), *r.queues.Load()
		sum, slots, strictest, least := 0.0, map[string]int{}, 0, 1<<30
		for _, p := range nodes {
			served, here, together := 0, 0.0, 1<<30
			for _, q := range queues {
				q = q.under(dispatch.Limits{Rate: limit})
				if !p.serves(&q, endpoint) {
					continue
				}
				rules := q.rules(q.Name, endpoint, p)
				if served++; here != 0 && here != rules.Rate {
					t.Fatalf("%+v: a node has the rates %v and %v for %s; want one", queues, here, rules.Rate, endpoint)
				}
				here = rules.Rate
				slots[q.Name] += rules.Concurrency
				together = min(together, rules.Concurrency)
				if rules.Concurrency < 1 || rules.Rate <= 0 || q.Concurrency > 0 && rules.QueueConcurrency < 1 || q.Rate > 0 && rules.QueueRate <= 0 {
					t.Fatalf("%+v: a node that serves %s has the quotas %+v; want none of them zero", q, endpoint, rules)
				}
			}
			if served != 0 && served != len(queues) {
				t.Fatalf("%+v: a node has a part of %s for %d of %d queues; want all or none", queues, endpoint, served, len(queues))
			}
			if sum += here; served > 0 {
				strictest += together
			}
		}
		if sum > limit*slack || sum*slack < limit {
			t.Errorf("%+v: %d nodes have %v attempts a second of %s; want %v", queues, len(nodes), sum, endpoint, limit)
		}
		for _, q := range queues {
			if least = min(least, q.EndpointConcurrency); slots[q.Name] != q.EndpointConcurrency {
				t.Errorf("%+v: %d nodes have %d slots of %s; want %d", q, len(nodes), slots[q.Name], endpoint, q.EndpointConcurrency)
			}
		}
		if strictest != least {
			t.Errorf("%+v: %d nodes have %d slots of %s for all queues; want %d", queues, len(nodes), strictest, endpoint, least)
		}
	}
}

// A queue may use an endpoint's whole rate, or its own if that is less, where the endpoint's parts
// are. A task for the endpoint is placed in a shard that has a part, and stays there.
func TestSharedQuotasLeaveRoom(t *testing.T) {
	for range 3000 {
		r, err := NewRules(randomQueues()...)
		if err != nil {
			t.Fatal(err)
		}
		limit := rand.ExpFloat64() * []float64{0.01, 10, 4000}[rand.IntN(3)]
		least := 1 << 30
		for _, q := range *r.queues.Load() {
			least = min(least, q.EndpointConcurrency)
		}
		const endpoint, shards = "wechatpay:1900000001", 64
		for _, q := range *r.queues.Load() {
			q = q.under(dispatch.Limits{Rate: limit})
			p := quota{owned: make([]bool, shards)}
			for s := range uint16(shards) {
				p.owned[s] = q.home(endpoint, s, shards)
			}
			rules := q.rules(q.Name, endpoint, p)
			if want := min(q.Concurrency, least); q.Concurrency > 0 && q.slots && rules.QueueConcurrency < want {
				t.Errorf("%+v: the owners of the parts of an endpoint may have %d attempts of the queue in flight; want %d", q, rules.QueueConcurrency, want)
			}
			_, of := q.own()
			if _, n := q.line(endpoint, of); q.Rate > 0 && int(n) < least && rules.QueueRate*1.000001 < min(limit, q.Rate) {
				t.Errorf("%+v: the owners of the parts of an endpoint with %v/s may make %v attempts of the queue a second; want no less", q, limit, rules.QueueRate)
			}
			for range 10 {
				if shard := q.place(endpoint, uint16(rand.Uint32())) % shards; !p.owned[shard] {
					t.Fatalf("%+v: a task is placed in shard %d, which has no part of the endpoint", q, shard)
				}
			}
		}
	}
}

// The limits of one queue are placed as if it were alone, and so are those of queues whose
// endpoints have no rates.
func TestQuotasOfOneQueueStay(t *testing.T) {
	place := func(named string, queues ...Queue) (first, of uint16) {
		r, err := NewRules(queues...)
		if err != nil {
			t.Fatal(err)
		}
		q, _ := r.queue(named)
		return q.own()
	}
	small, none := Queue{Name: "small", Rate: 5, Handler: rates{}}, Queue{Name: "none", Handler: rates{}}
	other := Queue{Name: "other", Rate: 5, Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict { return bellman.Verdict{} })}
	first, of := place("small", small)
	if f, n := place("small", small, none, other); f != first || n != of {
		t.Errorf("a queue's parts are %d from %d beside queues without limits; want %d from %d as without them", n, f, of, first)
	}
	if _, of := place("none", small, none); of != quotaParts {
		t.Errorf("a queue without limits has %d parts; want %d", of, quotaParts)
	}
	otherFirst, _ := place("other", other)
	if f, _ := place("other", small, none, other); f != otherFirst || f == first {
		t.Errorf("the parts of a queue whose endpoints have no rates start at %d; want %d", f, otherFirst)
	}
}
