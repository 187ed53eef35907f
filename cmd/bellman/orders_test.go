package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// Commands take orders from creation to reconciliation.
func TestOrdersByCommands(t *testing.T) {
	t.Parallel()
	channel := receive(t, func(w http.ResponseWriter, r *http.Request) {
		state := "NOTPAY"
		if strings.HasSuffix(r.URL.Path, "/down") {
			w.WriteHeader(http.StatusBadGateway)
		}
		if strings.HasSuffix(r.URL.Path, "/paid") {
			state = "SUCCESS"
		}
		fmt.Fprintf(w, `{"trade_state":%q,"shop":%q}`, state, r.URL.Query().Get("shop"))
	})
	told := make(chan string, 16)
	merchant := receive(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a partial body fails the checks below
		told <- string(body)
		io.WriteString(w, "success")
	})
	dir := t.TempDir()
	settings := filepath.Join(dir, "bellman.yaml")
	write(t, settings, strings.NewReplacer("CHANNEL", channel, "MERCHANT", merchant).Replace(`
egress: {allow: [127.0.0.1/32]}
queues:
  default: {}
  tell: {timeout: 5m}
  orders:
    kind: order
    timeout: 5m
    query: {method: GET, url: "CHANNEL/{order_no}?shop={vars.shop}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: 1h*
    on_exhausted: close
    then: tell
`))
	p := serveStore(t, filepath.Join(dir, "data"), "--config", settings)
	at := []string{"--server", p.url}
	operate := func(args ...string) string { t.Helper(); return must(t, append(args, at...)...) }
	fails := func(status int, want string, args ...string) result {
		t.Helper()
		r := run(t, append(args, at...)...)
		if r.status != status || !strings.Contains(r.errors, want) {
			t.Errorf("bellman %s: status %d, %q; want %d, with %q", strings.Join(args, " "), r.status, r.errors, status, want)
		}
		return r
	}

	placed := time.Now().Add(-time.Minute).UTC().Format("2006-01-02T15:04:05")
	for _, number := range []string{"paid", "open", "a/b", "down"} {
		out := operate("send", "--queue", "orders", "--merchant-no", "M1", "--order-no", number, "--expires", "2h", "--order-created", placed+"Z",
			"--var", "shop=7", "--notify-url", merchant, "--notify-json", `{"shop":7}`)
		if !strings.Contains(out, "M1/"+number) {
			t.Errorf("send printed\n%s", out)
		}
	}
	fails(1, "url: the queue is of kind order", "send", "--queue", "orders", "--merchant-no", "M1", "--order-no", "x", "--url", merchant)
	fails(1, "expires: the queue is not of kind order", "send", "--url", merchant, "--expires", "1h")
	out := operate("get", "orders", "M1/open")
	for _, want := range []string{"PENDING", "2h", placed + ".000Z", "shop=7", `"url":"` + merchant} {
		if !strings.Contains(out, want) {
			t.Errorf("get did not print %s\n%s", want, out)
		}
	}

	operate("send", "--queue", "orders", "--merchant-no", "M2", "--order-no", "dear", "--var", "shop=7", "--notify-url", merchant, "--amount", "8888", "--currency", "CNY")
	if out := operate("orders", "--order-state", "PENDING", "--amount-min", "88", "--created-from", "1h"); !strings.Contains(out, "88.88 CNY") || strings.Count(out, "PENDING") != 1 {
		t.Errorf("orders of 88 and more printed\n%s", out)
	}
	if out := operate("orders", "--limit", "2", "-o", "json"); strings.Count(out, `"order_state":"PENDING"`) != 2 || strings.Count(out, "\n") != 2 {
		t.Errorf("two orders printed\n%s", out)
	}
	operate("complete", "orders", "M2/dear", "--outcome", "PAID", "--amount", "8888", "--currency", "CNY", "--transaction-id", "T-1")
	<-told
	for _, args := range [][]string{{"order", "M2", "dear"}, {"get", "orders", "M2/dear"}} {
		out := strings.Join(strings.Fields(operate(args...)), " ")
		for _, want := range []string{"channel order no dear ", "amount 88.88 CNY ", "payment 88.88 CNY T-1 "} {
			if !strings.Contains(out, want) {
				t.Errorf("%v does not print %q: %s", args, want, out)
			}
		}
	}
	fails(1, "is no amount", "orders", "--amount-max", "much")
	fails(2, "--limit -1: want 0 or more", "orders", "--limit", "-1")
	fails(2, "--attempt 0: want 1 or more", "get", "orders", "M1/open", "--attempt", "0")

	bill := filepath.Join(dir, "bill.csv")
	write(t, bill, "\ufeffmerchant_no,order_no\r\n# of yesterday\r\nM1,paid\r\n\r\nM1, a/b\r\nM1 open\r\n")
	out = operate("settle", bill, "--wait", "1m")
	if strings.Count(out, "\n") != 4 || strings.Count(out, "PENDING") != 2 || strings.Count(out, "PAID") != 1 || strings.Count(out, "true") != 3 {
		t.Errorf("settle printed\n%s", out)
	}
	if body := <-told; !strings.Contains(body, `"order_state":"PAID"`) || !strings.Contains(body, `"shop":7`) {
		t.Errorf("the merchant was notified with %s", body)
	}
	write(t, bill, "M1 paid\nM1 down\n")
	fails(1, "of 2 orders: 1 not answered", "settle", bill, "--wait", "1m")
	write(t, bill, "M1 paid\nM1 none\nM2 paid\n")
	r := fails(1, "of 3 orders: 2 unknown", "settle", bill, "--wait", "1m", "-o", "json")
	if lines := strings.Split(strings.TrimSpace(r.out), "\n"); len(lines) != 3 {
		t.Errorf("settle printed\n%s", r.out)
	} else {
		var first client.SettledOrder
		if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || first.OrderState != "PAID" || !first.Asked {
			t.Errorf("settle printed %s (%v)", lines[0], err)
		}
	}

	out = operate("order", "M1", "a/b", "--settle", "1m")
	if !strings.Contains(out, "READING") || strings.Count(out, "PENDING") != 2 || !strings.Contains(out, "query") { // the order and its one answer
		t.Errorf("order printed\n%s", out)
	}
	operate("pause", "orders")
	operate("resend", "orders", "M1/a/b")
	if r := fails(1, "order a/b of merchant M1 is not settled", "order", "M1", "a/b", "--settle", "50ms"); !strings.Contains(r.out, "PENDING") {
		t.Errorf("order printed\n%s", r.out)
	}
	if r := fails(1, "is not settled", "order", "M1", "a/b", "--settle", "50ms", "-o", "json"); !strings.Contains(r.out, `"settled": false`) {
		t.Errorf("order printed\n%s", r.out)
	}
	operate("resume", "orders")
	if out := operate("order", "M1", "a/b", "--settle", "1m", "-o", "json"); !strings.Contains(out, `"settled": true`) || !strings.Contains(out, `"reading": "PENDING"`) {
		t.Errorf("order printed\n%s", out)
	}
	fails(1, "there is no order", "order", "M1", "none")
	fails(1, "outcome", "complete", "--merchant-no", "M1", "--order-no", "a/b")
	if out := operate("complete", "--merchant-no", "M1", "--order-no", "a/b", "--outcome", "PAID"); !strings.Contains(out, "PAID") {
		t.Errorf("complete printed\n%s", out)
	}
	<-told
	if out := operate("order", "M1", "a/b", "-o", "json"); !strings.Contains(out, `"order_state": "PAID"`) || !strings.Contains(out, `"event": "order.paid"`) {
		t.Errorf("order printed\n%s", out)
	}
	// The channel contradicts the outcome that was entered by hand.
	write(t, bill, "M1 paid\nM1 a/b\n")
	if r := fails(1, "of 2 orders: 1 denied by the channel", "settle", bill, "--wait", "1m"); !strings.Contains(r.out, "the channel denies it: PENDING") {
		t.Errorf("settle printed\n%s", r.out)
	}
	if r := fails(1, "1 denied by the channel", "settle", bill, "--wait", "1m", "-o", "json"); !strings.Contains(r.out, `"reading":"PENDING"`) || !strings.Contains(r.out, `"trigger":"settle"`) {
		t.Errorf("settle printed\n%s", r.out)
	}
	if out := operate("cancel", "--merchant-no", "M1", "--order-no", "open"); !strings.Contains(out, "cancelled") {
		t.Errorf("cancel printed\n%s", out)
	}
	for _, k := range []string{"M2/dear", "M1/paid", "M1/a/b"} { // the notification was accepted, and this was recorded
		eventually.True(t, "the merchant was told of "+k, func() bool {
			return strings.Contains(operate("get", "tell", "orders/"+k+"/decided"), "succeeded")
		})
	}
	running := operate("export")
	p.stop()
	if stopped := must(t, "export", "--store", "pebble:"+filepath.Join(dir, "data")); stopped != running {
		t.Errorf("export of the store\n%s\nand of the server\n%s\nwant the same", stopped, running)
	}
}
