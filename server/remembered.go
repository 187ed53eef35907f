package server

import (
	"sync"
	"time"
)

// A remembered value is made again when it has reached an age. The zero value is ready. It is safe
// for concurrent use.
type remembered[T any] struct {
	mu    sync.Mutex
	at    time.Time
	value T
}

// get returns the value, made again if it is older than age. With an error it returns the last
// value.
func (r *remembered[T]) get(age time.Duration, make func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) < age {
		return r.value, nil
	}
	now := time.Now()
	value, err := make()
	if err == nil {
		r.at, r.value = now, value
	}
	return r.value, err
}

// forget makes the next get make the value again.
func (r *remembered[T]) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var none T
	r.at, r.value = time.Time{}, none
}
