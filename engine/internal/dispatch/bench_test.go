package dispatch

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkCycle measures Push, then DoneNext for an accepted attempt.
func BenchmarkCycle(b *testing.B) {
	for _, bb := range []struct {
		endpoints, blocked int
	}{{1, 0}, {1000, 0}, {1000, 100}, {100000, 0}} {
		b.Run(fmt.Sprintf("endpoints=%d/blocked=%d", bb.endpoints, bb.blocked), func(b *testing.B) {
			d, now := loaded(bb.endpoints, bb.blocked)
			t, _, ok := d.Next(now)
			if !ok {
				b.Fatal("nothing to do")
			}
			line := bb.blocked
			b.ReportAllocs()
			for b.Loop() {
				now += 25 * us
				if d.Push(now, uint64(line), now, 0, Alone, 1) != Kept {
					b.Fatal("not kept")
				}
				if t, _, ok = d.DoneNext(now, t, Accepted); !ok {
					b.Fatal("nothing to do")
				}
				if line++; line == bb.endpoints {
					line = bb.blocked
				}
			}
		})
	}
}

// loaded returns a D with one waiting item for each endpoint, or two for a single endpoint. The
// first endpoints are blocked: half are paused, and the attempts of the others hang.
func loaded(endpoints, blocked int) (*D[int], int64) {
	d := New[int](Options{TotalBound: 1 << 30})
	now := int64(time.Hour)
	for i := range endpoints {
		name := fmt.Sprint("e", i)
		d.Open(now, uint64(i), Rules{Queue: "q", Endpoint: name})
		if i < blocked/2 {
			d.PauseEndpoint(now, name)
		}
		d.Push(now, uint64(i), now, 0, Alone, i)
		if i >= blocked/2 && i < blocked { // one attempt in flight that never ends
			d.Open(now, uint64(i), Rules{Queue: "q", Endpoint: name, Concurrency: 1})
			d.Next(now)
			d.Push(now, uint64(i), now, 0, Alone, i)
		}
	}
	if endpoints == 1 {
		d.Push(now, 0, now, 0, Alone, 0)
	}
	return d, now
}

// BenchmarkCycleYoungFirst measures a line with items of every age, where young items go first.
func BenchmarkCycleYoungFirst(b *testing.B) {
	d := New[int](Options{})
	now := int64(time.Hour)
	d.Open(now, 1, Rules{Queue: "q", YoungFirst: true})
	for i := range 600 {
		d.Push(now, 1, now, 1<<(i%ages)>>1, Alone, i)
	}
	t, i, _ := d.Next(now)
	b.ReportAllocs()
	for b.Loop() {
		now += 25 * us
		if d.Push(now, 1, now, 1<<(i%ages)>>1, Alone, i) != Kept { // of the age that was taken
			b.Fatal("not kept")
		}
		t, i, _ = d.DoneNext(now, t, Accepted)
	}
}

func BenchmarkCycleParallel(b *testing.B) {
	const endpoints = 1000
	d, start := loaded(endpoints, 0)
	var clock, turn atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		now := start
		t, _, ok := d.Next(now)
		for pb.Next() {
			now = start + clock.Add(25*us)
			d.Push(now, uint64(turn.Add(1)%endpoints), now, 0, Alone, 1)
			if ok {
				t, _, ok = d.DoneNext(now, t, Accepted)
			} else {
				t, _, ok = d.Next(now)
			}
		}
	})
}

func BenchmarkNextNothing(b *testing.B) {
	d, now := loaded(1000, 1000)
	if _, _, ok := d.Next(now); ok {
		b.Fatal("something to do")
	}
	b.ReportAllocs()
	for b.Loop() {
		d.Next(now)
	}
}
