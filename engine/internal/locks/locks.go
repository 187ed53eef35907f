//go:build !lockorder

// Package locks has the engine's mutexes. In a program built with the tag lockorder they panic when one is taken while
// another is held that comes after it in [Order]; otherwise they are those of package sync.
package locks

import "sync"

// Mutexes of the engine. The zero value is unlocked, and needs a name: see Name.
type (
	Mutex   = sync.Mutex
	RWMutex = sync.RWMutex
)

// Name says which of Order a mutex is.
func Name(any, string) {}

// Took notes that something like a mutex was taken, and Gave that it was given back.
func Took(any) {}

func Gave(any) {}
