package memory_test

import (
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/memory"
	"github.com/bellmanhq/bellman/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) bellman.Store { return memory.New() })
}

// BenchmarkChains measures what a long chain of an ordering key costs.
func BenchmarkChains(b *testing.B) {
	storetest.Chains(b, func(b *testing.B) bellman.Store { return memory.New() })
}
