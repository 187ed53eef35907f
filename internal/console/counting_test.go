package console

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
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

// A growingDesk counts more tasks each time somebody looks.
type growingDesk struct {
	resend.Desk
	counts  []int
	started int
}

func (g *growingDesk) Count(context.Context, resend.Pick, int, time.Duration) (resend.Count, error) {
	n := g.counts[0]
	g.counts = g.counts[1:]
	return resend.Count{Tasks: n, Top: []resend.MerchantCount{}}, nil
}

func (g *growingDesk) Start(_ context.Context, in resend.Job) (resend.Job, error) {
	g.started++
	in.ID = bellman.NewID()
	return in, nil
}

// A bulk resend from a page that was open for long does not touch many more tasks than the page
// said: the page comes again, with the new number. A few more are no reason.
func TestResendOfMoreThanThePageSaid(t *testing.T) {
	page := "/resends/new?merchant_no=M1"
	for _, c := range []struct {
		said, now int
		starts    bool
	}{{37, 37, true}, {37, 47, true}, {37, 48, false}, {1000, 1100, true}, {1000, 1101, false}, {1000, 3, true}} {
		desk := &growingDesk{counts: []int{c.said, c.said, c.now, c.now}}
		s := openWith(t, &fake{Store: memory.New()}, Options{Resends: desk})
		said := regexp.MustCompile(`name="counted" value="(\d+)"`).FindStringSubmatch(s.get(t, page).body)
		if said == nil || said[1] != fmt.Sprint(c.said) {
			t.Fatalf("the form says %q; want %d", said, c.said)
		}
		got := s.post(t, page, "/resends", "merchant_no", "M1", "reason", "r", "rate", "5", "counted", said[1])
		again := got.StatusCode == http.StatusConflict && strings.Contains(got.body, fmt.Sprintf(`name="counted" value="%d"`, c.now)) && strings.Contains(got.body, `role="alert"`)
		if begun := got.StatusCode == http.StatusSeeOther; begun != c.starts || again == c.starts || (desk.started == 1) != c.starts {
			t.Errorf("the page says %d, and there are %d: %d, %d started; want started %t", c.said, c.now, got.StatusCode, desk.started, c.starts)
		}
	}
}
