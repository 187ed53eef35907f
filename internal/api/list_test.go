package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/store"
)

// What is looked at task by task is filtered too, and no page loses any.
func TestListByWhatIsNotLookedUp(t *testing.T) {
	m := make1(t, Options{})
	const n = 450
	for i := range n {
		task := &bellman.Task{ID: bellman.FirstID(t0.Add(time.Duration(i) * time.Second)), Queue: "q", URL: "http://m.example/"}
		task.Status = bellman.Status{Version: 1, Attempts: 1, Due: t0, VisibleAt: t0, Updated: t0}
		b := store.Batch{Adds: []store.Add{{Task: task}}}
		if err := m.fake.Commit(t.Context(), &b); err != nil || b.Adds[0].Err != nil {
			t.Fatal(err, b.Adds[0].Err)
		}
		a := &bellman.Attempt{Number: 1, Started: t0, Result: bellman.Refused, Status: 200}
		if i%5 == 0 {
			a.Result, a.Status = bellman.ErrorStatus, 503
		}
		to := task.Status
		if i%9 == 0 {
			to.State, to.Finished = bellman.Succeeded, t0.Add(time.Duration(i)*time.Second)
			to.Due, to.VisibleAt = time.Time{}, time.Time{}
		}
		c := store.Batch{Changes: []store.Change{{ID: task.ID, Version: 1, To: to, Attempt: a}}}
		if err := m.fake.Commit(t.Context(), &c); err != nil || c.Changes[0].Err != nil {
			t.Fatal(err, c.Changes[0].Err)
		}
	}
	for query, want := range map[string]int{
		"status=503": n / 5, "result=refused": n - n/5, "result=refused&status=503": 0, "kind=notify": n, "kind=order": 0, "kind=notify&result=error_status": n / 5,
		"finished_from=" + t0.Add(n/2*time.Second).Format(time.RFC3339): n / 2 / 9,
	} {
		seen := map[string]bool{}
		for cursor := ""; ; {
			w := m.do("GET", fmt.Sprintf("/v1/tasks?limit=7&%s&cursor=%s", query, cursor), "")
			var page client.TaskPage
			if err := json.Unmarshal(w.Body.Bytes(), &page); w.Code != 200 || err != nil || len(page.Tasks) > 7 {
				t.Fatalf("%s: %d %s", query, w.Code, w.Body)
			}
			for _, task := range page.Tasks {
				if seen[task.ID] {
					t.Fatalf("%s: task %s comes twice", query, task.ID)
				}
				seen[task.ID] = true
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if len(seen) != want {
			t.Errorf("%s: %d tasks; want %d", query, len(seen), want)
		}
	}
	if w := m.do("GET", "/v1/tasks?created_from=2026-11-21T00:00:00Z&created_to=2026-11-20T00:00:00Z", ""); w.Code != 422 || !strings.Contains(w.Body.String(), "is not before created_to") {
		t.Errorf("from a time to an earlier one: %d %s; want 422, as bulk resends say it", w.Code, w.Body)
	}
	if w := m.do("GET", "/v1/tasks?created_from=2026-11-21T00:00:00Z&created_to=2026-11-21T00:00:00Z", ""); w.Code != 200 {
		t.Errorf("from a time to the same: %d %s; want nothing found", w.Code, w.Body)
	}
	for _, query := range []string{"kind=both", "result=fine", "status=99", "status=x"} {
		if w := m.do("GET", "/v1/tasks?"+query, ""); w.Code != 422 {
			t.Errorf("%s: %d; want 422", query, w.Code)
		}
	}
}
