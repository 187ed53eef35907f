package console

import (
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// A task's page counts attempts as those of the schedule only if they are: manual attempts and
// earlier starts of the schedule do not count.
func TestAttemptsByHandAreNoneOfTheSchedules(t *testing.T) {
	s := open(t)
	const all = "0s, 10s, 10s" // three
	for i, tt := range []struct {
		name string
		last bellman.Trigger
		made int
		to   bellman.Status
		want string
	}{
		{"goes on", bellman.BySchedule, 2, bellman.Status{Step: 2, Due: t0}, "2 of 3"},
		{"used up", bellman.BySchedule, 3, bellman.Status{State: bellman.Failed, Step: 3, Finished: t0}, "3 of 3"},
		{"accepted", bellman.BySchedule, 2, bellman.Status{State: bellman.Succeeded, Step: 1, Finished: t0}, "2 of 3"},
		{"used up, and once more", bellman.ByHand, 4, bellman.Status{State: bellman.Failed, Step: 3, Finished: t0}, "attempts: 4"},
		{"once more while it goes on", bellman.ByHand, 2, bellman.Status{Step: 1, Due: t0}, "attempts: 2 · 1 of 3 of the schedule"},
		{"accepted when it was sent once more", bellman.ByHand, 2, bellman.Status{State: bellman.Succeeded, Step: 1, Finished: t0}, "attempts: 2"},
		{"begun anew", bellman.BySchedule, 5, bellman.Status{Step: 2, Due: t0}, "attempts: 5 · 2 of 3 of the schedule"},
		{"begun anew, and over", bellman.BySchedule, 6, bellman.Status{State: bellman.Failed, Step: 3, Finished: t0}, "attempts: 6"},
	} {
		log := make([]bellman.Attempt, tt.made)
		for i := range log {
			log[i] = bellman.Attempt{Started: t0.Add(time.Duration(i) * time.Second), Result: bellman.Refused, Trigger: bellman.BySchedule}
		}
		log[tt.made-1].Trigger = tt.last
		task := s.fake.add(t, &bellman.Task{Queue: "pay", URL: "http://m.example/", Schedule: all, Status: tt.to}, t0.Add(time.Duration(i)*time.Second), log...)
		page := s.get(t, "/tasks/"+task.ID.String(), "Accept-Language: en").body
		_, got, _ := strings.Cut(page, "<h2>Attempts <small>")
		if got, _, _ = strings.Cut(got, "</small>"); got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}
}
