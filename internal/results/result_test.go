package results_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/results"
	"github.com/bellmanhq/bellman/rule"
)

func failed() *bellman.Task {
	at := time.Date(2026, 11, 20, 15, 4, 5, 120e6, time.FixedZone("CST", 8*3600))
	return &bellman.Task{
		ID: bellman.ID{0x01, 0x93, 15: 7}, Queue: "merchant notify", MerchantNo: "M1001", OrderNo: "20261120",
		Status: bellman.Status{State: bellman.Failed, Reason: "attempts_used_up", Attempts: 16, Finished: at},
	}
}

func shape(t *bellman.Task) []byte {
	b, err := json.Marshal(map[string]any{"queue": t.Queue, "merchant_no": t.MerchantNo, "order_no": t.OrderNo, "reason": t.Reason, "attempts": t.Attempts})
	if err != nil {
		panic(err)
	}
	return b
}

func TestEvent(t *testing.T) {
	r := results.Rules{To: map[bellman.State]results.Queue{bellman.Failed: {Name: "ops"}}, Shape: func(*bellman.Task) []byte { return []byte(`{"a":1}`) }}
	got := r.Ended(failed())[0].Body
	want := `{"specversion":"1.0","id":"01930000-0000-0000-0000-000000000007/failed/16","source":"bellman/queues/merchant%20notify",` +
		`"type":"bellman.task.failed","subject":"01930000-0000-0000-0000-000000000007","time":"2026-11-20T07:04:05.120Z",` +
		`"datacontenttype":"application/json","data":{"a":1}}`
	if string(got) != want {
		t.Errorf("the event is %s; want %s", got, want)
	}
}

func TestEnded(t *testing.T) {
	words := func(text string) *rule.Value {
		v, err := rule.CompileValue(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	tests := []struct {
		name  string
		state bellman.State
		to    results.Queue
		body  string // prefix of the body
		typed string
	}{
		{"a state without a queue", bellman.Succeeded, results.Queue{}, "", ""},
		{"an event", bellman.Failed, results.Queue{Name: "ops"}, `{"specversion":"1.0"`, results.ContentType},
		{"in a chat's words", bellman.Failed, results.Queue{Name: "ops", Words: words(`{"msgtype": "text", "text": {"content": "order " + string(json.data.order_no) + " of " + string(json.data.merchant_no) + ": " + string(json.data.reason)}}`)},
			`{"msgtype":"text","text":{"content":"order 20261120 of M1001: attempts_used_up"}}`, "application/json; charset=utf-8"},
		{"words that fail", bellman.Failed, results.Queue{Name: "ops", Words: words(`{"text": json.data.nothing}`)}, `{"specversion":"1.0"`, results.ContentType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			r := results.Rules{To: map[bellman.State]results.Queue{bellman.Failed: tt.to}, Shape: shape, Log: slog.New(slog.NewTextHandler(&log, nil))}
			task := failed()
			task.State = tt.state
			results := r.Ended(task)
			if tt.body == "" {
				if len(results) != 0 {
					t.Errorf("Ended: %+v; want nothing", results)
				}
				return
			}
			if len(results) != 1 {
				t.Fatalf("Ended: %d results; want 1", len(results))
			}
			got := results[0]
			if got.Queue != "ops" || got.Event != "bellman.task.failed" || got.Key != task.ID.String()+"/failed/16" || got.Header["Content-Type"] != tt.typed {
				t.Errorf("Ended: queue %q, event %q, key %q, headers %v; want ops, bellman.task.failed, the task's id/failed/16, %s", got.Queue, got.Event, got.Key, got.Header, tt.typed)
			}
			if got.MerchantNo != "" || got.OrderNo != "" {
				t.Errorf("Ended: merchant %q, order %q; want neither, because a merchant's rules do not apply to it", got.MerchantNo, got.OrderNo)
			}
			if !strings.HasPrefix(string(got.Body), tt.body) {
				t.Errorf("Ended: body %s; want the prefix %s", got.Body, tt.body)
			}
			if fails := strings.Contains(tt.name, "fail"); fails != strings.Contains(log.String(), "event_json") {
				t.Errorf("log %q; want a line only if the expression fails", log.String())
			}
		})
	}
}
