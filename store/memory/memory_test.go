package memory_test

import (
	"testing"

	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
	"github.com/bellmanhq/bellman/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memory.New() })
}

// BenchmarkChains measures the cost of a long chain of an ordering key.
func BenchmarkChains(b *testing.B) {
	storetest.Chains(b, func(b *testing.B) store.Store { return memory.New() })
}
