package engine

// A turn is a mutex that may be held over the store's answers: who waits for it
// waits on a channel, as for anything else that takes time.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) Lock() { t <- struct{}{} }

// TryLock is Lock for those who do not wait.
func (t turn) TryLock() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

func (t turn) Unlock() { <-t }
