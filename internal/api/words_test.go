package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// A refusal names what there is not, and what would be right.
func TestWordsOfRefusals(t *testing.T) {
	const none = "01a1fba8-6e50-7001-bce2-95e97a844697"
	const wantTime = "want RFC 3339 in UTC such as 2026-11-20T15:04:05Z; write + as %2B"
	const wantZone = "has no time zone: want Z at its end for UTC, or an offset such as +08:00: 2026-11-20T15:04:05.123Z"
	tests := []struct{ method, path, body, want string }{
		{"GET", "/v1/tasks/" + none, "", "there is no task " + none},
		{"POST", "/v1/tasks/" + none + "/cancel", "", "there is no task " + none},
		{"GET", "/v1/queues/q/keys/M1/paid", "", `there is no task with the key "M1/paid" in the queue "q"`},
		{"POST", "/v1/queues/q/keys/M1/paid/resend", "", `there is no task with the key "M1/paid" in the queue "q"`},
		{"POST", "/v1/queues/nothing/pause", "", `there is no queue "nothing"`},
		{"GET", "/v1/resends/" + none, "", "there is no bulk resend " + none},
		{"POST", "/v1/resends/" + none + "/cancel", "", "there is no bulk resend " + none},
		{"GET", "/v1/tasks?created_from=today", "", wantTime},
		{"GET", "/v1/tasks?created_to=2026-11-20T15:04:05+08:00", "", wantTime},
		{"GET", "/v1/tasks?created_to=2026-11-20T15:04:05", "", wantTime},
		{"POST", "/v1/tasks/" + none + "/reschedule", `{"due":"soon"}`, "want a time such as 2026-11-20T15:04:05.123Z"},
		{"POST", "/v1/tasks/" + none + "/reschedule", `{"due":"2026-11-20 15:04"}`, wantZone},
		{"POST", "/v1/tasks/" + none + "/reschedule", `{"due":"2026-11-20T15:04:05"}`, wantZone},
		{"POST", "/v1/tasks/" + none + "/reschedule", `{"due":"2026-02-30T15:04:05Z"}`, "is no time that there is: day out of range; want one such as 2026-11-20T15:04:05.123Z"},
		{"POST", "/v1/tasks/" + none + "/reschedule", `{"due":"9999-01-01T00:00:00Z"}`, "is more than ten years ahead: want a time before that"},
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","due":"2026-11-20T15:04:05"}`, wantZone},
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","urll":""}`, "there is no such field: want url?"},
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","resume":{"atempts":1}}`, "there is no such field: want attempts?"},
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","delay":5}`, `want text in quotes, such as "5s"`},
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","key":null}`, "is null: leave it out, or want text in quotes"},
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","headers":{"A B":"x"}}`, "is not a header's name: want 1 to 256 letters, digits and hyphens"},
		{"GET", "/v1/tasks/x", "", wantID},
		{"GET", "/v1/tasks/" + none[:35] + "g", "", wantID},
		{"POST", "/v1/resends/x/cancel", "", wantID},
		{"POST", "/v1/orders/settle", `{"orders":[]}`, "want an array of 1 to 1000 orders"},
		{"POST", "/v1/orders/settle", `{"orders":[` + strings.Repeat(`{"merchant_no":"M1","order_no":"1"},`, 1000) + `{"merchant_no":"M1","order_no":"1"}]}`, "want an array of 1 to 1000 orders"},
		{"POST", "/v1/orders/settle", `{"orders":{}}`, "want an array of 1 to 1000 orders"},
		{"POST", "/v1/orders/settle", `{}`, "is required"},
		{"POST", "/v1/orders/settle", `{"orders":["M1/1"]}`, "want an object"},
		{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":1}]}`, "want text in quotes"},
		{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":""}]}`, "is empty"},
		{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"` + strings.Repeat("1", 129) + `"}]}`, "is longer than 128 characters"},
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","timeout":"0s"}`, "want 1ms to 10m"},
		{"GET", "/v1/tasks?limit=ten", "", "want a whole number"},
		{"GET", "/v1/tasks?limit=0", "", "want 1 to 200"},
		{"GET", "/v1/tasks?limit=201", "", "want 1 to 200"},
		{"GET", "/v1/tasks?limit=1e9", "", "want a whole number"},
		{"GET", "/v1/tasks?status=-1", "", "want 100 to 599"},
		{"POST", "/v1/resends", `{"filter":{"queue":"q"},"mode":"once","reason":"r","rate":"0/s"}`, "want a rate such as 50/s, 30/m or 100/h, from 1/h to 10000/s"},
		{"POST", "/v1/resends", `{"filter":{"queue":"q"},"mode":"once","reason":"r","rate":"1e3/s"}`, "want a rate such as 50/s, 30/m or 100/h, from 1/h to 10000/s"},
		{"POST", "/v1/resends", `{"filter":{"queue":"q"},"mode":"once","reason":"r","rate":"0.9/h","dry_run":true}`, "want a rate such as 50/s, 30/m or 100/h, from 1/h to 10000/s"},
		{"POST", "/v1/resends", `{"filter":{"queue":"q"},"mode":"once","reason":"r","rate":"10001/s","dry_run":true}`, "want a rate such as 50/s, 30/m or 100/h, from 1/h to 10000/s"},
		{"PUT", "/v1/merchants/M1", `{"per_endpoint":{"concurrency":0}}`, "want 1 to 100000"},
		{"PUT", "/v1/merchants/M1", `{"per_endpoint":{"concurrency":-1}}`, "want 1 to 100000"},
		{"PUT", "/v1/merchants/M1", `{"per_endpoint":{"concurrency":1000000000}}`, "want 1 to 100000"},
		{"PUT", "/v1/merchants/M1", `{"per_endpoint":{"concurrency":1.5}}`, "want a whole number"},
		{"GET", "/v1/tasks?state=lost", "", "want one of pending, succeeded, failed, cancelled"},
	}
	m := make1(t, Options{Resends: &fakeResends{}, Kinds: kinds, Merchants: registered{}})
	for _, tt := range tests {
		w := m.do(tt.method, tt.path, tt.body)
		var p struct {
			Detail string
			Errors []struct{ Message string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("%s %s: %d %s", tt.method, tt.path, w.Code, w.Body)
		}
		got := p.Detail
		if len(p.Errors) == 1 {
			got = p.Errors[0].Message
		}
		if got != tt.want {
			t.Errorf("%s %s: %q; want %q", tt.method, tt.path, got, tt.want)
		}
	}
	if w := m.do("GET", "/v1/tasks?created_from=2026-11-20T15:04:05%2B08:00", ""); w.Code != 200 {
		t.Errorf("a time with an escaped +: %d %s", w.Code, w.Body)
	}
	for path, want := range map[string]string{"/v1/resends/{id}": "The bulk resend's id.", "/v1/tasks/{id}": "The task's id."} {
		if got := m.doc.Paths[path].Get.Parameters[0]; got.Name != "id" || got.Description != want {
			t.Errorf("%s: parameter %s is described as %q; want %q", path, got.Name, got.Description, want)
		}
	}
}

// What a number out of bounds is told is what the document says.
func TestBounds(t *testing.T) {
	m := make1(t, Options{Merchants: registered{}})
	found := map[string]bool{}
	hold := func(name string, s *huma.Schema) {
		if s == nil || s.Minimum == nil && s.Maximum == nil {
			return
		}
		found[name] = true
		want := "want 1 or more"
		if s.Maximum != nil {
			want = fmt.Sprintf("want %.0f to %.0f", *s.Minimum, *s.Maximum)
		}
		if bounds[name] != want {
			t.Errorf("a %s out of bounds is told %q; want %q", name, bounds[name], want)
		}
	}
	for _, item := range m.doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete} {
			for i := 0; op != nil && i < len(op.Parameters); i++ {
				hold(op.Parameters[i].Name, op.Parameters[i].Schema)
			}
		}
	}
	for _, s := range m.doc.Components.Schemas.Map() {
		for name, of := range s.Properties {
			hold(name, of)
		}
	}
	for name := range bounds {
		if !found[name] {
			t.Errorf("nothing with bounds is called %s", name)
		}
	}
}
