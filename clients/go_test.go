package clients_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// calls are what package client has for each operation of the document.
func calls(ctx context.Context, c *client.Client) map[string]func() error {
	task, keyed, order := client.ByID("1"), client.ByKey("q", "k"), client.OrderRef{MerchantNo: "m", OrderNo: "o"}
	why := client.Because{}
	return map[string]func() error{
		"create-task":            func() error { _, _, err := c.Create(ctx, client.CreateTask{}); return err },
		"create-tasks":           func() error { _, err := c.CreateBatch(ctx, nil); return err },
		"list-tasks":             func() error { return ended(c.Tasks(ctx, client.Filter{})) },
		"get-task":               func() error { _, err := c.Task(ctx, task); return err },
		"get-task-by-key":        func() error { _, err := c.AttemptsAfter(ctx, keyed, 1); return err },
		"resend-task":            func() error { _, err := c.Resend(ctx, task, client.ResendTask{}); return err },
		"resend-task-by-key":     func() error { _, err := c.Resend(ctx, keyed, client.ResendTask{}); return err },
		"cancel-task":            func() error { _, err := c.Cancel(ctx, task, why); return err },
		"cancel-task-by-key":     func() error { _, err := c.Cancel(ctx, keyed, why); return err },
		"complete-task":          func() error { _, err := c.Complete(ctx, task, client.CompleteTask{}); return err },
		"complete-task-by-key":   func() error { _, err := c.Complete(ctx, keyed, client.CompleteTask{}); return err },
		"reschedule-task":        func() error { _, err := c.Reschedule(ctx, task, client.RescheduleTask{}); return err },
		"reschedule-task-by-key": func() error { _, err := c.Reschedule(ctx, keyed, client.RescheduleTask{}); return err },
		"start-resend":           func() error { _, err := c.StartResend(ctx, client.BulkResend{}); return err },
		"list-resends":           func() error { _, err := c.BulkResends(ctx); return err },
		"get-resend":             func() error { _, err := c.BulkResend(ctx, "1"); return err },
		"cancel-resend":          func() error { _, err := c.CancelResend(ctx, "1", why); return err },
		"get-order":              func() error { _, err := c.Order(ctx, order, 0); return err },
		"decide-order":           func() error { _, err := c.DecideOrder(ctx, order, client.DecideOrder{}); return err },
		"complete-order":         func() error { _, err := c.CompleteOrder(ctx, order, client.CompleteTask{}); return err },
		"cancel-order":           func() error { _, err := c.CancelOrder(ctx, order, why); return err },
		"settle-orders":          func() error { _, err := c.SettleOrders(ctx, nil, 0, why); return err },
		"put-merchant":           func() error { _, _, err := c.PutMerchant(ctx, "m", client.PutMerchant{}); return err },
		"put-merchants":          func() error { _, err := c.PutMerchants(ctx, client.MerchantBatch{}); return err },
		"get-merchant":           func() error { _, err := c.Merchant(ctx, "m"); return err },
		"merchant-stats":         func() error { _, err := c.MerchantStats(ctx, "m"); return err },
		"delete-merchant":        func() error { return c.DeleteMerchant(ctx, "m", "") },
		"list-merchants":         func() error { return ended(c.AllMerchants(ctx, client.MerchantSearch{})) },
		"export-merchants":       func() error { _, err := c.Merchants(ctx, client.MerchantSearch{Sealed: true}); return err },
		"rotate-merchant-secret": func() error { _, err := c.RotateMerchant(ctx, "m", client.RotateMerchant{}); return err },
		"reseal-merchants":       func() error { _, err := c.ResealMerchants(ctx, why); return err },
		"test-merchant":          func() error { _, err := c.TestMerchant(ctx, "m", client.TestMerchant{}); return err },
		"pause-merchant":         func() error { return c.PauseMerchant(ctx, "m", why) },
		"resume-merchant":        func() error { return c.ResumeMerchant(ctx, "m", why) },
		"put-account":            func() error { _, _, err := c.PutAccount(ctx, "a", client.PutAccount{}); return err },
		"put-accounts":           func() error { _, err := c.PutAccounts(ctx, client.AccountBatch{}); return err },
		"get-account":            func() error { _, err := c.Account(ctx, "a"); return err },
		"delete-account":         func() error { return c.DeleteAccount(ctx, "a", "") },
		"list-accounts":          func() error { return ended(c.AllAccounts(ctx, client.AccountSearch{})) },
		"export-accounts":        func() error { _, err := c.Accounts(ctx, client.AccountSearch{Sealed: true}); return err },
		"rotate-account-secrets": func() error { _, err := c.RotateAccount(ctx, "a", client.RotateAccount{}); return err },
		"make-link":              func() error { _, err := c.MakeLink(ctx, client.MakeLink{}); return err },
		"list-links":             func() error { _, err := c.Links(ctx, ""); return err },
		"revoke-link":            func() error { _, err := c.RevokeLink(ctx, "1", why); return err },
		"list-queues":            func() error { _, err := c.Queues(ctx); return err },
		"pause-queue":            func() error { return c.PauseQueue(ctx, "q", why) },
		"resume-queue":           func() error { return c.ResumeQueue(ctx, "q", why) },
		"list-orders":            func() error { return ended(c.Orders(ctx, client.OrderFilter{})) },
		"list-notices":           func() error { _, err := c.ListNotices(ctx, client.NoticeFilter{}); return err },
		"hand-in-notice":         func() error { _, err := c.HandInNotice(ctx, order, client.HandIn{}); return err },
		"start-reconciliation":   func() error { _, err := c.Reconcile(ctx, client.StartReconciliation{}); return err },
		"reconcile-file": func() error {
			_, err := c.ReconcileFile(ctx, client.StartReconciliation{}, "", strings.NewReader("x"))
			return err
		},
		"list-reconciliations":  func() error { _, err := c.Reconciliations(ctx); return err },
		"get-reconciliation":    func() error { _, err := c.Reconciliation(ctx, "1"); return err },
		"list-differences":      func() error { _, err := c.Differences(ctx, "1", "", 0, ""); return err },
		"settle-reconciliation": func() error { _, err := c.SettleReconciliation(ctx, "1", why); return err },
		"list-endpoints":        func() error { _, err := c.Endpoints(ctx); return err },
		"pause-endpoint":        func() error { _, err := c.PauseEndpoint(ctx, "h", why); return err },
		"resume-endpoint":       func() error { _, err := c.ResumeEndpoint(ctx, "h", why); return err },
		"list-nodes":            func() error { _, err := c.Nodes(ctx); return err },
		"list-sources":          func() error { _, err := c.Sources(ctx); return err },
		"list-alarms":           func() error { _, err := c.Alarms(ctx); return err },
		"list-attention":        func() error { _, err := c.Attention(ctx); return err },
		"list-audits":           func() error { return ended(c.Audits(ctx, client.AuditFilter{})) },
		"stats":                 func() error { _, err := c.Stats(ctx, 0); return err },
		"events":                func() error { return ended(c.Events(ctx, "")) },
		"backup":                func() error { return c.Backup(ctx, "/d", why) },
		"healthz":               func() error { return c.Health(ctx) },
		"readyz":                func() error { return c.Ready(ctx) },
		"metrics":               func() error { _, err := c.Metrics(ctx); return err },
		"openapi":               func() error { _, err := c.OpenAPI(ctx); return err },
	}
}

// ended goes through all that an iterator yields, and returns its error.
func ended[T any](all func(func(T, error) bool)) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// Package client has a call for every operation of the document, and each call uses the path of the
// document.
func TestGoHasEveryOperation(t *testing.T) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var sent string
	c, err := client.New(client.Options{HTTP: &http.Client{Transport: transport(func(r *http.Request) *http.Response {
		sent = r.Method + " " + r.URL.EscapedPath()
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}
	})}})
	if err != nil {
		t.Fatal(err)
	}
	known := calls(t.Context(), c)
	operations := 0
	for path, item := range doc.Paths {
		for method, op := range item {
			operations++
			call := known[op.OperationID]
			if call == nil {
				t.Errorf("package client has no call for %s %s: write one, and name it in calls as %q", method, path, op.OperationID)
				continue
			}
			sent = ""
			if err := call(); err != nil {
				t.Errorf("%s: %v", op.OperationID, err)
			}
			want := "^" + strings.ToUpper(method) + " " + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "[^/]+") + "$"
			if !regexp.MustCompile(want).MatchString(sent) {
				t.Errorf("%s asks for %s; want %s", op.OperationID, sent, want)
			}
		}
	}
	if operations != len(known) {
		t.Errorf("calls has %d operations, the document %d", len(known), operations)
	}
}
