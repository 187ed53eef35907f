package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The answer of a gateway that is about another order decides nothing, if the queue says which
// field names the order.
func TestAnswerAboutAnotherOrder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.answer = func(no, _ string, asked int, _ *http.Request) (int, string) {
		if asked < 3 {
			return http.StatusOK, `{"trade_state":"SUCCESS","transaction_id":"4200002","out_trade_no":"another"}`
		}
		return http.StatusOK, fmt.Sprintf(`{"trade_state":"SUCCESS","transaction_id":"4200001","out_trade_no":%q}`, no)
	}
	api, _ := d.serve(t, d.settings(t, "then: tell", "schedule: 50ms*", "late_watch: 0s", "on_exhausted: close", "about: json.out_trade_no"))
	ref := many(t, api, 1, "1h")[0]
	page, told := d.ends(t, api, ref)
	if page.OrderState != "PAID" || events(told) != "order.paid" || told[0].Says["transaction_id"] != "4200001" {
		t.Errorf("order is %s, told %v; want PAID, with the transaction 4200001", page.OrderState, told)
	}
	var errors []string
	for _, a := range page.Attempts {
		errors = append(errors, a.Error)
	}
	want := `the answer is about the order "another"`
	if got := strings.Join(errors, "|"); !strings.HasPrefix(got, want) || page.Attempts[len(errors)-1].Error != "" {
		t.Errorf("attempts say %q; want first %s, and nothing at last", got, want)
	}
}
