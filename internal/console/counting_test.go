package console

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store/memory"
)

// manyResends finds more tasks the longer it counts.
type manyResends struct {
	resend.Desk
	asked time.Duration
}

func (m *manyResends) Count(_ context.Context, _ resend.Pick, _ int, within time.Duration) (resend.Count, error) {
	if m.asked = within; within == 0 {
		return resend.Count{Tasks: 7000, Merchants: 1, Top: []resend.MerchantCount{}}, nil
	}
	return resend.Count{Tasks: 500, More: true, Merchants: 1, Top: []resend.MerchantCount{}}, nil
}

// The page of a new bulk resend is there at once, and goes on to count by itself.
func TestCountingGoesOn(t *testing.T) {
	many := &manyResends{}
	s := openWith(t, &fake{Store: memory.New()}, Options{Resends: many})
	first := s.get(t, "/resends/new?merchant_no=M1&rate=7")
	_, rest, found := strings.Cut(first.body, `id="count" hx-get="`)
	further, _, _ := strings.Cut(rest, `"`)
	if !found || first.StatusCode != http.StatusOK || !strings.Contains(first.body, ">500<") || many.asked <= 0 || many.asked > 100*time.Millisecond {
		t.Fatalf("%d, counted for %v; want what was counted at once, and where more is", first.StatusCode, many.asked)
	}
	whole := s.get(t, strings.ReplaceAll(further, "&amp;", "&"))
	if many.asked != 0 || !strings.Contains(whole.body, ">7,000<") || strings.Contains(whole.body, `id="count" hx-get`) {
		t.Errorf("%s: counted for %v; want all of it, and nowhere to go on", further, many.asked)
	}
	for _, kept := range []string{`value="M1"`, `value="7"`} {
		if !strings.Contains(whole.body, kept) {
			t.Errorf("%s has lost %s", further, kept)
		}
	}
}
