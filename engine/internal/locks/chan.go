package locks

// A Chan is a mutex that may be held during calls of the store. It is a channel, because the fake
// time of synctest advances only if waiting goroutines block on channels, and not on a sync.Mutex.
type Chan chan struct{}

// NewChan makes a mutex; name is its entry in Order.
func NewChan(name string) Chan {
	t := make(Chan, 1)
	Name(t, name)
	return t
}

func (t Chan) Lock() {
	took(t)
	t <- struct{}{}
}

// TryLock locks without waiting. It returns false if the mutex is locked.
func (t Chan) TryLock() bool {
	select {
	case t <- struct{}{}:
		took(t)
		return true
	default:
		return false
	}
}

func (t Chan) Unlock() {
	<-t
	gave(t)
}
