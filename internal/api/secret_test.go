package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

// Nobody can read the secrets in a task's headers, by id or by key. The requests contain them
// nevertheless.
func TestSecretsAreNotShown(t *testing.T) {
	m := make1(t, Options{})
	w := m.do("POST", "/v1/tasks", `{"queue":"q","key":"k","url":"http://m/n","headers":{"authorization":"Bearer hush","X-Access-Token":"hush","X-Id":"7"}}`)
	id, err := bellman.ParseID(strings.TrimPrefix(w.Header().Get("Location"), "/v1/tasks/"))
	if err != nil || strings.Contains(w.Body.String(), "hush") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/v1/tasks/" + id.String(), "/v1/queues/q/keys/k"} {
		w := m.do("GET", path, "")
		var out struct {
			Request struct{ Headers map[string]string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		h := out.Request.Headers
		if len(h) != 3 || h["authorization"] != "***" || h["X-Access-Token"] != "***" || h["X-Id"] != "***" || strings.Contains(w.Body.String(), "hush") {
			t.Errorf("GET %s shows headers %v", path, h)
		}
	}
	task, err := m.fake.Task(t.Context(), id)
	if err != nil || task.Header["authorization"] != "Bearer hush" || task.Header["X-Access-Token"] != "hush" {
		t.Errorf("the task has headers %v, %v", task.Header, err)
	}
}
