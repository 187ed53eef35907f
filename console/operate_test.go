package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

func TestPausing(t *testing.T) {
	s := open(t)
	s.fake.queues = []bellman.QueueInfo{{Name: "pay", Kind: "notify"}}
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
