package merchant_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/store"
)

// byMerchant lists the tasks of each merchant.
type byMerchant map[string]newest

func (b byMerchant) List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error) {
	return b[f.MerchantNo].List(ctx, f, before, limit)
}

// Merchants are found that accept nothing, until they do, here or at another node.
func TestSuspects(t *testing.T) {
	start := time.Now()
	now := start
	var s merchant.Suspects
	bad := newest{attempted(bellman.Refused, 3, now)}
	tasks := byMerchant{"M1": bad, "M2": bad, "M3": bad, "M4": {attempted(bellman.Accepted, 1, now), attempted(bellman.Refused, 3, now)}}
	want := func(when, want string) {
		t.Helper()
		failing, err := s.Failing(t.Context(), tasks, now)
		var got []string
		for _, f := range failing {
			got = append(got, fmt.Sprint(f.MerchantNo, " ", f.Since.Sub(start)))
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, %v; want %q", when, got, err, want)
		}
	}
	fail := func(no string, times int) {
		for range times {
			s.Attempted(no, false, now)
		}
	}
	want("at first", "")
	fail("M2", 3)
	now = now.Add(time.Minute)
	fail("M1", 2)
	fail("M3", 5)
	fail("M4", 3)
	want("after some attempts", "M2 0s, M3 1m0s")
	fail("M1", 1)
	want("after one more", "M2 0s, M1 1m0s, M3 1m0s")
	s.Attempted("M2", true, now)
	want("after an accepted one", "M1 1m0s, M3 1m0s")
	tasks["M4"] = bad
	want("M4 was forgotten, for its tasks said that it accepts", "M1 1m0s, M3 1m0s")
	now = now.Add(23 * time.Hour)
	fail("M3", 1)
	tasks["M3"] = newest{attempted(bellman.Refused, 3, now)}
	now = now.Add(2 * time.Hour)
	want("a day later", "M3 1m0s")
}
