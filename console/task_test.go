package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
)

func TestActions(t *testing.T) {
	s := open(t)
	task := s.task(t)
	page := "/tasks/" + task.ID.String()
	for _, tt := range []struct {
		action, reason, when string
		status               int
		called               string
	}{
		{"once", "r", "", 303, `resend ` + task.ID.String() + ` once "" "r"`},
		{"restart", "r", "", 303, `resend ` + task.ID.String() + ` restart "" "r"`},
		{"cancel", " r ", "", 303, `cancel ` + task.ID.String() + ` "" "r"`},
		{"reschedule", "r", "2026-11-20T16:00:00Z", 303, `reschedule ` + task.ID.String() + ` 2026-11-20T16:00:00Z "" "r"`},
		{"reschedule", "r", "2026-11-20 16:00", 303, `reschedule ` + task.ID.String() + ` 2026-11-20T10:30:00Z "" "r"`}, // as the page writes it
		{"reschedule", "r", "2026-11-20 16:00:00", 303, `reschedule ` + task.ID.String() + ` 2026-11-20T10:30:00Z "" "r"`},
		{"reschedule", "r", "2026-11-20 16:00:00 UTC", 303, `reschedule ` + task.ID.String() + ` 2026-11-20T16:00:00Z "" "r"`}, // without the script
		{"reschedule", "r", "soon", 422, ""},
		{"reschedule", "r", "2026-11-31 16:00", 422, ""},
		{"reschedule", "r", "", 422, ""},
		{"once", "", "", 422, ""},
		{"once", strings.Repeat("长", 501), "", 422, ""},
		{"delete", "r", "", 422, ""},
	} {
		got := s.post(t, page, page, "action", tt.action, "reason", tt.reason, "when", tt.when, "zone", "Asia/Kolkata")
		if called := s.fake.called(); got.StatusCode != tt.status || called != tt.called {
			t.Errorf("%s %.10q %q: %d, asked %q; want %d, %q", tt.action, tt.reason, tt.when, got.StatusCode, called, tt.status, tt.called)
		}
	}
	s.fake.fail = coded.Errorf("task.ended", "%w: the task is succeeded already", bellman.ErrConflict)
	if got := s.post(t, page, page, "action", "cancel", "reason", "why not"); got.StatusCode != http.StatusConflict ||
		!strings.Contains(got.body, "The task has ended already.") || !strings.Contains(got.body, `value="why not"`) {
		t.Errorf("what the engine refuses: %d; want 409, why, and the form as it was", got.StatusCode)
	}
	s.fake.fail = fmt.Errorf("secret of the inside")
	if got := s.post(t, page, page, "action", "cancel", "reason", "r"); got.StatusCode != http.StatusInternalServerError || strings.Contains(got.body, "secret of the inside") {
		t.Errorf("an error of the inside: %d, told to the outside", got.StatusCode)
	}
	if !strings.Contains(s.log.String(), "secret of the inside") {
		t.Error("an error of the inside is not in the log")
	}
}

// A task that is not attempted because of a pause says so: its next attempt would look
// forgotten.
func TestPausesAreToldOnTheTask(t *testing.T) {
	s := open(t)
	s.fake.held = map[string]*bellman.Pause{"pay": {At: t0, Who: "ann", Reason: "<the bank rests>"}}
	waits := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", URL: "https://m.example/n"}, t0)
	over := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M2", URL: "https://m.example/n", Status: bellman.Status{State: bellman.Succeeded}}, t0,
		bellman.Attempt{Started: t0, Result: bellman.Accepted, Status: 200})
	other := s.fake.add(t, &bellman.Task{Queue: "other", MerchantNo: "M1", URL: "https://m.example/n"}, t0)
	for task, want := range map[*bellman.Task]bool{waits: true, over: false, other: false} {
		page := s.get(t, "/tasks/"+task.ID.String()).body
		if got := strings.Contains(page, `href="/queues?name=pay">queue/pay</a> · ann · &lt;the bank rests&gt;`); got != want {
			t.Errorf("the page of a task of %s, %s: told of the pause is %t, want %t", task.Queue, task.State, got, want)
		}
	}
}
