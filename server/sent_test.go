package server_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/config"
)

// An attempt is shown with its request and what the rule wanted, by the API and on its page.
// Secrets are masked, in the signed text too.
func TestAnAttemptIsOpened(t *testing.T) {
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("X-Shop", "s3cr3t")
		w.Header().Set("Set-Cookie", "n3v3r")
		io.WriteString(w, `{"code":"FAIL"}`)
	}))
	defer merchant.Close()
	api, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		q := config.DefaultQueue("signed")
		q.Sign = sign.Config{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{sign.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}}
		c.Queues = append(c.Queues, q)
	})
	defer stop()
	task := create(t, api, client.CreateTask{Queue: "signed", Key: "a/b", URL: merchant.URL + "/n?token=s3cr3t", Headers: map[string]string{"X-Key": "s3cr3t"}, JSON: json.RawMessage(`{"n":1,"password":"s3cr3t"}`)})
	until(t, api, task.ID, func(d *client.TaskDetail) bool { return d.Attempts > 0 })
	for _, ref := range []client.Ref{client.ByID(task.ID), client.ByKey("signed", "a/b")} {
		a, err := api.Attempt(t.Context(), ref, 1)
		if err != nil || a.Sent == nil {
			t.Fatalf("Attempt: %+v, %v", a, err)
		}
		got := *a.Sent
		if got.Method != "POST" || got.URL != merchant.URL+"/n?token=***" || got.Body != `{"n":1,"password":"***"}` || got.Headers["X-Key"] != "***" || got.Headers["Bellman-Attempt"] != "1" ||
			got.Headers["Webhook-Signature"] != "***" || got.Success != "success_text" || !strings.Contains(got.Accepts, `"success"`) || got.SignScheme != sign.StandardWebhooks ||
			!strings.HasPrefix(got.Signed, task.ID+".") || !strings.HasSuffix(got.Signed, `.{"n":1,"password":"***"}`) {
			t.Errorf("%+v; want the request with its secrets masked", got)
		}
		if h := a.ResponseHeaders; h["Retry-After"] != "7" || h["X-Shop"] != "***" || h["Set-Cookie"] != "" || a.Timing.FirstByteMS <= 0 {
			t.Errorf("%+v, first byte after %v ms; want the header with its secrets masked, and the time", h, a.Timing.FirstByteMS)
		}
	}
	var problem *client.Problem
	if _, err := api.Attempt(t.Context(), client.ByID(task.ID), 99); !errors.As(err, &problem) || problem.Status != http.StatusNotFound || !strings.Contains(err.Error(), "attempt 99") {
		t.Errorf("attempt 99: %v; want that there is none", err)
	}
	for path, wants := range map[string][]string{
		"/v1/tasks/" + task.ID + "?attempt=1&reveal=true":      {`s3cr3t\"}`, "/n?token=s3cr3t", `"X-Shop":"s3cr3t"`},
		"/v1/tasks/" + task.ID + "?attempt=1&attempts_after=1": {"either attempt or attempts_after"},
		"/tasks/" + task.ID + "/attempts/1":                    {"Wanted", "with the body &#34;success&#34;", "Standard Webhooks", "Webhook-Signature: ***", task.ID + ".", "&#34;code&#34;: &#34;FAIL&#34;", "Retry-After: 7", "X-Shop: ***", "To the first byte"},
		"/tasks/" + task.ID + "/attempts/99":                   {"no attempt of that number"},
	} {
		_, body := fetch(t, "http://"+s.Addr()+path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q: %s", path, want, body)
			}
		}
		if strings.HasPrefix(path, "/tasks") && strings.Contains(body, "s3cr3t") || strings.Contains(body, "n3v3r") {
			t.Errorf("%s shows a secret: %s", path, body)
		}
	}
}

// The address of a chat robot is a secret, whatever its parameters are called. Its queue has it,
// and only its host is shown.
func TestTheAddressOfARobotIsNotShown(t *testing.T) {
	robot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "success") }))
	defer robot.Close()
	t.Setenv("ROBOT", robot.URL+"/hook/s3cr3t?key=s3cr3t")
	api, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		q := config.DefaultQueue("ops")
		q.URL = "env:ROBOT"
		c.Queues = append(c.Queues, q)
	})
	defer stop()
	task := create(t, api, client.CreateTask{Queue: "ops", JSON: json.RawMessage(`{"text":"down"}`)})
	until(t, api, task.ID, func(d *client.TaskDetail) bool { return d.Attempts > 0 })
	for path, want := range map[string]string{
		"/v1/tasks/" + task.ID + "?attempt=1":             `"url":"` + robot.URL + `/***"`,
		"/v1/tasks/" + task.ID + "?attempt=1&reveal=true": `"url":"` + robot.URL + `/hook/s3cr3t?key=s3cr3t"`,
		"/tasks/" + task.ID + "/attempts/1":               "/<wbr>***</p>",
	} {
		_, text := fetch(t, "http://"+s.Addr()+path)
		if !strings.Contains(text, want) || strings.Contains(text, "s3cr3t") != strings.Contains(path, "reveal") {
			t.Errorf("%s: %s; want %s", path, text, want)
		}
	}
}

// What cannot be built again says why.
func TestAnAttemptAtAChannelIsNotBuiltAgain(t *testing.T) {
	t.Parallel()
	channel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"trade_state":"NOTPAY"}`) }))
	defer channel.Close()
	api, _, stop := serve(t, t.TempDir(), func(c *config.Config) {
		q := config.DefaultOrderQueue("orders")
		q.Order.Query, q.Order.States.Preset = config.Request{Method: "GET", URL: channel.URL + "/{order_no}"}, "wechat_v3"
		q.Order.Close, q.Order.CloseStates.Preset, q.Order.OnExhausted = q.Order.Query, "wechat_v3", "close"
		c.Queues = append(c.Queues, q)
	})
	defer stop()
	task := create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "O1"})
	until(t, api, task.ID, func(d *client.TaskDetail) bool { return d.Attempts > 0 })
	a, err := api.Attempt(t.Context(), client.ByID(task.ID), 1)
	if err != nil || a.Sent == nil || !strings.Contains(a.Sent.Missing, "a channel") || a.Sent.Method != "" {
		t.Errorf("%+v, %v; want that a request to a channel is not built again", a, err)
	}
}
