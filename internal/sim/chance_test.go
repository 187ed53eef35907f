package sim

import "time"

// A dice gives numbers that depend on a seed and on a purpose alone. Every user of chance makes a
// dice of its own, so that another order of two goroutines does not change what either of them
// draws.
type dice struct{ state uint64 }

// newDice makes the dice for one purpose; n tells apart what has the same name.
func newDice(seed uint64, what string, n ...int) *dice {
	h := uint64(14695981039346656037)
	for i := range len(what) {
		h = (h ^ uint64(what[i])) * 1099511628211
	}
	d := &dice{seed*0x9e3779b97f4a7c15 ^ h}
	for _, v := range n {
		d.state ^= uint64(v) * 0xd6e8feb86659fd93
		d.next()
	}
	d.next()
	return d
}

// next is splitmix64.
func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n gives a number from 0 to n-1.
func (d *dice) n(n int) int { return int(d.next() % uint64(n)) }

// percent is true so often out of a hundred times.
func (d *dice) percent(p int) bool { return d.n(100) < p }

// permille is true so often out of a thousand times.
func (d *dice) permille(p int) bool { return d.n(1000) < p }

// between returns a duration from least to most, in nanoseconds. Two of them are hardly ever equal,
// so that nothing depends on the order of simultaneous timers.
func (d *dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.next()%uint64(most-least+1))
}

func pick[T any](d *dice, from ...T) T { return from[d.n(len(from))] }
