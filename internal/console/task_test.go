package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
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
		!strings.Contains(got.body, "only a resend attempts it again") || !strings.Contains(got.body, `value="why not"`) {
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
	s.fake.held = map[string]*figures.Pause{"pay": {At: t0, Who: "ann", Reason: "<the bank rests>"}}
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

// A time that is none, and one whose zone is not known, are told apart, with the field.
func TestWhatIsWrongWithATime(t *testing.T) {
	s := open(t)
	page := "/tasks/" + s.task(t).ID.String()
	for _, tt := range []struct{ when, zone, want string }{
		{"soon", "", "Want a duration such as 10m"},
		{"", "", "Want a duration such as 10m"},
		{"-5m", "", `&#34;-5m&#34;: want a duration that is not negative.`},
		{"5000d", "", "want at most 10 years (3650d)"},
		{"5 minutes", "", "with units ms, s, m, h, d"},
		{"90", "", "with units ms, s, m, h, d"},
		{"2026-02-30 10:00", "Asia/Shanghai", "There is no such time as &#34;2026-02-30 10:00&#34;"},
		{"2026-13-01T10:00:00Z", "", "There is no such time as"},
		{"2027-03-14 02:30", "America/New_York", "The clocks of America/New_York never show &#34;2027-03-14 02:30&#34;"},
		{"2026-11-20 16:00", "Asia/Shangai", "The time zone &#34;Asia/Shangai&#34; is not known"},
	} {
		got := s.post(t, page, page, "action", "reschedule", "reason", "r", "when", tt.when, "zone", tt.zone)
		if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, tt.want) || s.fake.called() != "" {
			t.Errorf("%q in %q: %d; want it refused with %q", tt.when, tt.zone, got.StatusCode, tt.want)
		}
	}
	// How far away it may lie is for the engine to say, in its own words.
	for _, when := range []string{"1960-01-01", "9999-01-01 00:00", "2020-01-01T00:00:00Z"} {
		if s.post(t, page, page, "action", "reschedule", "reason", "r", "when", when); !strings.Contains(s.fake.called(), when[:10]) {
			t.Errorf("%s was not left to the engine", when)
		}
	}
}
