package sleep

// A Waker wakes the goroutine that receives from it. Calls of Wake while nobody waits count as one.
type Waker chan struct{}

// NewWaker returns a waker.
func NewWaker() Waker { return make(Waker, 1) }

// Wake never blocks.
func (w Waker) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}
