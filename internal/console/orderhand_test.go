package console

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

var (
	rowOf   = regexp.MustCompile(`(?s)<tr[^>]*>\s*<td>((?:<a [^>]*>)?<time.*?)</tr>`)
	tagOf   = regexp.MustCompile(`(?s)<[^>]*>`)
	blankOf = regexp.MustCompile(`\s+`)
)

// life is what an order's page says of its life: a line each.
func life(page string) (lines []string) {
	_, table, _ := strings.Cut(page, "<tbody>")
	table, _, _ = strings.Cut(table, "</tbody>")
	for _, m := range rowOf.FindAllStringSubmatch(table, -1) {
		lines = append(lines, strings.TrimSpace(blankOf.ReplaceAllString(tagOf.ReplaceAllString(m[1], " "), " ")))
	}
	return lines
}

// handled stores an order that was queried after 4 and 7 seconds, and that people changed then.
func (s *site) handled(t testing.TB, o order.Standing, to bellman.Status, hand ...store.Audit) {
	t.Helper()
	query := bellman.Attempt{Action: "query", Reading: "PENDING", Result: bellman.Accepted, Status: 200, Took: 20 * time.Millisecond}
	again := query
	query.Started, again.Started = t0.Add(4*time.Second), t0.Add(7*time.Second)
	again.Trigger = bellman.BySettle
	task := s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O-1", Schedule: "3s*"}, o, order.Ask{}), t0, query, again)
	to.Data = task.Data
	to.Version, to.Attempts, to.Updated = task.Version, 2, hand[len(hand)-1].At
	for _, a := range hand {
		a.Target = task.ID.String()
		to.Version++
		b := store.Batch{Changes: []store.Change{{ID: task.ID, Version: to.Version - 1, To: to, Audit: &a}}}
		if err := s.fake.Commit(t.Context(), &b); err != nil || b.Changes[0].Err != nil {
			t.Fatal(err, b.Changes[0].Err)
		}
	}
}

// An order's page says when it was decided, by whom and why, and which other manual actions there
// were. An outcome that came after the order was given up does not hide that.
func TestAnOrdersPageShowsWhatWasDoneByHand(t *testing.T) {
	late := t0.Add(729 * time.Second)
	gaveUp := t0.Add(8 * time.Second)
	for name, tt := range map[string]struct {
		order order.Standing
		to    bellman.Status
		hand  []store.Audit
		want  []string
	}{
		"decided": {order.Standing{State: "PAID", Decided: late}, bellman.Status{State: bellman.Succeeded, Finished: late},
			[]store.Audit{{At: t0.Add(6900 * time.Millisecond), Who: "ann", Action: "settle", Reason: "the shop asks"}, {At: late, Who: "ben", Action: "complete", Reason: "seen at the bank: PAID"}},
			[]string{
				"2026-11-20 15:04:12 UTC asked the channel Manual · ann the shop asks orders",
				"2026-11-20 15:04:12 UTC query Settle Not decided 200 orders",
				"2026-11-20 15:16:14 UTC decided Manual · ben Paid seen at the bank: PAID orders",
			}},
		"given up before": {order.Standing{State: "CLOSED", Decided: late}, bellman.Status{State: bellman.Failed, Finished: gaveUp},
			[]store.Audit{{At: late, Who: "ben", Action: "complete", Reason: "callback: CLOSED"}},
			[]string{
				"2026-11-20 15:04:13 UTC decided Unknown orders",
				"2026-11-20 15:16:14 UTC decided Manual · ben Closed callback: CLOSED orders",
			}},
		"given up, and paid": {order.Standing{State: "UNKNOWN", Late: "PAID", Decided: gaveUp}, bellman.Status{State: bellman.Failed, Finished: gaveUp},
			[]store.Audit{{At: late, Who: "ben", Action: "complete", Reason: "on the bill: PAID"}},
			[]string{
				"2026-11-20 15:04:13 UTC decided Unknown orders",
				"2026-11-20 15:16:14 UTC completed Manual · ben on the bill: PAID orders",
			}},
		"cancelled": {order.Standing{State: "UNKNOWN"}, bellman.Status{State: bellman.Cancelled, Finished: late},
			[]store.Audit{{At: late, Who: "ben", Action: "cancel", Reason: "of no use"}},
			[]string{
				"2026-11-20 15:16:14 UTC cancelled Manual · ben of no use orders",
				"2026-11-20 15:16:14 UTC decided Unknown orders",
			}},
	} {
		s := open(t)
		s.handled(t, tt.order, tt.to, tt.hand...)
		got := life(s.get(t, "/orders?merchant_no=M1&order_no=O-1", "Accept-Language: en").body)
		if at := len(got) - len(tt.want); at < 0 || !slices.Equal(got[at:], tt.want) {
			t.Errorf("%s:\n%s\nwant, at its end:\n%s", name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// Who settles an order that is being asked about already joins that attempt, and changes
// nothing of its task: the pages say who asked all the same.
func TestSettlesThatJoinedAreShown(t *testing.T) {
	for name, state := range map[string]bellman.State{"while it is asked about": bellman.Pending, "when it is decided": bellman.Succeeded} {
		s := open(t)
		query := bellman.Attempt{Action: "query", Reading: "PENDING", Result: bellman.Accepted, Status: 200, Started: t0.Add(4 * time.Second), Took: time.Second}
		task := s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O-1", Schedule: "3s*"}, order.Standing{State: "PENDING"}, order.Ask{}), t0, query)
		joined := store.Audit{At: t0.Add(5*time.Second + 300*time.Millisecond), Who: "ann", Action: "settle", Target: task.ID.String(), Reason: "the shop asks"}
		b := store.Batch{Audits: []store.Audit{joined}}
		if state.Ended() { // its attempt decides it, by a clock that is behind
			to := task.Status
			to.Version, to.State, to.Attempts, to.Updated, to.Finished = task.Version+1, state, 2, t0.Add(5*time.Second), t0.Add(5*time.Second)
			b.Changes = []store.Change{{ID: task.ID, Version: task.Version, To: to, Attempt: &bellman.Attempt{Number: 2, Action: "query", Reading: "PAID", Result: bellman.Accepted, Status: 200, Started: t0.Add(4900 * time.Millisecond)}}}
		}
		if err := s.fake.Commit(t.Context(), &b); err != nil || state.Ended() && b.Changes[0].Err != nil {
			t.Fatal(err, b.Changes)
		}
		for _, path := range []string{"/orders?merchant_no=M1&order_no=O-1", "/tasks/" + task.ID.String()} {
			if page := s.get(t, path, "Accept-Language: en").body; !strings.Contains(page, "the shop asks") || !strings.Contains(page, "ann") {
				t.Errorf("%s, %s: it does not say who settled it and why", name, path)
			}
		}
	}
}
