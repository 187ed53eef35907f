package postgres

import (
	"context"
	"testing"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

// faulty opens stores, of one empty database, on drivers that were wrapped.
func faulty(t *testing.T) func(*testing.T, func(sqlstore.Driver) sqlstore.Driver) *sqlstore.Store {
	url := newDatabase(t)
	return func(t *testing.T, wrap func(sqlstore.Driver) sqlstore.Driver) *sqlstore.Store {
		t.Helper()
		d := connectTest(t, url)
		empty(t, url)
		s, err := sqlstore.New(context.Background(), wrap(d))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestStoreWithFaults(t *testing.T) { sqltest.Promises(t, faulty(t)) }

func TestOutcomes(t *testing.T) { sqltest.Outcomes(t, faulty(t)) }
