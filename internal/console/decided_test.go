//go:build !race

package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// An outcome that a person entered is shown with that time and that person. It is not shown as the
// channel's last answer, nor with the time when the order was given up.
func TestAnEnteredOutcomeIsShownAsEntered(t *testing.T) {
	t.Parallel()
	w := open(t)
	watched := func(no string) (id string, ref client.OrderRef) {
		t.Helper()
		id = w.create(t, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Expires: "1h", Notify: &client.Notify{URL: w.merchant.URL + "/ok"}})
		w.until(t, id, attempted(2))
		return id, client.OrderRef{MerchantNo: "M1", OrderNo: no}
	}
	decisions := func(no string) (rows []string) {
		t.Helper()
		page := w.page(t, "/orders?"+url.Values{"merchant_no": {"M1"}, "order_no": {no}}.Encode())
		for i, row := range strings.Split(page, `<tr class="decided">`) {
			if row, _, _ = strings.Cut(row, "</tr>"); i > 0 {
				rows = append(rows, row)
			}
		}
		return rows
	}
	finished := func(id string) string {
		t.Helper()
		return `datetime="` + w.until(t, id, ended).Finished.UTC().Format("2006-01-02T15:04:05.000Z") + `"`
	}

	id, order := watched("never-9")
	if _, err := w.api.CompleteOrder(t.Context(), order, client.CompleteTask{Outcome: "PAID", Reason: "seen at the bank"}); err != nil {
		t.Fatal(err)
	}
	if got := decisions("never-9"); len(got) != 1 || !strings.Contains(got[0], finished(id)) || !strings.Contains(got[0], "seen at the bank: PAID") {
		t.Errorf("decided is shown as %s\nwant it once, at %s, and why", got, finished(id))
	}

	id, order = watched("never-10")
	if _, err := w.api.Cancel(t.Context(), client.ByID(id), client.Because{Reason: "of no use"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.api.CompleteOrder(t.Context(), order, client.CompleteTask{Outcome: "CLOSED", Reason: "seen on the bill"}); err != nil {
		t.Fatal(err)
	}
	if got := decisions("never-10"); len(got) != 2 || !strings.Contains(got[0], finished(id)) || !strings.Contains(got[0], "order-UNKNOWN") ||
		!strings.Contains(got[1], "order-CLOSED") || !strings.Contains(got[1], "seen on the bill: CLOSED") {
		t.Errorf("an order that was given up, and closed by hand, is shown as decided so: %s\nwant both, the first at %s", got, finished(id))
	}
}
