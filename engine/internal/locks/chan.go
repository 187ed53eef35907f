package locks

// A Chan is a mutex that may be held during calls of the store. In synctest a goroutine that
// waits for it is durably blocked, because it waits on a channel.
type Chan chan struct{}

// NewChan makes a mutex that is the entry name of Order.
func NewChan(name string) Chan {
	t := make(Chan, 1)
	Name(t, name)
	return t
}

func (t Chan) Lock() {
	Took(t)
	t <- struct{}{}
}

// TryLock locks without waiting. It returns false if the mutex is locked.
func (t Chan) TryLock() bool {
	select {
	case t <- struct{}{}:
		Took(t)
		return true
	default:
		return false
	}
}

func (t Chan) Unlock() {
	<-t
	Gave(t)
}
