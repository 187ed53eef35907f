package postgres

import (
	"testing"

	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

func TestWeek(t *testing.T) { sqltest.Week(t, connectTest(t, newDatabase(t))) }

func TestPruneAside(t *testing.T) {
	sqltest.PruneAside(t, connectWith(t, newDatabase(t), Options{Stopped: sqltest.Stopped}))
}

func TestCountDue(t *testing.T) { sqltest.CountDue(t, connectTest(t, newDatabase(t))) }

func BenchmarkPrune(b *testing.B) { sqltest.BenchPrune(b, openTest(b, newDatabase(b), Options{})) }
