package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// The page's configuration, with its service and its robot on loopback: each end of a
// notification reaches the one that it is for, once.
func TestResults(t *testing.T) {
	type request struct{ path, typed, body string }
	told := make(chan request, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/accepts":
			io.WriteString(w, "success")
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusGone)
		case r.URL.Path == "/robot" && !strings.Contains(string(body), "bellman: "):
			io.WriteString(w, `{"errcode":310000,"errmsg":"keywords not in content"}`)
		case r.URL.Path == "/robot":
			told <- request{r.URL.Path, r.Header.Get("Content-Type"), string(body)}
			io.WriteString(w, `{"errcode":0,"errmsg":"ok"}`)
		default:
			told <- request{r.URL.Path, r.Header.Get("Content-Type"), string(body)}
			io.WriteString(w, "success")
		}
	}))
	defer receiver.Close()
	t.Setenv("DINGTALK_ROBOT", receiver.URL+"/robot?access_token=secret")
	page, err := os.ReadFile(filepath.Join("..", "docs", "results.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/results.md has no configuration")
	}
	text := strings.ReplaceAll(string(block[1]), "http://platform.internal", receiver.URL)
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckSecrets(); err != nil {
		t.Fatal(err)
	}
	api, _, stop := serve(t, t.TempDir(), func(to *config.Config) { to.Queues = c.Queues })
	defer stop()

	next := func() request {
		t.Helper()
		select {
		case r := <-told:
			return r
		case <-time.After(patient):
			t.Fatal("nothing was told")
			return request{}
		}
	}
	done := create(t, api, client.CreateTask{Queue: "merchant-notify", MerchantNo: "M1", OrderNo: "7", URL: receiver.URL + "/accepts"})
	got := next()
	var event struct {
		SpecVersion, Type, ID, Subject string
		Data                           client.Task
	}
	if err := json.Unmarshal([]byte(got.body), &event); err != nil {
		t.Fatalf("%v: %s", err, got.body)
	}
	if got.path != "/results" || !strings.HasPrefix(got.typed, "application/cloudevents+json") || event.SpecVersion != "1.0" ||
		event.Type != "bellman.task.succeeded" || event.Subject != done.ID || event.ID != done.ID+"/succeeded/1" {
		t.Errorf("told %+v; want a CloudEvent at /results that says that %s succeeded", got, done.ID)
	}
	if d := event.Data; d.ID != done.ID || d.State != "succeeded" || d.MerchantNo != "M1" || d.Last == nil || d.Last.Result != "accepted" || d.Finished == nil {
		t.Errorf("its data is %+v; want the task as it ended, with its last attempt", d)
	}

	gone := create(t, api, client.CreateTask{Queue: "merchant-notify", MerchantNo: "M1", OrderNo: `8"\`, URL: receiver.URL + "/gone"})
	got = next()
	var chat struct {
		MsgType string
		Text    struct{ Content string }
	}
	if err := json.Unmarshal([]byte(got.body), &chat); err != nil || got.path != "/robot" || chat.MsgType != "text" ||
		!strings.HasPrefix(chat.Text.Content, `bellman: merchant-notify gave up on order 8"\ of M1: `) {
		t.Errorf("told %+v, %v; want the robot's words at /robot", got, err)
	}
	if !strings.HasSuffix(chat.Text.Content, ": gave_up") {
		t.Errorf("the robot says %q; want the reason at its end", chat.Text.Content)
	}
	result, err := api.Task(t.Context(), client.ByKey("alerts", gone.ID+"/failed/1"))
	if err != nil {
		t.Fatal(err)
	}
	result = until(t, api, result.ID, func(t *client.TaskDetail) bool { return t.State != "pending" })
	if result.State != "succeeded" || result.Attempts != 1 || result.URL != "" || result.MerchantNo != "" {
		t.Errorf("the result is %+v; want it accepted at once, without an address or a merchant of its own", result.Task)
	}
	if left := len(told); left != 0 {
		t.Errorf("%d more were told; want each end once", left)
	}
}
