package api

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/alarm"
)

// twoAlarms are one that is raised, and one that is over.
type twoAlarms struct{ err error }

func (twoAlarms) Rules() []alarm.Rule {
	return []alarm.Rule{
		{Name: "late", When: "overdue", Queue: "pay", Above: 60, For: 30 * time.Second, To: "ops"},
		{Name: "endpoint-failing", When: "endpoint_failing", For: 10 * time.Minute, To: "ops"},
	}
}

func (a twoAlarms) List(context.Context) ([]alarm.Alarm, error) {
	return []alarm.Alarm{
		{ID: "endpoint-failing/ab", Name: "endpoint-failing", When: "endpoint_failing", Endpoint: "https://m.example:443", Value: 97.5, Since: t0, To: "ops", Untold: "there is no queue ops"},
		{ID: "late", Name: "late", When: "overdue", Queue: "pay", Above: 60, Value: 61.5, Since: t0, Until: t0.Add(time.Hour), Ended: t0.Add(2 * time.Hour), Reason: "over", To: "ops"},
	}, a.err
}

func TestAlarms(t *testing.T) {
	if w := make1(t, Options{}).do("GET", "/v1/alarms", ""); w.Code != http.StatusOK || w.Body.String() != `{"rules":[],"alarms":[]}`+"\n" {
		t.Errorf("where there are none: %d %s", w.Code, w.Body)
	}
	if w := make1(t, Options{Alarms: twoAlarms{errors.New("disk")}}).do("GET", "/v1/alarms", ""); w.Code != http.StatusInternalServerError {
		t.Errorf("where they cannot be read: %d %s", w.Code, w.Body)
	}
}
