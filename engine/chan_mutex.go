package engine

import "github.com/bellmanhq/bellman/engine/internal/locks"

// A turn is a mutex that may be held over the store's answers: who waits for it
// waits on a channel, as for anything else that takes time.
type chanMutex chan struct{}

func newChanMutex(name string) chanMutex {
	t := make(chanMutex, 1)
	locks.Name(t, name)
	return t
}

func (t chanMutex) Lock() {
	locks.Took(t)
	t <- struct{}{}
}

// TryLock is Lock for those who do not wait.
func (t chanMutex) TryLock() bool {
	select {
	case t <- struct{}{}:
		locks.Took(t)
		return true
	default:
		return false
	}
}

func (t chanMutex) Unlock() {
	<-t
	locks.Gave(t)
}
