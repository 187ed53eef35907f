package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Whatever the limits and whoever has the shards, the nodes' shares are whole numbers
// that sum to the limit, each task has a shard whose owner may attempt it, and that is
// at home there.
func TestCut(t *testing.T) {
	for range 3000 {
		q := Queue{Name: fmt.Sprint("queue", rand.IntN(9))}
		for _, set := range []func(){
			func() { q.Concurrency = 1 + rand.IntN([]int{3, 40, 3000}[rand.IntN(3)]) },
			func() { q.Rate = rand.ExpFloat64() * []float64{0.01, 10, 4000}[rand.IntN(3)] },
			func() { q.EndpointConcurrency = 1 + rand.IntN([]int{3, 40, 3000}[rand.IntN(3)]) },
			func() { q.EndpointRate = rand.ExpFloat64() * []float64{0.01, 10, 4000}[rand.IntN(3)] },
		} {
			if rand.IntN(2) == 0 {
				set()
			}
		}
		q = q.withDefaults()
		if !q.clusterWide() {
			continue
		}
		shards := []int{1, 3, 64, 100, 1000}[rand.IntN(5)]
		endpoint := []string{"", "https://merchant.example:443", fmt.Sprint("http://10.0.0.", rand.IntN(250))}[rand.IntN(3)]
		nodes := make([]quota, 1+rand.IntN(5))
		for i := range nodes {
			nodes[i].owned = make([]bool, shards)
		}
		for s := range shards {
			nodes[rand.IntN(len(nodes))].owned[s] = true
		}
		slots, atOnce, rate, endpointRate := 0, 0, 0.0, 0.0
		_, of := q.own()
		_, n := q.line(endpoint, of)
		for i := range nodes {
			p := &nodes[i]
			p.part = 1 / float64(len(nodes))
			if !p.serves(&q, endpoint) {
				continue
			}
			r := q.rules(q.Name, endpoint, *p)
			slots += r.QueueConcurrency
			rate += r.QueueRate
			if q.perEndpoint {
				atOnce += r.Concurrency
				endpointRate += r.Rate
			}
			if q.Concurrency > 0 && r.QueueConcurrency < 1 || r.Concurrency < 1 || q.Rate > 0 && r.QueueRate <= 0 {
				t.Fatalf("%+v: a node that serves %q has %+v", q, endpoint, r)
			}
		}
		const slack = 1.000001
		if slots > q.Concurrency || rate > q.Rate*slack || q.perEndpoint && (atOnce != q.EndpointConcurrency || endpointRate > q.EndpointRate*slack || endpointRate*slack < q.EndpointRate) {
			t.Errorf("%+v: %d nodes have %d of its concurrency, %v of its rate, and of %q %d and %v", q, len(nodes), slots, rate, endpoint, atOnce, endpointRate)
		}
		if n == of && (slots != q.Concurrency || rate*slack < q.Rate) {
			t.Errorf("%+v: %d nodes have %d of its concurrency and %v of its rate; want all", q, len(nodes), slots, rate)
		}
		for range 20 {
			place := q.place(endpoint, uint16(rand.Uint32()))
			shard := uint16(int(place) % shards)
			if !q.home(endpoint, shard, shards) {
				t.Fatalf("%+v: a task for %q goes to shard %d of %d and is not at home there", q, endpoint, shard, shards)
			}
			for i := range nodes {
				if nodes[i].owned[shard] && !nodes[i].serves(&q, endpoint) {
					t.Fatalf("%+v: the owner of shard %d does not serve %q", q, shard, endpoint)
				}
			}
		}
	}
}

// What an endpoint may have is not held up by its queue's pieces being too small: at
// the shards where its tasks are, the queue has as much as the endpoint.
func TestCutLeavesRoom(t *testing.T) {
	for _, q := range []Queue{
		{Name: "a", Concurrency: 100, EndpointConcurrency: 10},
		{Name: "b", Concurrency: 31, EndpointConcurrency: 31},
		{Name: "c", Concurrency: 500, EndpointConcurrency: 32, EndpointRate: 200},
		{Name: "d", Rate: 120, EndpointRate: 99, EndpointConcurrency: 8},
		{Name: "e", Rate: 1000, EndpointRate: 120},
	} {
		q = q.withDefaults()
		endpoint := "https://merchant.example:443"
		first, of := q.own()
		from, n := q.line(endpoint, of)
		p := quota{owned: make([]bool, 64)}
		for i := range n {
			p.owned[int(first+(from+i)%of)%64] = true
		}
		r := q.rules(q.Name, endpoint, p)
		if q.Concurrency > 0 && r.QueueConcurrency < min(q.EndpointConcurrency, q.Concurrency) {
			t.Errorf("%+v: where its endpoint has %d in flight, the queue has %d", q, r.Concurrency, r.QueueConcurrency)
		}
		if q.Rate > 0 && r.QueueRate < min(r.Rate, q.Rate) {
			t.Errorf("%+v: where its endpoint has %v a second, the queue has %v", q, r.Rate, r.QueueRate)
		}
	}
}
