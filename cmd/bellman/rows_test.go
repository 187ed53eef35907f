package main

import (
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// Attempts are shown as a part of the schedule only if all of them were scheduled ones.
func TestAttemptsOf(t *testing.T) {
	three := 3
	last := func(trigger string) *client.LastAttempt { return &client.LastAttempt{Trigger: trigger} }
	for _, tt := range []struct {
		name string
		task client.Task
		want string
	}{
		{"none yet", client.Task{State: "pending", MaxAttempts: &three}, "0/3"},
		{"two of three", client.Task{State: "pending", Attempts: 2, Step: 2, MaxAttempts: &three, Last: last("schedule")}, "2/3"},
		{"without end", client.Task{State: "pending", Attempts: 2, Step: 2, Last: last("schedule")}, "2"},
		{"used up", client.Task{State: "failed", Attempts: 3, Step: 3, MaxAttempts: &three, Last: last("schedule")}, "3/3"},
		{"accepted", client.Task{State: "succeeded", Attempts: 2, Step: 1, MaxAttempts: &three, Last: last("schedule")}, "2/3"},
		{"used up, resent once", client.Task{State: "failed", Attempts: 4, Step: 3, MaxAttempts: &three, Last: last("manual")}, "4"},
		{"accepted, resent once", client.Task{State: "succeeded", Attempts: 2, Step: 1, MaxAttempts: &three, Last: last("manual")}, "2"},
		{"restarted", client.Task{State: "pending", Attempts: 3, Step: 1, MaxAttempts: &three, Last: last("schedule")}, "3"},
		{"restarted, more attempts than the schedule has", client.Task{State: "failed", Attempts: 6, Step: 3, MaxAttempts: &three, Last: last("schedule")}, "6"},
		{"resumed, nothing made here", client.Task{State: "pending", Attempts: 2, Step: 2, MaxAttempts: &three}, "2/3"},
	} {
		if got := attemptsOf(&tt.task); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
	}
}
