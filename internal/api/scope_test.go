package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// scopedKey is a key of a scope, whose name is also its secret.
func scopedKey(name string, role access.Role, queues, merchants string) access.Key {
	list := func(text string) []string {
		return slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" })
	}
	return access.Key{Name: name, Role: role, SHA256: hash(name), Scope: access.Scope{Queues: list(queues), Merchants: list(merchants)}}
}

var scopedKeys = []access.Key{
	scopedKey("all", access.Admin, "", ""),
	scopedKey("star", access.Admin, "", "*"),
	scopedKey("pay", access.Admin, "pay", ""),
	scopedKey("both", access.Admin, "pay,orders", ""),
	scopedKey("M1", access.Admin, "", "M1"),
	scopedKey("M*", access.Admin, "", "M*"),
	scopedKey("pay-M1", access.Admin, "pay", "M1"),
	scopedKey("shop", access.Submit, "", ""),
	scopedKey("other", access.Submit, "", ""),
	scopedKey("shop-M1", access.Submit, "", "M1"),
	scopedKey("ops", access.Operate, "", ""),
}

// A market has tasks of several queues and merchants, by their keys: QUEUE-MERCHANT. The key shop
// created those of merchant M2.
func market(t *testing.T, o Options) (m *made, ids map[string]bellman.ID) {
	t.Helper()
	o.Kinds, o.Keys, o.Metrics = kinds, append(o.Keys, scopedKeys...), http.HandlerFunc(metricsHandler)
	m = make1(t, o)
	ids = map[string]bellman.ID{}
	for _, queue := range []string{"pay", "told", "orders"} {
		for _, no := range []string{"M1", "M2", "X9"} {
			key := queue + "-" + no
			ids[key] = m.place(t, queue, key, order.Standing{State: "PENDING"}, func(task *bellman.Task) {
				task.MerchantNo, task.OrderNo, task.Event = no, "1", "event."+key
				if no == "M2" {
					task.SetCreatedBy("shop")
				}
			}).ID
		}
	}
	m.fake.queues = []figures.Queue{{Name: "pay"}, {Name: "told"}, {Name: "orders"}}
	return m, ids
}

func (m *made) as(key, method, path, body string) *httptest.ResponseRecorder {
	return m.do(method, path, body, "Authorization: Bearer "+key)
}

// shownOf returns the keys of the market's tasks that an answer has, with spaces between them.
func shownOf(text string, ids map[string]bellman.ID) string {
	var shown []string
	for key, id := range ids {
		if strings.Contains(text, id.String()) || strings.Contains(text, `"`+key+`"`) || strings.Contains(text, "event."+key) {
			shown = append(shown, key)
		}
	}
	slices.Sort(shown)
	return strings.Join(shown, " ")
}

// Reads show a key what is in its scope, and say what the scope lacks.
func TestScopeOfReads(t *testing.T) {
	m, ids := market(t, Options{})
	const everything = "orders-M1 orders-M2 orders-X9 pay-M1 pay-M2 pay-X9 told-M1 told-M2 told-X9"
	for _, tt := range []struct {
		key, path string
		status    int
		want      string // the tasks that are shown, or a part of the problem
	}{
		{"all", "/v1/tasks", 200, everything},
		{"star", "/v1/tasks", 200, everything},
		{"pay", "/v1/tasks", 200, "pay-M1 pay-M2 pay-X9"},
		{"pay", "/v1/tasks?queue=pay&merchant_no=M1", 200, "pay-M1"},
		{"pay", "/v1/tasks?queue=told", 403, `queue "told" is outside this key's scope: the scope of this key is queues pay`},
		{"both", "/v1/tasks", 403, "name one queue in queue: the scope of this key is queues pay, orders"},
		{"both", "/v1/tasks?queue=orders", 200, "orders-M1 orders-M2 orders-X9"},
		{"M1", "/v1/tasks", 200, "orders-M1 pay-M1 told-M1"},
		{"M1", "/v1/tasks?merchant_no=M2", 403, `merchant "M2" is outside this key's scope: the scope of this key is merchants M1`},
		{"M*", "/v1/tasks", 403, "name one merchant in merchant_no: the scope of this key is merchants M*"},
		{"M*", "/v1/tasks?merchant_no=M2", 200, "orders-M2 pay-M2 told-M2"},
		{"M*", "/v1/tasks?merchant_no=X9", 403, `merchant "X9"`},
		{"pay-M1", "/v1/tasks", 200, "pay-M1"},
		{"pay-M1", "/v1/tasks?key=told-M1", 200, ""},
		{"shop", "/v1/tasks", 403, "takes the role read, operate, decide or admin"},

		{"all", "/v1/orders/X9/1", 200, "orders-X9 pay-X9 told-X9"},
		{"pay", "/v1/orders/X9/1", 200, "pay-X9"},
		{"both", "/v1/orders/X9/1", 200, "orders-X9 pay-X9"},
		{"M1", "/v1/orders/M1/1", 200, "orders-M1 pay-M1 told-M1"},
		{"M1", "/v1/orders/X9/1", 403, `merchant "X9" is outside this key's scope`},
		{"M1", "/v1/orders/X9/none", 403, `merchant "X9" is outside this key's scope`},
		{"shop", "/v1/orders/M2/1", 200, "orders-M2 pay-M2 told-M2"},
		{"shop", "/v1/orders/M1/1", 404, "there is no order"},
		{"other", "/v1/orders/M2/1", 404, "there is no order"},
		{"shop-M1", "/v1/orders/M1/1", 200, "orders-M1 pay-M1 told-M1"},
		{"shop-M1", "/v1/orders/M2/1", 403, `merchant "M2" is outside`},

		{"M1", "/v1/tasks/{pay-M1}", 200, "pay-M1"},
		{"M1", "/v1/tasks/{pay-X9}", 403, "this task is outside this key's scope: the scope of this key is merchants M1"},
		{"pay", "/v1/tasks/{told-M1}", 403, "the scope of this key is queues pay"},
		{"shop", "/v1/tasks/{pay-M2}", 200, "pay-M2"},
		{"shop", "/v1/tasks/{pay-M1}", 403, "the scope of this key is the tasks that it created"},
		{"other", "/v1/tasks/{pay-M2}", 403, "the scope of this key is the tasks that it created"},

		{"M1", "/v1/queues/pay/keys/pay-M1", 200, "pay-M1"},
		{"pay", "/v1/queues/told/keys/told-M1", 403, `queue "told" is outside this key's scope`},
		{"pay", "/v1/queues/pay/keys/pay-X9", 200, "pay-X9"},

		{"pay", "/v1/queues", 200, ""},
		{"M1", "/v1/queues", 403, "the figures of a queue are of all merchants"},
		{"pay", "/v1/stats", 403, "this call concerns all queues and merchants: the scope of this key is queues pay"},
		{"pay", "/v1/events?queue=told", 403, `queue "told" is outside`},
		{"star", "/v1/stats", 200, ""},
	} {
		path := tt.path
		for key, id := range ids {
			path = strings.ReplaceAll(path, "{"+key+"}", id.String())
		}
		w := m.as(tt.key, "GET", path, "")
		if w.Code != tt.status {
			t.Errorf("%s: GET %s: %d %s; want %d", tt.key, tt.path, w.Code, w.Body, tt.status)
			continue
		}
		if w.Code >= 400 {
			if detail, _ := problemOf(t, w); !strings.Contains(detail, tt.want) {
				t.Errorf("%s: GET %s: %q; want %q", tt.key, tt.path, detail, tt.want)
			}
			continue
		}
		if got := shownOf(w.Body.String(), ids); got != tt.want {
			t.Errorf("%s: GET %s shows %s; want %s", tt.key, tt.path, got, tt.want)
		}
	}
	var queues client.Queues
	if err := json.Unmarshal(m.as("both", "GET", "/v1/queues", "").Body.Bytes(), &queues); err != nil || len(queues.Queues) != 2 || queues.Queues[0].Name != "pay" || queues.Queues[1].Name != "orders" {
		t.Errorf("queues of a key with two: %+v, %v", queues.Queues, err)
	}
}

// Whoever guesses the keys of tasks does not learn which exist outside the scope.
func TestScopeHidesKeys(t *testing.T) {
	m, _ := market(t, Options{})
	for _, key := range []string{"M1", "shop"} {
		hidden, absent := m.as(key, "GET", "/v1/queues/pay/keys/pay-X9", ""), m.as(key, "GET", "/v1/queues/pay/keys/pay-X8", "")
		if hidden.Code != 404 || strings.ReplaceAll(hidden.Body.String(), "X9", "X8") != absent.Body.String() {
			t.Errorf("%s: a hidden task is answered %d %s, an absent one %d %s", key, hidden.Code, hidden.Body, absent.Code, absent.Body)
		}
	}
	const other = `{"queue":"pay","key":"pay-X9","url":"http://m/n","merchant_no":"M1"}`
	for key, want := range map[string]bool{"all": true, "shop-M1": false, "shop": false} {
		w := m.as(key, "POST", "/v1/tasks", other)
		batch := m.as(key, "POST", "/v1/tasks/batch", `{"tasks":[`+other+`]}`)
		for _, text := range []string{w.Body.String(), batch.Body.String()} {
			if has := strings.Contains(text, "/v1/tasks/"); !strings.Contains(text, `"status":409`) || has != want {
				t.Errorf("%s: a key that is taken: %s; want a conflict, and where the task is: %t", key, text, want)
			}
		}
	}
}

// What a task collides with or waits for is named only to a key that reaches it.
func TestScopeHidesNeighbours(t *testing.T) {
	m, _ := market(t, Options{})
	m.fake.alias = func(task *bellman.Task) string { return "account/" + task.Event }
	first := &bellman.Task{Queue: "pay", MerchantNo: "X9", OrderNo: "O77", Event: "1", URL: "http://m/n", OrderingKey: "line"}
	if added := m.fake.Add(t.Context(), first); added[0].Err != nil {
		t.Fatal(added[0].Err)
	}
	const same = `{"queue":"pay","merchant_no":"M1","event":"1","url":"http://m/n"}`
	for key, want := range map[string]bool{"all": true, "shop-M1": false, "shop": false} {
		for _, w := range []*httptest.ResponseRecorder{m.as(key, "POST", "/v1/tasks", same), m.as(key, "POST", "/v1/tasks/batch", `{"tasks":[`+same+`]}`)} {
			text := w.Body.String()
			if named := strings.Contains(text, "X9/O77") && strings.Contains(text, first.ID.String()); !strings.Contains(text, `"status":409`) || named != want || strings.Contains(text, "O77") != want || strings.Contains(text, first.ID.String()) != want {
				t.Errorf("%s: a number that another order has: %s; want a conflict that names the order: %t", key, text, want)
			}
		}
	}
	m.fake.alias = nil
	w := m.as("shop-M1", "POST", "/v1/tasks", `{"queue":"pay","merchant_no":"M1","url":"http://m/n","ordering_key":"line"}`)
	var waits client.Task
	if err := json.Unmarshal(w.Body.Bytes(), &waits); err != nil || w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for key, want := range map[string]bool{"all": true, "pay": true, "M1": false, "shop-M1": false} {
		if text := m.as(key, "GET", "/v1/tasks/"+waits.ID, "").Body.String(); !strings.Contains(text, waits.ID) || strings.Contains(text, first.ID.String()) != want {
			t.Errorf("%s: a task that waits for one of another merchant: %s; want the other named: %t", key, text, want)
		}
	}
}

// A key changes nothing outside its scope: the engine hears nothing of it.
func TestScopeOfActs(t *testing.T) {
	m, ids := market(t, Options{})
	for _, tt := range []struct {
		key, path, body string
		status          int
		called          string // the beginning of the engine's call; empty: none
	}{
		{"M1", "/v1/tasks/{pay-M1}/cancel", "", 200, "cancel"},
		{"M1", "/v1/tasks/{pay-X9}/cancel", "", 403, ""},
		{"M1", "/v1/tasks/{pay-X9}/resend", "", 403, ""},
		{"M1", "/v1/tasks/{pay-X9}/reschedule", `{"delay":"1m"}`, 403, ""},
		{"M1", "/v1/tasks/{pay-X9}/complete", "", 403, ""},
		{"M1", "/v1/queues/pay/keys/pay-X9/cancel", "", 404, ""},
		{"pay", "/v1/queues/told/keys/told-M1/cancel", "", 403, ""},
		{"M1", "/v1/orders/X9/1/cancel", "", 403, ""},
		{"M1", "/v1/orders/X9/1/complete", `{"outcome":"PAID"}`, 403, ""},
		{"M1", "/v1/orders/X9/1/decide", `{"outcome":"PAID","reason":"seen"}`, 403, ""},
		{"pay", "/v1/orders/X9/1/complete", `{"outcome":"PAID"}`, 404, ""}, // the order's task is of another queue
		{"both", "/v1/orders/X9/1/complete", `{"outcome":"PAID"}`, 200, "complete"},
		{"shop", "/v1/orders/M2/1/complete", `{"outcome":"PAID"}`, 200, "complete"},
		{"shop", "/v1/orders/M2/1/cancel", "", 200, "cancel"},
		{"shop", "/v1/orders/M1/1/complete", `{"outcome":"PAID"}`, 404, ""},
		{"other", "/v1/orders/M2/1/complete", `{"outcome":"PAID"}`, 404, ""},
		{"shop-M1", "/v1/orders/M1/1/complete", `{"outcome":"PAID"}`, 200, "complete"},
		{"shop", "/v1/tasks/{orders-M2}/complete", `{"outcome":"PAID"}`, 200, "complete"},
		{"shop", "/v1/tasks/{orders-M2}/cancel", "", 200, "cancel"},
		{"shop", "/v1/tasks/{pay-M2}/complete", "", 403, ""},
		{"shop", "/v1/tasks/{pay-M2}/cancel", "", 403, ""},
		{"shop", "/v1/tasks/{orders-M1}/complete", `{"outcome":"PAID"}`, 403, ""},
		{"ops", "/v1/tasks/{pay-M2}/complete", "", 200, "complete"},
		{"ops", "/v1/tasks/{orders-M2}/complete", `{"outcome":"PAID"}`, 403, ""},
		{"ops", "/v1/orders/M2/1/complete", `{"outcome":"PAID"}`, 403, ""},
		{"ops", "/v1/orders/M2/1/decide", `{"outcome":"PAID","reason":"seen"}`, 403, ""},
		{"ops", "/v1/tasks/{orders-M2}/cancel", "", 200, "cancel"},
		{"all", "/v1/orders/M2/1/decide", `{"outcome":"PAID","reason":"seen"}`, 200, `decide "PAID" "all" "seen"`},
		{"all", "/v1/orders/M2/1/decide", `{"outcome":"PAID","reason":""}`, 422, ""},
		{"all", "/v1/orders/M2/1/decide", `{"outcome":"PENDING","reason":"seen"}`, 422, ""},
		{"pay", "/v1/queues/pay/pause", "", 200, "pause queue pay"},
		{"pay", "/v1/queues/told/pause", "", 403, ""},
		{"M1", "/v1/queues/pay/pause", "", 403, ""},
		{"pay", "/v1/endpoints/http:%2F%2Fm:80/pause", "", 403, ""},
		{"pay", "/v1/backup", `{"dir":"/copies/1"}`, 403, ""},
	} {
		path := tt.path
		for key, id := range ids {
			path = strings.ReplaceAll(path, "{"+key+"}", id.String())
		}
		w := m.as(tt.key, "POST", path, tt.body)
		called := m.fake.called()
		if w.Code != tt.status || !strings.HasPrefix(called, tt.called) || tt.called == "" && called != "" {
			t.Errorf("%s: POST %s: %d %s, called %q; want %d, %q", tt.key, tt.path, w.Code, w.Body, called, tt.status, tt.called)
		}
	}
}

// What a key asks for outside its limits is in the audit record, as what its role may not do.
func TestScopeRefusalsAreRecorded(t *testing.T) {
	for _, tt := range []struct{ key, method, path, body, want string }{
		{"shop-M1", "POST", "/v1/tasks", `{"queue":"pay","url":"http://m/n","merchant_no":"X9"}`, "refused POST /v1/tasks"},
		{"shop-M1", "POST", "/v1/tasks/batch", `{"tasks":[{"queue":"pay","url":"http://m/n","merchant_no":"X9"},{"queue":"pay","url":"http://m/n","merchant_no":"M1"}]}`, "refused POST /v1/tasks/batch"},
		{"M1", "GET", "/v1/tasks/{pay-X9}", "", "refused GET /v1/tasks/{id}"},
		{"pay", "GET", "/v1/queues/told/keys/told-M1", "", "refused GET /v1/queues/{queue}/keys/{key}"},
		{"pay", "GET", "/v1/events?queue=told", "", "refused GET /v1/events"},
		{"ops", "POST", "/v1/orders/M2/1/complete", `{"outcome":"PAID"}`, "refused POST /v1/orders/{merchant_no}/{order_no}/complete"},
		{"M*", "POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1"},{"merchant_no":"X9","order_no":"1"},{"merchant_no":"X9","order_no":"2"}]}`, "refused POST /v1/orders/settle"},
		{"M1", "POST", "/v1/merchants/batch", `{"merchants":[{"merchant_no":"X9"},{"merchant_no":"M1"}]}`, "refused POST /v1/merchants/batch"},
		{"M1", "GET", "/v1/stats", "", "refused GET /v1/stats"},
		{"shop", "GET", "/v1/tasks", "", "refused GET /v1/tasks"},
		{"shop-M1", "POST", "/v1/tasks", `{"queue":"pay","url":"http://m/n","merchant_no":"M1"}`, ""},
		{"M1", "GET", "/v1/tasks/{pay-M1}", "", ""},
		{"M*", "POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1"},{"merchant_no":"M1","order_no":"none"}]}`, ""},
		{"M1", "POST", "/v1/merchants/batch", `{"merchants":[{"merchant_no":"M1"}]}`, ""},
		{"M1", "GET", "/v1/queues/pay/keys/pay-X9", "", ""}, // answered as one that does not exist
	} {
		var got []string
		m, ids := market(t, Options{Merchants: &scopedDesk{numbers: []string{"M1"}}, Record: func(_ context.Context, a store.Audit) error {
			got = append(got, a.Who+" "+a.Action+" "+a.Target)
			return nil
		}})
		path := tt.path
		for key, id := range ids {
			path = strings.ReplaceAll(path, "{"+key+"}", id.String())
		}
		m.as(tt.key, tt.method, path, tt.body)
		var want []string
		if tt.want != "" {
			want = []string{tt.key + " " + tt.want}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s %s is recorded as %q; want %q", tt.key, tt.method, tt.path, got, want)
		}
	}
}

// Settling many orders answers each: those outside the scope are not asked about.
func TestScopeOfSettle(t *testing.T) {
	m, ids := market(t, Options{})
	body := `{"orders":[{"merchant_no":"M1","order_no":"1"},{"merchant_no":"M2","order_no":"1"},{"merchant_no":"X9","order_no":"1"}]}`
	for key, want := range map[string]string{"M*": "200 200 403", "shop": "404 200 404", "pay": "404 404 404", "all": "200 200 200"} {
		var out client.SettledOrders
		w := m.as(key, "POST", "/v1/orders/settle", body)
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || len(out.Results) != 3 {
			t.Fatalf("%s: %d %s", key, w.Code, w.Body)
		}
		got := fmt.Sprint(out.Results[0].Status, " ", out.Results[1].Status, " ", out.Results[2].Status)
		called := m.fake.called()
		for i, no := range []string{"M1", "M2", "X9"} {
			if asked := strings.Contains(called, ids["orders-"+no].String()); asked != (out.Results[i].Status == 200) {
				t.Errorf("%s: the channel was asked about the order of %s: %t", key, no, asked)
			}
		}
		if got != want {
			t.Errorf("%s: %s; want %s", key, got, want)
		}
	}
}

func TestScopeOfCreates(t *testing.T) {
	m, _ := market(t, Options{})
	for _, tt := range []struct {
		key, body string
		status    int
		want      string
	}{
		{"pay", `{"queue":"pay","url":"http://m/n"}`, 201, ""},
		{"pay", `{"queue":"told","url":"http://m/n"}`, 403, `queue "told" is outside this key's scope: the scope of this key is queues pay`},
		{"pay", `{"queue":"gone","url":"http://m/n"}`, 403, `queue "gone"`},
		{"pay", `{"url":"http://m/n"}`, 422, ""},
		{"shop-M1", `{"queue":"pay","url":"http://m/n","merchant_no":"M1"}`, 201, ""},
		{"shop-M1", `{"queue":"pay","url":"http://m/n","merchant_no":"M10"}`, 403, `merchant "M10" is outside this key's scope: the scope of this key is merchants M1`},
		{"shop-M1", `{"queue":"pay","url":"http://m/n"}`, 403, "a task without merchant_no is outside this key's scope"},
		{"shop-M1", `{"queue":"orders","merchant_no":"M1","order_no":"7"}`, 201, ""},
		{"shop-M1", `{"queue":"orders","merchant_no":"X9","order_no":"7"}`, 403, `merchant "X9"`},
		{"shop-M1", `{"queue":"pay","url":"http://m/n","merchant_no":"M1","ordering_key":"o"}`, 201, ""},
		{"shop-M1", `{"queue":"pay","url":"http://m/n","merchant_no":"M1","ordering_key":"o","supersedes":true}`, 403, "supersedes ends tasks of any merchant"},
		{"star", `{"queue":"pay","url":"http://m/n","ordering_key":"o","supersedes":true}`, 201, ""},
		// The keys of notifications about orders of anybody: if one was taken, that merchant would
		// not be told.
		{"shop-M1", `{"queue":"pay","url":"http://m/n","merchant_no":"M1","key":"orders/X9/7/decided"}`, 422, "own notification of queue orders"},
		{"shop-M1", `{"queue":"pay","url":"http://m/n","merchant_no":"M1","key":"orders/X9/7/late_payment"}`, 422, "own notification of queue orders"},
		{"pay", `{"queue":"pay","url":"http://m/n","key":"orders/X9/7/duplicate_payment/0123456789abcdef"}`, 422, "own notification of queue orders"},
		{"shop-M1", `{"queue":"pay","url":"http://m/n","merchant_no":"M1","key":"pay/X9/7/decided"}`, 201, ""},
		{"shop-M1", `{"queue":"pay","url":"http://m/n","merchant_no":"M1","key":"orders/X9/7/paid"}`, 201, ""},
		{"shop", `{"queue":"pay","url":"http://m/n","key":"orders/X9/8/decided"}`, 422, "own notification of queue orders"},
	} {
		w := m.as(tt.key, "POST", "/v1/tasks", tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), strings.ReplaceAll(tt.want, `"`, `\"`)) {
			t.Errorf("%s creates %s: %d %s; want %d %s", tt.key, tt.body, w.Code, w.Body, tt.status, tt.want)
		}
	}
	w := m.as("shop-M1", "POST", "/v1/tasks/batch", `{"tasks":[{"queue":"pay","url":"http://m/n","merchant_no":"X9"},{"queue":"pay","url":"http://m/n","merchant_no":"M1"}]}`)
	var out client.Batched
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || len(out.Results) != 2 || out.Results[0].Status != 403 || out.Results[1].Status != 201 {
		t.Errorf("a batch with a task outside the scope: %d %s; want 403 for that task alone", w.Code, w.Body)
	}
}

// Nobody takes the key of a notification that bellman adds itself, and nobody writes a notice of a
// channel.
func TestNothingIsForged(t *testing.T) {
	m, _ := market(t, Options{})
	for key, want := range map[string]int{
		"orders/M2/1/decided": 422, "orders/M2/1/undecided": 422, "orders/M2/1/late_payment": 422, "orders/M2/1/duplicate_payment/0f": 422,
		"pay/M2/1/decided": 201, "orders/decided": 201, "M2/1/decided": 201, "orders/M2/1/paid": 201, "orders/M2/1": 201,
	} {
		body := `{"queue":"pay","key":"` + key + `","url":"http://m/n"}`
		w, batch := m.as("all", "POST", "/v1/tasks", body), m.as("all", "POST", "/v1/tasks/batch", `{"tasks":[`+strings.Replace(body, "m/n", "m/o", 1)+`]}`)
		refused := strings.Contains(batch.Body.String(), "body.tasks[0].key") && strings.Contains(w.Body.String(), "body.key")
		if _, err := m.Task([]byte(body), "pay", ""); w.Code != want || refused != (want == 422) || (err != nil) != (want == 422) {
			t.Errorf("the key %s: %d %s, in a batch %s, by a broker %v; want %d", key, w.Code, w.Body, batch.Body, err, want)
		}
	}
	w := m.as("shop", "POST", "/v1/tasks", `{"queue":"pay","merchant_no":"M1","order_no":"1","event":"order.notice","url":"http://m/n","json":{"notice":{"result":"applied","of":"payment","reading":"PAID"}}}`)
	if w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if text := m.as("all", "GET", "/v1/notices", "").Body.String(); strings.Contains(text, "PAID") {
		t.Errorf("a task of kind notify is listed as a notice of a channel: %s", text)
	}
}

// strayCalls are calls that change something of the merchant X9, by operation. Every operation that
// keeps to scopes and changes something is here.
var strayCalls = map[string][]struct{ path, body string }{
	"create-task":     {{"/v1/tasks", `{"queue":"pay","merchant_no":"X9","url":"http://m/n"}`}, {"/v1/tasks", `{"queue":"pay","url":"http://m/n"}`}},
	"create-tasks":    {{"/v1/tasks/batch", `{"tasks":[{"queue":"pay","merchant_no":"X9","url":"http://m/n"}]}`}},
	"resend-task":     {{"/v1/tasks/{pay}/resend", ""}},
	"cancel-task":     {{"/v1/tasks/{pay}/cancel", ""}, {"/v1/tasks/{orders}/cancel", ""}},
	"complete-task":   {{"/v1/tasks/{pay}/complete", ""}, {"/v1/tasks/{orders}/complete", `{"outcome":"PAID"}`}},
	"reschedule-task": {{"/v1/tasks/{pay}/reschedule", `{"delay":"1m"}`}},

	"resend-task-by-key":     {{"/v1/queues/pay/keys/pay-X9/resend", ""}},
	"cancel-task-by-key":     {{"/v1/queues/pay/keys/pay-X9/cancel", ""}},
	"complete-task-by-key":   {{"/v1/queues/pay/keys/pay-X9/complete", ""}},
	"reschedule-task-by-key": {{"/v1/queues/pay/keys/pay-X9/reschedule", `{"delay":"1m"}`}},

	"complete-order": {{"/v1/orders/X9/1/complete", `{"outcome":"PAID"}`}},
	"cancel-order":   {{"/v1/orders/X9/1/cancel", ""}},
	"decide-order":   {{"/v1/orders/X9/1/decide", `{"outcome":"PAID","reason":"seen"}`}},
	"hand-in-notice": {{"/v1/orders/X9/1/notice", `{"body":"x"}`}},
	"settle-orders":  {{"/v1/orders/settle", `{"orders":[{"merchant_no":"X9","order_no":"1"}]}`}},

	"start-resend":  {{"/v1/resends", `{"filter":{"merchant_no":"X9"}}`}, {"/v1/resends", `{"filter":{"merchant_no":"X9"},"dry_run":true}`}},
	"cancel-resend": {{"/v1/resends/{job}/cancel", ""}},
	"pause-queue":   {{"/v1/queues/pay/pause", ""}},
	"resume-queue":  {{"/v1/queues/pay/resume", ""}},

	"put-merchant":           {{"/v1/merchants/X9", "{}"}},
	"put-merchants":          {{"/v1/merchants/batch", `{"merchants":[{"merchant_no":"X9"}]}`}},
	"delete-merchant":        {{"/v1/merchants/X9", ""}},
	"rotate-merchant-secret": {{"/v1/merchants/X9/secrets", `{"secret":"s"}`}},
	"test-merchant":          {{"/v1/merchants/X9/test", ""}},
	"pause-merchant":         {{"/v1/merchants/X9/pause", ""}},
	"resume-merchant":        {{"/v1/merchants/X9/resume", ""}},
}
