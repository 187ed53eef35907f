//go:build lockorder

package locks

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
)

type Mutex struct{ sync.Mutex }

func (m *Mutex) Lock() {
	took(m)
	m.Mutex.Lock()
}

func (m *Mutex) Unlock() {
	m.Mutex.Unlock()
	gave(m)
}

type RWMutex struct{ sync.RWMutex }

func (m *RWMutex) Lock() {
	took(m)
	m.RWMutex.Lock()
}

func (m *RWMutex) Unlock() {
	m.RWMutex.Unlock()
	gave(m)
}

func (m *RWMutex) RLock() {
	took(m)
	m.RWMutex.RLock()
}

func (m *RWMutex) RUnlock() {
	m.RWMutex.RUnlock()
	gave(m)
}

var (
	mu    sync.Mutex
	names = make(map[any]string)     // by lock
	held  = make(map[int64][]any)    // by goroutine
	Seen  = make(map[[2]string]bool) // pairs of locks that were held together
)

// rank returns the index of a name in Order.
func rank(name string) int {
	i := slices.IndexFunc(Order, func(line []string) bool { return slices.Contains(line, name) })
	if i < 0 {
		panic(fmt.Sprintf("a lock is named %q, which Order does not have", name))
	}
	return i
}

func Name(lock any, name string) {
	rank(name)
	mu.Lock()
	defer mu.Unlock()
	names[lock] = name
}

// took panics if a lock must not be taken while others are held.
func took(lock any) {
	g := goroutine()
	mu.Lock()
	defer mu.Unlock()
	name, ok := names[lock]
	if !ok { // of a test
		return
	}
	for _, other := range held[g] {
		has := names[other]
		Seen[[2]string{has, name}] = true
		if rank(name) <= rank(has) {
			panic(fmt.Sprintf("lock %s is taken while %s is held; the order is %v", name, has, Order))
		}
	}
	held[g] = append(held[g], lock)
}

func gave(lock any) {
	g := goroutine()
	mu.Lock()
	defer mu.Unlock()
	if i := slices.Index(held[g], lock); i >= 0 {
		held[g] = slices.Delete(held[g], i, i+1)
	}
	if len(held[g]) == 0 {
		delete(held, g)
	}
}

// goroutine is the number of the goroutine that calls, as the runtime prints it.
func goroutine() int64 {
	var buf [40]byte
	text := bytes.Fields(buf[:runtime.Stack(buf[:], false)])[1]
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
