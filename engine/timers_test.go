package engine

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/bellmanhq/bellman"
	"pgregory.net/rapid"
)

// Items are added, removed and taken in random order. Each comes out once and not before it is due:
// the earliest first, and within a millisecond by id.
func TestTimersAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var timers timers
		var model []timer
		now := int64(0)
		order := func(a, b timer) int {
			return cmp.Or(cmp.Compare(a.due, b.due), bytes.Compare(a.it.ID[:], b.it.ID[:]))
		}
		check := func() {
			slices.SortFunc(model, order)
			want := int64(noTime)
			if len(model) > 0 {
				want = model[0].due
			}
			if len(timers) != len(model) || timers.next() != want {
				t.Fatalf("%d items, the next due at %d; want %d, due at %d", len(timers), timers.next(), len(model), want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				it := new(item)
				copy(it.ID[:], rapid.SliceOfN(rapid.Byte(), len(bellman.ID{}), -1).Draw(t, "id"))
				due := now + rapid.Int64Range(-10, 300_000).Draw(t, "delay")
				timers.add(it, due)
				model = append(model, timer{due, it})
			},
			"add anywhere": func(t *rapid.T) {
				it := new(item)
				due := rapid.Int64().Draw(t, "due")
				timers.add(it, due)
				model = append(model, timer{due, it})
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("nothing to remove")
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				timers.remove(model[i].it)
				model = slices.Delete(model, i, i+1)
			},
			"go on, or back": func(t *rapid.T) {
				now += rapid.Int64Range(-1000, 100_000).Draw(t, "by")
				slices.SortFunc(model, order)
				for range rapid.IntRange(1, 20).Draw(t, "most") {
					it := timers.due(now)
					switch {
					case it == nil && len(model) > 0 && model[0].due <= now:
						t.Fatalf("take at %d returned nothing; want the item that was due at %d", now, model[0].due)
					case it == nil:
						return
					case len(model) == 0 || model[0].due > now || it.ID != model[0].it.ID:
						t.Fatalf("take returned item %v at %d; want the first of %v", it.ID, now, model)
					}
					model = slices.DeleteFunc(model, func(m timer) bool { return m.it == it })
				}
			},
			"": func(*rapid.T) { check() },
		})
	})
}

// BenchmarkTimers adds an item due within five minutes and takes the earliest, while n items wait.
func BenchmarkTimers(b *testing.B) {
	for _, n := range []int{1000, 50_000} {
		b.Run(map[int]string{1000: "1,000", 50_000: "50,000"}[n], func(b *testing.B) {
			var timers timers
			items := make([]item, n)
			for i := range items {
				items[i].ID = bellman.NewID()
				timers.add(&items[i], int64(i*7919%300_000))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				it := timers.due(noTime)
				timers.add(it, int64(i)*3+int64(i*7919%300_000))
			}
		})
	}
}
