package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/order"
)

// documented are the paths of the contract that this API serves.
var documented = []string{
	"POST /v1/tasks", "GET /v1/tasks", "POST /v1/tasks/batch", "GET /v1/tasks/{id}",
	"POST /v1/tasks/{id}/resend", "POST /v1/tasks/{id}/cancel", "POST /v1/tasks/{id}/complete", "POST /v1/tasks/{id}/reschedule",
	"GET /v1/queues/{queue}/keys/{key}", "POST /v1/queues/{queue}/keys/{key}/resend", "POST /v1/queues/{queue}/keys/{key}/cancel",
	"POST /v1/queues/{queue}/keys/{key}/complete", "POST /v1/queues/{queue}/keys/{key}/reschedule",
	"POST /v1/resends", "GET /v1/resends", "GET /v1/resends/{id}", "POST /v1/resends/{id}/cancel",
	"POST /v1/reconciliations", "POST /v1/reconciliations/file", "GET /v1/reconciliations", "GET /v1/reconciliations/{id}",
	"GET /v1/reconciliations/{id}/differences", "POST /v1/reconciliations/{id}/settle",
	"GET /v1/queues", "POST /v1/queues/{queue}/pause", "POST /v1/queues/{queue}/resume",
	"GET /v1/endpoints", "POST /v1/endpoints/{host}/pause", "POST /v1/endpoints/{host}/resume",
	"GET /v1/orders/{merchant_no}/{order_no}", "POST /v1/orders/{merchant_no}/{order_no}/complete", "POST /v1/orders/{merchant_no}/{order_no}/cancel",
	"POST /v1/orders/{merchant_no}/{order_no}/decide", "GET /v1/orders", "POST /v1/orders/settle", "POST /v1/orders/{merchant_no}/{order_no}/notice", "GET /v1/notices",
	"PUT /v1/merchants/{merchant_no}", "GET /v1/merchants/{merchant_no}", "DELETE /v1/merchants/{merchant_no}",
	"GET /v1/merchants", "GET /v1/merchant-export", "POST /v1/merchants/batch", "POST /v1/merchants/reseal",
	"GET /v1/merchants/{merchant_no}/stats", "POST /v1/merchants/{merchant_no}/secrets", "POST /v1/merchants/{merchant_no}/test",
	"POST /v1/merchants/{merchant_no}/pause", "POST /v1/merchants/{merchant_no}/resume",
	"PUT /v1/accounts/{account}", "GET /v1/accounts/{account}", "DELETE /v1/accounts/{account}", "GET /v1/accounts", "GET /v1/account-export",
	"POST /v1/accounts/batch", "POST /v1/accounts/{account}/secrets",
	"GET /v1/nodes", "GET /v1/sources", "GET /v1/alarms", "GET /v1/attention", "GET /v1/stats", "GET /v1/events", "GET /v1/audit", "POST /v1/backup",
	"POST /v1/links", "GET /v1/links", "POST /v1/links/{id}/revoke",
	"GET /healthz", "GET /readyz", "GET /metrics", "GET /openapi.json",
}

func TestDocument(t *testing.T) {
	m := make1(t, Options{Metrics: http.HandlerFunc(metricsHandler), Version: "1.2.3"})
	w := m.do("GET", "/openapi.json", "")
	var doc struct {
		OpenAPI string
		Info    struct{ Version string }
		Paths   map[string]map[string]struct {
			OperationID string
			Parameters  []struct {
				Name, In string
				Required bool
			}
			Responses map[string]any
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != 200 {
		t.Fatalf("%d %v", w.Code, err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") || doc.Info.Version != "1.2.3" {
		t.Errorf("OpenAPI %q of version %q", doc.OpenAPI, doc.Info.Version)
	}
	var got []string
	ids := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			got = append(got, strings.ToUpper(method)+" "+path)
			if ids[op.OperationID] || op.OperationID == "" {
				t.Errorf("operation id %q is there twice", op.OperationID)
			}
			ids[op.OperationID] = true
			if op.Responses["default"] == nil || len(op.Responses) < 2 {
				t.Errorf("%s %s: responses %v", method, path, op.Responses)
			}
			for part := range strings.SplitSeq(path, "/") {
				name, is := strings.CutPrefix(part, "{")
				if is && !slices.ContainsFunc(op.Parameters, func(p struct {
					Name, In string
					Required bool
				}) bool {
					return p.In == "path" && p.Required && p.Name+"}" == name
				}) {
					t.Errorf("%s %s: no parameter for %s", method, path, part)
				}
			}
		}
	}
	want := slices.Sorted(slices.Values(documented))
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("documented are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	everyRefLeadsSomewhere(t, w.Body.Bytes())
}

func everyRefLeadsSomewhere(t *testing.T, text []byte) {
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	used := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, is := v["$ref"].(string); is {
				name := strings.TrimPrefix(ref, "#/components/schemas/")
				used[name] = true
				if schemas[name] == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(doc)
	for name := range schemas {
		if !used[name] && name != "Event" {
			t.Errorf("schema %s is not used", name)
		}
	}
}

// Every registered path is requested, and not answered with 404 or 405: the document promises no
// path that is not served.
func TestDocumentedPathsAreServed(t *testing.T) {
	m := make1(t, Options{Metrics: http.HandlerFunc(metricsHandler), Resends: &fakeResends{}, Keys: testKeys})
	for _, path := range documented {
		method, path, _ := strings.Cut(path, " ")
		w := m.do(method, strings.NewReplacer("{id}", "x", "{queue}", "q", "{key}", "k", "{host}", "h", "{merchant_no}", "m", "{order_no}", "o", "{account}", "w").Replace(path), "")
		open := path == "/healthz" || path == "/readyz" || path == "/openapi.json"
		if open && w.Code != 200 || !open && w.Code != 401 {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	}
}

// What is answered is what the document says.
func TestAnswersFitTheirSchemas(t *testing.T) {
	m := make1(t, Options{Resends: &fakeResends{}, Nodes: twoNodes, Kinds: kinds})
	id := scene(t, m)
	m.fake.Add(t.Context(), bareTask())
	m.tried(t, m.place(t, "orders", "M1/1", order.Standing{State: "CLOSED", Late: "PAID"}, ended), "query", 0)
	tests := []struct {
		method, path, body string
		operation          string // a path of the document
	}{
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","json":{}}`, "/v1/tasks"},
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","schedule":"5m*","key":"k"}`, "/v1/tasks"},
		{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n","schedule":"5m*","key":"k"}`, "/v1/tasks"},
		{"POST", "/v1/tasks", `{"queue":1,"x":2}`, "/v1/tasks"},
		{"POST", "/v1/tasks/batch", `{"tasks":[{"queue":"q","url":"http://m/n"},{}]}`, "/v1/tasks/batch"},
		{"GET", "/v1/tasks/" + id, "", "/v1/tasks/{id}"},
		{"GET", "/v1/tasks/x", "", "/v1/tasks/{id}"},
		{"GET", "/v1/queues/merchant-notify/keys/M1001/20261120000001/paid", "", "/v1/queues/{queue}/keys/{key}"},
		{"GET", "/v1/tasks", "", "/v1/tasks"},
		{"POST", "/v1/tasks/" + id + "/resend", "", "/v1/tasks/{id}/resend"},
		{"POST", "/v1/tasks/" + id + "/cancel", "", "/v1/tasks/{id}/cancel"},
		{"POST", "/v1/tasks/" + id + "/reschedule", `{"delay":"5m"}`, "/v1/tasks/{id}/reschedule"},
		{"POST", "/v1/tasks", `{"queue":"orders","merchant_no":"M1","order_no":"2","vars":{"a":"b"},"expires":"1m","notify":{"url":"http://m/n","json":{"a":1}}}`, "/v1/tasks"},
		{"GET", "/v1/queues/orders/keys/M1/2", "", "/v1/queues/{queue}/keys/{key}"},
		{"GET", "/v1/orders/M1/1", "", "/v1/orders/{merchant_no}/{order_no}"},
		{"GET", "/v1/orders/M1/1?settle=1s", "", "/v1/orders/{merchant_no}/{order_no}"},
		{"GET", "/v1/orders/M1/none", "", "/v1/orders/{merchant_no}/{order_no}"},
		{"GET", "/v1/orders/M1001/20261120000001", "", "/v1/orders/{merchant_no}/{order_no}"},
		{"POST", "/v1/orders/M1/1/complete", `{"outcome":"PAID"}`, "/v1/orders/{merchant_no}/{order_no}/complete"},
		{"POST", "/v1/orders/M1/1/decide", `{"outcome":"PAID","reason":"seen at the bank"}`, "/v1/orders/{merchant_no}/{order_no}/decide"},
		{"POST", "/v1/orders/M1/1/decide", `{"outcome":"PAID"}`, "/v1/orders/{merchant_no}/{order_no}/decide"},
		{"POST", "/v1/orders/M1/1/cancel", "", "/v1/orders/{merchant_no}/{order_no}/cancel"},
		{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1"},{"merchant_no":"M1","order_no":"none"}]}`, "/v1/orders/settle"},
		{"GET", "/v1/queues", "", "/v1/queues"},
		{"POST", "/v1/queues/q/pause", "", "/v1/queues/{queue}/pause"},
		{"GET", "/v1/endpoints", "", "/v1/endpoints"},
		{"POST", "/v1/endpoints/merchant.example/resume", "", "/v1/endpoints/{host}/resume"},
		{"GET", "/v1/nodes", "", "/v1/nodes"},
		{"GET", "/v1/stats", "", "/v1/stats"},
		{"GET", "/v1/audit", "", "/v1/audit"},
		{"POST", "/v1/resends", `{"filter":{"queue":"q"}}`, "/v1/resends"},
		{"POST", "/v1/resends", `{"filter":{"queue":"q"},"dry_run":true}`, "/v1/resends"},
		{"GET", "/v1/resends", "", "/v1/resends"},
		{"GET", "/v1/resends/" + resendID.String(), "", "/v1/resends/{id}"},
		{"POST", "/v1/resends/" + resendID.String() + "/cancel", "", "/v1/resends/{id}/cancel"},
		{"POST", "/v1/backup", `{"dir":"/copies/1"}`, "/v1/backup"},
		{"GET", "/readyz", "", "/readyz"},
	}
	for _, tt := range tests {
		w := m.do(tt.method, tt.path, tt.body)
		item := m.doc.Paths[tt.operation]
		op := item.Get
		if tt.method == "POST" {
			op = item.Post
		}
		status := http.StatusText(w.Code)
		response := op.Responses[strings.Fields(w.Result().Status)[0]]
		if response == nil && w.Code >= 400 {
			response = op.Responses["default"]
		}
		if response == nil {
			t.Errorf("%s %s: %d %s is not documented", tt.method, tt.path, w.Code, status)
			continue
		}
		media := response.Content[w.Header().Get("Content-Type")]
		if media == nil || media.Schema == nil {
			t.Errorf("%s %s: %s of a %d is not documented", tt.method, tt.path, w.Header().Get("Content-Type"), w.Code)
			continue
		}
		var v any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
			continue
		}
		var result huma.ValidateResult
		media.Schema.PrecomputeMessages()
		huma.Validate(m.doc.Components.Schemas, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &result)
		for _, err := range result.Errors {
			t.Errorf("%s %s: %v in %s", tt.method, tt.path, err, w.Body)
		}
	}
}

// The limits in the tags of client.CreateTask, which the document shows, are enforced.
func TestLimitsAreDocumented(t *testing.T) {
	limits := map[string]int{
		"Queue": bellman.MaxName, "Key": bellman.MaxKey, "MerchantNo": bellman.MaxName, "OrderNo": bellman.MaxName, "Event": bellman.MaxName, "URL": bellman.MaxURL, "Method": maxMethod,
		"Schedule": bellman.MaxRule, "Success": bellman.MaxRule, "Repeat": maxRepeat, "Delay": maxDuration, "Timeout": maxDuration, "MaxAge": maxDuration,
		"Expires": maxDuration, "CodeLife": maxDuration, "OrderingKey": bellman.MaxKey,
		"ChannelOrderNo": bellman.MaxName, "Account": bellman.MaxName, "Currency": 3, "RefNo": bellman.MaxName,
	}
	m := make1(t, Options{})
	schema := m.doc.Components.Schemas.Map()["CreateTask"]
	for f := range reflect.TypeFor[client.CreateTask]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !slices.Contains(fields[:], name) {
			t.Errorf("%s is not read from a create", name)
		}
		got := 0
		if length := schema.Properties[name].MaxLength; length != nil {
			got = *length
		}
		if got != limits[f.Name] {
			t.Errorf("%s: documented limit %d; kept %d", name, got, limits[f.Name])
		}
	}
	if n := reflect.TypeFor[client.CreateTask]().NumField(); n != len(fields) {
		t.Errorf("client.CreateTask has %d fields, %d are read", n, len(fields))
	}
}
