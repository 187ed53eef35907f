package api

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/order"
)

// Whatever a limited key reads, no answer has a task outside its scope; and a call that nobody
// marked as keeping to scopes is refused.
func TestScopeOfEveryCall(t *testing.T) {
	m, ids := market(t, Options{Resends: &fakeResends{}, Links: &fakeLinks{}})
	open := map[string]bool{"/healthz": true, "/readyz": true, "/openapi.json": true}
	kept := map[string]bool{}
	for path, item := range m.doc.Paths {
		for _, op := range operations(item) {
			if strings.HasSuffix(op.OperationID, "-by-key") {
				continue
			}
			name := op.Method + " " + path
			if _, scoped := op.Metadata["scoped"]; scoped {
				kept[name] = true
			} else if !open[path] {
				real := strings.NewReplacer("{id}", ids["pay-X9"].String(), "{queue}", "pay", "{merchant_no}", "M1", "{host}", "m").Replace(path)
				if w := m.as("pay-M1", op.Method, real, "{}"); w.Code != 403 || !strings.Contains(w.Body.String(), "concerns all queues and merchants") {
					t.Errorf("%s with a limited key: %d %s; want 403, since nothing says that it keeps to scopes", name, w.Code, w.Body)
				}
			}
			if op.Method != "GET" || path == "/v1/events" {
				continue
			}
			for key, id := range ids {
				real := strings.NewReplacer("{id}", id.String(), "{merchant_no}", strings.Split(key, "-")[1], "{order_no}", "1").Replace(path)
				for _, who := range []string{"pay", "M1", "M*", "pay-M1", "shop"} {
					scope := scopedKeys[slices.IndexFunc(scopedKeys, func(k access.Key) bool { return k.Name == who })].Scope
					for _, query := range []string{"", "?queue=pay", "?merchant_no=M1", "?limit=1"} {
						shown := shownOf(m.as(who, "GET", real+query, "").Body.String(), ids)
						for task := range strings.FieldsSeq(shown) {
							queue, no, _ := strings.Cut(task, "-")
							if in := scope.Has(queue, no) && (who != "shop" || no == "M2"); !in && !strings.Contains(real, ids[task].String()) {
								t.Errorf("%s: GET %s shows %s", who, real+query, task)
							}
						}
					}
				}
			}
		}
	}
	for _, name := range []string{"GET /v1/tasks", "POST /v1/tasks", "POST /v1/orders/settle", "GET /v1/merchants"} {
		if !kept[name] {
			t.Errorf("%s refuses limited keys", name)
		}
	}
}

// No call of a limited key changes another merchant, or says anything of it that the request does
// not say.
func TestScopeOfEveryChange(t *testing.T) {
	jobs, desk := &scopedResends{}, &scopedDesk{}
	m, ids := market(t, Options{Resends: jobs, Merchants: desk, Notices: noNotices{t}})
	job := resend.Job{ID: bellman.NewID(), Filter: pick("", "X9")}
	fill := strings.NewReplacer("{pay}", ids["pay-X9"].String(), "{orders}", ids["orders-X9"].String(), "{job}", job.ID.String())
	for path, item := range m.doc.Paths {
		for _, op := range operations(item) {
			if _, scoped := op.Metadata["scoped"]; !scoped || op.Method == "GET" {
				continue
			}
			if strayCalls[op.OperationID] == nil {
				t.Errorf("%s %s keeps to scopes, and strayCalls has no call of it", op.Method, path)
			}
			for _, call := range strayCalls[op.OperationID] {
				for _, key := range []string{"M1", "M*", "pay-M1", "shop-M1"} {
					jobs.started, desk.changed = []resend.Job{job}, ""
					m.fake.called()
					w := m.as(key, op.Method, fill.Replace(call.path), call.body)
					text := w.Body.String()
					if w.Code != 403 && w.Code != 404 && !strings.Contains(text, `"status":403`) && !strings.Contains(text, `"status":404`) {
						t.Errorf("%s: %s %s %s: %d %s; want it refused", key, op.Method, call.path, call.body, w.Code, text)
					}
					if called := m.fake.called(); called != "" || desk.changed != "" || len(jobs.started) != 1 {
						t.Errorf("%s: %s %s %s: called %q, changed merchants %q, %d bulk resends", key, op.Method, call.path, call.body, called, desk.changed, len(jobs.started))
					}
					if shown := shownOf(strings.ReplaceAll(text, "pay-X9", ""), ids); shown != "" && !strings.Contains(call.path, "{") {
						t.Errorf("%s: %s %s shows %s: %s", key, op.Method, call.path, shown, text)
					}
				}
			}
		}
	}
}

// noNotices takes no notice.
type noNotices struct{ t *testing.T }

func (n noNotices) Receive(context.Context, string, string, func(string) bool, *order.RawNotice) ([]*order.Told, error) {
	n.t.Error("a notice about an order outside the scope was taken")
	return nil, nil
}
