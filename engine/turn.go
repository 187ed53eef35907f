package engine

import "github.com/bellmanhq/bellman/engine/internal/locks"

// A turn is a mutex that may be held over the store's answers: who waits for it
// waits on a channel, as for anything else that takes time.
type turn chan struct{}

func newTurn(name string) turn {
	t := make(turn, 1)
	locks.Name(t, name)
	return t
}

func (t turn) Lock() {
	locks.Took(t)
	t <- struct{}{}
}

// TryLock is Lock for those who do not wait.
func (t turn) TryLock() bool {
	select {
	case t <- struct{}{}:
		locks.Took(t)
		return true
	default:
		return false
	}
}

func (t turn) Unlock() {
	<-t
	locks.Gave(t)
}
