package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store/memory"
)

func TestPausing(t *testing.T) {
	s := open(t)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify"}}
	if got := s.post(t, "/queues", "/queues", "name", "pay", "action", "pause", "reason", "why"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("pause: %d", got.StatusCode)
	}
	if got := s.post(t, "/queues", "/queues", "name", "pay", "action", "pause"); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("pause without a reason: %d", got.StatusCode)
	}
	name := "https://m.example:443"
	if got := s.post(t, "/endpoints?name="+url.QueryEscape(name), "/endpoints", "name", name, "action", "resume", "reason", "why"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("resume: %d", got.StatusCode)
	}
	if got, want := strings.ReplaceAll(s.fake.called(), "figures; ", ""), `pause queue pay "" "why"; resume endpoint https://m.example:443 "" "why"`; got != want {
		t.Errorf("the engine was asked %s; want %s", got, want)
	}
	// Without a name the form says what it lacks, and the name can be typed.
	for page, want := range map[string]string{"/queues": "Choose a queue.", "/endpoints": "Give the endpoint, such as https://merchant.example:443."} {
		got := s.post(t, page, page, "name", " ", "action", "pause", "reason", "why")
		if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, want) || !strings.Contains(got.body, ` name="name"`) {
			t.Errorf("%s: pause nothing: %d; want it refused with %q", page, got.StatusCode, want)
		}
	}
	if got := strings.ReplaceAll(s.fake.called(), "figures", ""); strings.Trim(got, "; ") != "" {
		t.Errorf("without a name the engine was asked %s", got)
	}
}

// Whoever resumes what is not paused is told so: a name may be mistyped.
func TestResumingWhatIsNotPaused(t *testing.T) {
	s := open(t)
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify"}}
	s.fake.ends = bellman.ErrNotPaused
	for _, page := range []string{"/queues", "/endpoints"} {
		got := s.post(t, page, page, "name", "pay", "action", "resume", "reason", "why")
		if next := s.get(t, page); got.StatusCode != http.StatusSeeOther || !strings.Contains(next.body, "It was not paused: nothing was done.") {
			t.Errorf("%s: %d, and the page does not say that it was not paused", page, got.StatusCode)
		}
	}
}

// oneResend is a bulk resend in some state, which may end before it can be stopped.
type oneResend struct {
	resend.Desk
	job   resend.Job
	late  bool
	asked int // how often it was asked to stop
}

func (o *oneResend) Get(context.Context, bellman.ID) (resend.Job, error) { return o.job, nil }

func (o *oneResend) Cancel(context.Context, bellman.ID, bellman.By) (resend.Job, error) {
	o.asked++
	if o.job.State = resend.Cancelled; o.late {
		o.job.State = resend.Done
	}
	return o.job, nil
}

// Only tasks that were stopped are reported as stopped. Tasks that had ended stay as they are, and
// every refusal has its reason.
func TestStopping(t *testing.T) {
	for _, tt := range []struct {
		state  resend.State
		late   bool
		reason string
		status int
		asked  int
		want   string
	}{
		{resend.Running, false, "why", 303, 1, "The bulk resend was stopped."},
		{resend.Running, true, "why", 303, 1, "It had ended already: nothing was done."},
		{resend.Running, false, "", 422, 0, "Say why, in 500 characters at most"},
		{resend.Done, false, "why", 303, 0, "It had ended already: nothing was done."},
		{resend.Done, false, "", 303, 0, "It had ended already: nothing was done."},
		{resend.Cancelled, false, "why", 303, 0, "It had ended already: nothing was done."},
	} {
		jobs := &oneResend{job: resend.Job{ID: bellman.NewID(), State: tt.state, Rate: 1, Created: t0}, late: tt.late}
		s := openWith(t, &fake{Store: memory.New()}, Options{Resends: jobs})
		page := "/resends/" + jobs.job.ID.String()
		got := s.post(t, page, page, "reason", tt.reason)
		body := got.body
		if got.StatusCode == http.StatusSeeOther {
			body = s.get(t, page).body
		}
		if got.StatusCode != tt.status || jobs.asked != tt.asked || !strings.Contains(body, tt.want) {
			t.Errorf("%s, late %t, for the reason %q: %d, asked %d times; want %d, %d, and %q", tt.state, tt.late, tt.reason, got.StatusCode, jobs.asked, tt.status, tt.asked, tt.want)
		}
	}

	// A link that shows nothing any more is not revoked.
	s := openLinks(t)
	page, _ := s.makeLink(t, "A-1")
	for i, want := range []string{"The link was revoked.", "It had ended already: nothing was done."} {
		if got := s.post(t, page, page, "reason", "sent to the wrong one"); got.StatusCode != http.StatusSeeOther || !strings.Contains(s.get(t, page).body, want) {
			t.Errorf("revoked %d times: %d; want %q", i+1, got.StatusCode, want)
		}
	}
}
