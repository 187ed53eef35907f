package attention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store/memory"
)

// A store that cannot be reached, rejects every write, or is full comes first, with its begin. The
// list does not wait for a store that is away.
func TestTroubleOfTheStoreComesFirst(t *testing.T) {
	since := time.Now().Add(-time.Minute)
	for _, tt := range []struct {
		ready error
		want  []string
	}{
		{nil, []string{Overloaded}},
		{bellman.ErrClosed, []string{Overloaded}},
		{bellman.ErrFull, []string{StoreFull, Overloaded}},
		{errors.New("bellman: the store rejects every write"), []string{NotReady, Overloaded}},
		{fmt.Errorf("%w: connection refused", bellman.ErrUnreachable), []string{NotReady}},
	} {
		w := &world{Store: memory.New()}
		w.f.Gauges = figures.Gauges{Refusing: 1, Waiting: 9}
		d := w.desk()
		d.o.StoreName, d.o.Ready = "postgres://db/pay", func(context.Context) (time.Time, error) { return since, tt.ready }
		l := list(t, d)
		var kinds []string
		for _, item := range l.Items {
			kinds = append(kinds, item.Kind)
		}
		if !slices.Equal(kinds, tt.want) {
			t.Errorf("with %v: %q; want %q", tt.ready, kinds, tt.want)
		}
		if i := l.Items[0]; i.Kind != Overloaded && (i.Name != "postgres://db/pay" || !i.Since.Equal(since) || !i.Urgent || i.Why == "" || strings.Contains(i.Why, "bellman: ")) {
			t.Errorf("with %v: %+v; want the store's name, since when, and why", tt.ready, i)
		}
	}
}

// Outcomes that the store rejects are listed although no commit takes long.
func TestRejectedOutcomesAreListed(t *testing.T) {
	w := &world{Store: memory.New()}
	w.f.Gauges = figures.Gauges{Rejected: 3}
	if got, want := lines(list(t, w.desk())), "store_slow  3 [] the store rejects the outcomes of these attempts"; len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("with 3 rejected outcomes: %q; want one that begins with %q", got, want)
	}
}
