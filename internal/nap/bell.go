package nap

// A Bell wakes the goroutine that receives from it. Rings while nobody waits count as one.
type Bell chan struct{}

// NewBell returns a bell.
func NewBell() Bell { return make(Bell, 1) }

// Ring never blocks.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
