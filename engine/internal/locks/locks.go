//go:build !lockorder

// Package locks provides the mutexes of the engine. In a program built with the tag lockorder,
// taking a mutex panics while the goroutine holds one that comes later in [Order]. Otherwise they
// are plain mutexes of package sync.
package locks

import "sync"

// Mutexes of the engine. The zero value is unlocked and needs a call of Name.
type (
	Mutex   = sync.Mutex
	RWMutex = sync.RWMutex
)

// Name sets the entry of Order that a mutex is.
func Name(any, string) {}

// took records that another kind of lock was taken, and gave that it was released.
func took(any) {}

func gave(any) {}
