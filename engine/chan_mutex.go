package engine

import "github.com/bellmanhq/bellman/engine/internal/locks"

// A chanMutex is a mutex that may be held during calls of the store. In synctest a goroutine that
// waits for it is durably blocked, because it waits on a channel.
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

// TryLock locks without waiting. It returns false if the mutex is locked.
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
