package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// bellman notices says why a notice was refused, bellman complete says which amount was paid, and
// bellman alarms says which order a person decided.
func TestNotices(t *testing.T) {
	t.Parallel()
	p := start(t, []string{`BELLMAN_QUEUES={tell: {url: "http://127.0.0.1:9/"}, orders: {kind: order, query: {url: "http://127.0.0.1:9/{order_no}"}, close: {url: "http://127.0.0.1:9/{order_no}"}, ` +
		`states: wechat_v3, close_states: wechat_v3, schedule: 1h*, on_exhausted: close, then: tell, ` +
		`notice: {verify: {scheme: hmac_sha256, header: X-Signature, secrets: [secret-of-sixteen]}, order: json.out_trade_no, states: wechat_v3}}}`,
		"BELLMAN_ALARMS=[{when: order_decided_by_hand, to: tell}]"}, "--store", "pebble:"+t.TempDir())
	for _, no := range []string{"A1", "A2", "A3"} {
		must(t, "send", "--queue", "orders", "--merchant-no", "M1", "--order-no", no, "--amount", "8800", "--currency", "CNY", "--server", p.url)
	}
	resp, err := http.Post(p.url+"/v1/orders/M1/A1/notice", "application/json", strings.NewReader(`{"headers": {"X-Signature": "00"}, "body": "{\"out_trade_no\":\"A1\"}"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for _, tt := range []struct {
		args []string
		want bool
	}{{nil, true}, {[]string{"--result", "refused", "--order-no", "A1", "--merchant-no", "M1"}, true}, {[]string{"--result", "applied"}, false}} {
		table := must(t, append([]string{"notices", "--server", p.url}, tt.args...)...)
		if strings.Contains(table, "its signature is wrong") != tt.want || !strings.HasPrefix(table, "CAME") {
			t.Errorf("notices %q:\n%s\nwant the refused notice with its reason: %t", tt.args, table, tt.want)
		}
	}
	complete := []string{"complete", "--merchant-no", "M1", "--order-no", "A1", "--outcome", "PAID", "--server", p.url}
	if r := runIn(t, t.TempDir(), nil, "", complete...); r.status == 0 || !strings.Contains(r.errors, "taken.amount") {
		t.Errorf("completed without an amount: status %d, %s", r.status, r.errors)
	}
	must(t, append(complete, "--amount", "8800", "--currency", "CNY", "--transaction-id", "4200000001")...)
	if table := must(t, "get", "tell", "orders/M1/A1/decided", "--server", p.url); !strings.Contains(table, "4200000001") || !strings.Contains(table, "order.paid") {
		t.Errorf("the notification:\n%s\nwant the payment's number", table)
	}
	must(t, "decide", "M1", "A2", "--outcome", "CLOSED", "--reason", "ticket 4711", "--server", p.url)
	if table := must(t, "alarms", "--server", p.url); !strings.Contains(table, "order A2 of merchant M1 by somebody: ticket 4711: CLOSED") {
		t.Errorf("alarms:\n%s\nwant the order and the reason", table)
	}

	// The task of an order that was UNKNOWN stays failed, and the order is what the person decided.
	if table := must(t, "complete", "--merchant-no", "M1", "--order-no", "A3", "--outcome", "PAID", "--amount", "1", "--currency", "CNY", "--server", p.url); !strings.Contains(table, "UNKNOWN") {
		t.Errorf("completed with another amount:\n%s\nwant the order UNKNOWN", table)
	}
	if table := must(t, "decide", "M1", "A3", "--outcome", "PAID", "--reason", "ticket 4712", "--server", p.url); !strings.Contains(table, "PAID") || strings.Contains(table, "failed") || strings.Contains(table, "amount_mismatch") {
		t.Errorf("decided as PAID:\n%s\nwant the order PAID, and nothing of what it was before", table)
	}
}

// The JSON of a list that --limit cuts off says that there are more notices.
func TestNoticesSayThatThereAreMore(t *testing.T) {
	t.Parallel()
	url := receive(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"notices":[{"order_no":"A1"}],"next_cursor":"A2"}`)
	})
	if out := must(t, "notices", "--limit", "1", "-o", "json", "--server", url); !strings.Contains(out, `"next_cursor": "A2"`) {
		t.Errorf("bellman notices printed\n%s\nwant the cursor of the next page", out)
	}
}
