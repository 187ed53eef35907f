package sqlstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

// TestAliasesCost counts the statements of two commits and a prune. Aliases need one more statement
// in a commit of new tasks and one more in a prune. Without aliases only one read of the prune
// concerns them.
func TestAliasesCost(t *testing.T) { each(t, testAliasesCost) }

func testAliasesCost(t *testing.T, kind database) {
	ctx := context.Background()
	work := func(with bool) int {
		r := sqltest.Record(kind.driver(t))
		s, err := sqlstore.New(ctx, r)
		must(t, err)
		before, now := r.Sent(), time.Now()
		b := sqltest.Adds(0, 100, now)
		if with {
			aliased(b)
		}
		must(t, s.Commit(ctx, b))
		must(t, s.Commit(ctx, &store.Batch{Changes: sqltest.Succeed(b, now)}))
		if n, err := s.Prune(ctx, bellman.Succeeded, now.Add(time.Minute), 1000); n != 100 || err != nil {
			t.Errorf("Prune() = %d, %v; want 100", n, err)
		}
		about := 0
		for _, statement := range r.Statements() {
			if strings.Contains(statement.Text, "bellman_alias") || statement.Insert != nil && statement.Insert.Into == "bellman_alias" {
				about++
			}
		}
		if want := map[bool]int{false: 1, true: 3}[with]; about != want {
			t.Errorf("with aliases %t: %d kinds of statements concern aliases; want %d", with, about, want)
		}
		return r.Sent() - before
	}
	without, with := work(false), work(true)
	if with != without+2 {
		t.Errorf("%d statements with aliases and %d without, want two more", with, without)
	}
}
