package postgres

import (
	"flag"
	"testing"

	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

var waiting = flag.Int("waiting", 200_000, "tasks that wait in the store that is measured")

func BenchmarkStore(b *testing.B) {
	s := openTest(b, newDatabase(b), Options{})
	sqltest.Fill(b, s, *waiting)
	sqltest.Bench(b, s)
}
