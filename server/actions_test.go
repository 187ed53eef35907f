package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
)

// unrecorded are the operations that change something and are made by programs, not by people.
var unrecorded = []string{"hand-in-notice", "create-task", "create-tasks"}

// Every manual action over the API leaves an audit record with who did it, why, and from where. A
// new operation fails here until the test makes it.
func TestEveryActionIsRecorded(t *testing.T) {
	merchant := openNotified(t, "success")
	private, public := keyFiles(t, newProvider(t))
	_, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		c.Keys = []access.Key{{Name: "root", Role: "admin", SHA256: sha256.Sum256([]byte("root-key"))}}
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.MasterKeys = []sign.Secret{sign.NewSecret(base64.StdEncoding.EncodeToString(make([]byte, 32)))}
		with, err := config.Parse(fmt.Appendf(nil, `
queues:
  default: {}
  billed: {kind: order, channel: {kind: wechatpay, url: "%[1]s", mch_id: "1", serial: AB, private_key: "file:%[2]s", platform_keys: {PUB_KEY_ID_01: "file:%[3]s"}}, on_exhausted: alert}
  orders: {kind: order, query: {method: GET, url: "%[1]s/{order_no}"}, close: {method: POST, url: "%[1]s/{order_no}/close"}, states: wechat_v3, close_states: wechat_v3, on_exhausted: alert}
`, merchant.URL, private, public))
		if err != nil {
			t.Fatal(err)
		}
		c.Queues = with.Queues
	})
	defer stop()
	call := func(method, path, body string) (int, string) {
		t.Helper()
		return exchange(t, s, method, path, body, "Authorization", "Bearer root-key", "X-Forwarded-For", "198.51.100.7")
	}
	task := func() string {
		status, body := call("POST", "/v1/tasks", fmt.Sprintf(`{"queue":"default","url":%q,"merchant_no":"M1","delay":"1h"}`, merchant.URL))
		var made client.Task
		if err := json.Unmarshal([]byte(body), &made); err != nil || status != 201 {
			t.Fatalf("%d %s", status, body)
		}
		return made.ID
	}
	order := func(no string) string {
		if status, body := call("POST", "/v1/tasks", fmt.Sprintf(`{"queue":"orders","merchant_no":"M1","order_no":%q,"delay":"1h"}`, no)); status != 201 {
			t.Fatalf("%d %s", status, body)
		}
		return "/v1/orders/M1/" + no
	}
	ofJSON := func(body, field string) string {
		var out map[string]any
		if err := json.Unmarshal([]byte(body), &out); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(out[field])
	}
	put, err := json.Marshal(newSeller(t, "1900000001", "").put())
	if err != nil {
		t.Fatal(err)
	}
	account := strings.TrimSuffix(strings.TrimPrefix(string(put), "{"), "}")
	link, resend, reconciliation := "", "", ""
	because := func(name string) string { return `{"reason":"for ` + name + `"}` }
	dir := t.TempDir() + "/copy"
	tries := []struct{ name, action, method, path, body string }{
		{"resend-task", "resend", "POST", "/v1/tasks/" + task() + "/resend", ""},
		{"reschedule-task", "reschedule", "POST", "/v1/tasks/" + task() + "/reschedule", `{"delay":"2h","reason":"for reschedule-task"}`},
		{"cancel-task", "cancel", "POST", "/v1/tasks/" + task() + "/cancel", ""},
		{"complete-task", "complete", "POST", "/v1/tasks/" + task() + "/complete", ""},
		{"complete-order", "complete", "POST", order("O1") + "/complete", `{"outcome":"PAID","reason":"for complete-order"}`},
		{"decide-order", "decide", "POST", order("O3") + "/decide", `{"outcome":"PAID","reason":"for decide-order"}`},
		{"cancel-order", "cancel", "POST", order("O2") + "/cancel", ""},
		{"settle-orders", "settle", "POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"O1"}],"wait":"5s","reason":"for settle-orders"}`},
		{"start-resend", "resend", "POST", "/v1/resends", `{"filter":{"merchant_no":"M1"},"rate":"1/h","reason":"for start-resend"}`},
		{"cancel-resend", "cancel", "POST", "/v1/resends/{resend}/cancel", ""},
		{"start-reconciliation", "reconcile", "POST", "/v1/reconciliations", `{"queue":"billed","date":"2026-11-20","reason":"for start-reconciliation"}`},
		{"reconcile-file", "reconcile", "POST", "/v1/reconciliations/file?queue=orders&date=2026-11-20&map=channel_order_no=no,amount=fee&reason=for+reconcile-file", "no,fee\nB1,100\n"},
		{"settle-reconciliation", "settle", "POST", "/v1/reconciliations/{reconciliation}/settle", ""},
		{"make-link", "link", "POST", "/v1/links", `{"merchant_no":"M1","reason":"for make-link"}`},
		{"revoke-link", "revoke", "POST", "/v1/links/{link}/revoke", ""},
		{"pause-queue", "pause", "POST", "/v1/queues/default/pause", ""},
		{"resume-queue", "resume", "POST", "/v1/queues/default/resume", ""},
		{"pause-endpoint", "pause", "POST", "/v1/endpoints/shop.example/pause", ""},
		{"resume-endpoint", "resume", "POST", "/v1/endpoints/shop.example/resume", ""},
		{"put-merchant", "put", "PUT", "/v1/merchants/M1", fmt.Sprintf(`{"notify_url":%q,"sign":{"scheme":"hmac_sha256_params","secrets":["the first secret of M1"]},"reason":"for put-merchant"}`, merchant.URL)},
		{"put-merchants", "import", "POST", "/v1/merchants/batch", `{"merchants":[{"merchant_no":"M2"}],"reason":"for put-merchants"}`},
		{"rotate-merchant-secret", "rotate", "POST", "/v1/merchants/M1/secrets", `{"secret":"the second secret of M1","reason":"for rotate-merchant-secret"}`},
		{"reseal-merchants", "reseal", "POST", "/v1/merchants/reseal", ""},
		{"test-merchant", "test", "POST", "/v1/merchants/M1/test", `{"queue":"default","reason":"for test-merchant"}`},
		{"pause-merchant", "pause", "POST", "/v1/merchants/M1/pause", ""},
		{"resume-merchant", "resume", "POST", "/v1/merchants/M1/resume", ""},
		{"delete-merchant", "delete", "DELETE", "/v1/merchants/M1?reason=for+delete-merchant", ""},
		{"put-account", "put", "PUT", "/v1/accounts/A1", fmt.Sprintf(`{%s,"reason":"for put-account"}`, account)},
		{"put-accounts", "import", "POST", "/v1/accounts/batch", fmt.Sprintf(`{"accounts":[{"account":"A2",%s}],"reason":"for put-accounts"}`, account)},
		{"rotate-account-secrets", "rotate", "POST", "/v1/accounts/A1/secrets", `{"api_v3_key":"0123456789abcdef0123456789abcdef","reason":"for rotate-account-secrets"}`},
		{"delete-account", "delete", "DELETE", "/v1/accounts/A1?reason=for+delete-account", ""},
		{"backup", "backup", "POST", "/v1/backup", fmt.Sprintf(`{"dir":%q,"reason":"for backup"}`, dir)},
	}
	for _, try := range tries {
		body := try.body
		if body == "" && try.method == "POST" {
			body = because(try.name)
		}
		path := strings.NewReplacer("{link}", link, "{resend}", resend, "{reconciliation}", reconciliation).Replace(try.path)
		status, answer := call(try.method, path, body)
		if status >= 300 {
			t.Errorf("%s: %d %s", try.name, status, answer)
			continue
		}
		switch try.name {
		case "make-link":
			link = ofJSON(answer, "id")
		case "reconcile-file":
			reconciliation = ofJSON(answer, "id")
		case "start-resend":
			resend = ofJSON(answer, "id")
		}
	}
	status, text := call("GET", "/v1/audit?limit=200", "")
	var page client.AuditPage
	if err := json.Unmarshal([]byte(text), &page); err != nil || status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	var tried []string
	for _, try := range tries {
		tried = append(tried, try.name)
		if !slices.ContainsFunc(page.Audits, func(a client.Audit) bool {
			return a.Who == "root" && a.Action == try.action && strings.HasPrefix(a.Reason, "for "+try.name) && a.From == "198.51.100.7"
		}) {
			t.Errorf("%s leaves no record of %q by root for its reason, from 198.51.100.7", try.name, try.action)
		}
	}
	if t.Failed() {
		t.Logf("the records are %s", text)
	}
	for _, name := range operations(t, call) {
		name = strings.TrimSuffix(name, "-by-key") // the same, for whoever has no id
		if !slices.Contains(tried, name) && !slices.Contains(unrecorded, name) {
			t.Errorf("nobody looked whether %s leaves a record", name)
		}
	}
}

// operations are those of the API that take the role operate or admin, by their ids.
func operations(t *testing.T, call func(method, path, body string) (int, string)) (names []string) {
	t.Helper()
	_, text := call("GET", "/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Description string `json:"description"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, methods := range doc.Paths {
		for method, op := range methods {
			if method != "get" {
				names = append(names, op.OperationID)
			}
		}
	}
	if len(names) < 20 {
		t.Fatalf("the document has %d operations: %q", len(names), names)
	}
	return names
}
