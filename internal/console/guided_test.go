//go:build !race

package console_test

import (
	"encoding/csv"
	"html"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// A task without an address goes to its merchant's. Its page, the list and the export show where
// that is now.
func TestPagesShowTheMerchantsAddress(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.registered(t)
	id := w.create(t, client.CreateTask{Queue: "merchant-notify", MerchantNo: "M1001", Delay: "1h"})
	to := w.merchant.URL + "/ok"
	page := html.UnescapeString(w.page(t, "/tasks/"+id))
	for _, want := range []string{"<b>POST</b> " + to, "the merchant’s present address", "curl -i -X 'POST' '" + to + "'"} {
		if !strings.Contains(page, want) {
			t.Errorf("the task's page does not say %q", want)
		}
	}
	if list, want := w.page(t, "/tasks?merchant_no=M1001"), `<td class="wide host">`+strings.TrimPrefix(w.merchant.URL, "http://")+`</td>`; !strings.Contains(list, want) {
		t.Errorf("the list does not say %s", want)
	}
	answer, err := http.Get(w.URL + "/tasks.csv?merchant_no=M1001")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff"))).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][7] != to {
		t.Errorf("exported %q, %v; want the address %s", rows, err, to)
	}
	if _, _, err := w.api.PutMerchant(t.Context(), "M1001", client.PutMerchant{}); err != nil {
		t.Fatal(err)
	}
	if page := html.UnescapeString(w.page(t, "/tasks/"+id)); !strings.Contains(page, "to its merchant’s address: none is known now") || strings.Contains(page, "curl -i") {
		t.Error("the page of a task whose merchant has no address any more does not say so")
	}
}

// A task's page shows the rules that apply to it now: rules that the task was not given are its
// merchant's, as soon as the merchant has them.
func TestATasksPageShowsItsMerchantsRules(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1001", URL: w.merchant.URL + "/ok", Delay: "1h"})
	own := w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1001", URL: w.merchant.URL + "/ok", Delay: "1h", Schedule: "0s, 7s", Timeout: "3s", Success: "status == 299"})
	shows := func(id string, planned int, wanted ...string) {
		t.Helper()
		page := html.UnescapeString(w.page(t, "/tasks/"+id))
		for _, want := range wanted {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
		wide, _, _ := strings.Cut(page, `class="line phone"`)
		if n := strings.Count(wide, `<g class="mark plan">`); n != planned {
			t.Errorf("%d attempts are drawn behind the next; want %d", n, planned)
		}
	}
	shows(id, 2, "<code>0s, 50ms, 100ms</code></span>", "<dd>1m</dd>", "0 of 3")
	w.registered(t)
	const merchants = "as its merchant has it now"
	shows(id, 3, "<code>0s, 15s*2, 30s</code> "+merchants, "<dd>5s <small>"+merchants, "success_text <small>"+merchants, "0 of 4")
	shows(own, 1, "<code>0s, 7s</code></span>", "<dd>3s</dd>", ">status == 299</dd>", "0 of 2")
}
