package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// For random limits and owners of shards: the nodes' quotas are whole numbers and sum to the limit.
// Each task has a shard that it stays in and whose owner may attempt it.
func TestQuotas(t *testing.T) {
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
				t.Fatalf("%+v: a node that serves %q has the quotas %+v; want none of them zero", q, endpoint, r)
			}
		}
		const slack = 1.000001
		if slots > q.Concurrency || rate > q.Rate*slack || q.perEndpoint && (atOnce != q.EndpointConcurrency || endpointRate > q.EndpointRate*slack || endpointRate*slack < q.EndpointRate) {
			t.Errorf("%+v: %d nodes have quotas of %d and %v a second in all, and of %q %d and %v a second; want the limits", q, len(nodes), slots, rate, endpoint, atOnce, endpointRate)
		}
		if n == of && (slots != q.Concurrency || rate*slack < q.Rate) {
			t.Errorf("%+v: %d nodes have quotas of %d and %v a second in all; want the limits", q, len(nodes), slots, rate)
		}
		for range 20 {
			place := q.place(endpoint, uint16(rand.Uint32()))
			shard := uint16(int(place) % shards)
			if !q.home(endpoint, shard, shards) {
				t.Fatalf("%+v: a task for %q is placed in shard %d of %d, and would be moved from there", q, endpoint, shard, shards)
			}
			for i := range nodes {
				if nodes[i].owned[shard] && !nodes[i].serves(&q, endpoint) {
					t.Fatalf("%+v: the owner of shard %d does not serve %q", q, shard, endpoint)
				}
			}
		}
	}
}

// The quotas of a queue do not limit an endpoint further: in the shards of the endpoint's tasks,
// the queue may have as much as the endpoint.
func TestQuotasLeaveRoomForEndpoints(t *testing.T) {
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
			t.Errorf("%+v: an owner may have %d in flight to the endpoint, and %d of the queue; want no less", q, r.Concurrency, r.QueueConcurrency)
		}
		if q.Rate > 0 && r.QueueRate < min(r.Rate, q.Rate) {
			t.Errorf("%+v: an owner may make %v attempts a second to the endpoint, and %v of the queue; want no less", q, r.Rate, r.QueueRate)
		}
	}
}
