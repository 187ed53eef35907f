package mysql

import (
	"testing"

	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// BenchmarkChains measures the cost of a long chain of an ordering key.
func BenchmarkChains(b *testing.B) {
	storetest.Chains(b, func(b *testing.B) store.Store { return openTest(b, newDatabase(b), Options{}) })
}
