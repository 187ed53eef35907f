//go:build unix

package wheel

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A clock counts milliseconds since it was started, and never says that one is
// over before it is.
type clock struct{ start time.Time }

func (c clock) now() int64 { return time.Since(c.start).Milliseconds() }

func (c clock) until(tick int64) time.Duration {
	return time.Until(c.start.Add(time.Duration(tick) * time.Millisecond))
}

// BenchmarkLateness lets a million timers fire that are due at random within
// 10 s, and says how late each was when its receiver had it. The wheel is
// driven by one goroutine that sleeps until Next.
func BenchmarkLateness(b *testing.B) {
	const n, span = 1_000_000, 10_000
	dues := make([]int64, n)
	for i := range dues {
		dues[i] = 500 + rand.Int64N(span)
	}
	late := make([]time.Duration, n)

	b.Run("wheel", func(b *testing.B) {
		for b.Loop() {
			runtime.GC()
			cpu := cpuTime()
			w := New[int](0)
			c := clock{time.Now()}
			for i, due := range dues {
				w.Add(due, i)
			}
			buf := make([]Fired[int], 512)
			for {
				next, ok := w.Next()
				if !ok {
					break
				}
				time.Sleep(c.until(next))
				for n := len(buf); n == len(buf); {
					n = w.Advance(c.now(), buf)
					for _, f := range buf[:n] {
						late[f.Value] = -c.until(f.Due)
					}
				}
			}
			reportLateness(b, late, cpuTime()-cpu)
		}
	})
	b.Run("AfterFunc", func(b *testing.B) {
		for b.Loop() {
			runtime.GC()
			cpu := cpuTime()
			c := clock{time.Now()}
			var fired sync.WaitGroup
			fired.Add(n)
			for i, due := range dues {
				time.AfterFunc(c.until(due), func() {
					late[i] = -c.until(due)
					fired.Done()
				})
			}
			fired.Wait()
			reportLateness(b, late, cpuTime()-cpu)
		}
	})
}

func reportLateness(b *testing.B, late []time.Duration, cpu time.Duration) {
	sorted := slices.Sorted(slices.Values(late))
	early, _ := slices.BinarySearch(sorted, 0)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(ms(sorted[len(sorted)/2]), "p50-ms")
	b.ReportMetric(ms(sorted[len(sorted)*99/100]), "p99-ms")
	b.ReportMetric(ms(sorted[len(sorted)-1]), "max-ms")
	b.ReportMetric(float64(early), "early")
	b.ReportMetric(cpu.Seconds(), "cpu-s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkIdle drives a wheel with a million pending timers, due in 1 to 25
// hours, for a second in which none is due.
func BenchmarkIdle(b *testing.B) {
	w := New[id](0)
	for i := range 1_000_000 {
		w.Add(hour+rand.Int64N(24*hour), id{byte(i)})
	}
	runtime.GC()
	buf := make([]Fired[id], 512)
	var cpu, wall time.Duration
	wakes := 0
	for b.Loop() {
		c := clock{time.Now()}
		before := cpuTime()
		for c.now() < 1000 {
			next, _ := w.Next()
			time.Sleep(min(c.until(next), c.until(1000)))
			if w.Advance(c.now(), buf) > 0 {
				b.Fatal("fired before it was due")
			}
			wakes++
		}
		cpu += cpuTime() - before
		wall += time.Since(c.start)
	}
	b.ReportMetric(cpu.Seconds()*1000/wall.Seconds(), "cpu-ms/s")
	b.ReportMetric(float64(wakes)/wall.Seconds(), "wakes/s")
	b.ReportMetric(0, "ns/op")
}

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
