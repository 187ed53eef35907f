package api

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store"
)

// fakeResends has one job.
type fakeResends struct {
	started resend.Job
	fail    error
}

var resendID = bellman.FirstID(t0)

func (f *fakeResends) job() resend.Job {
	failed := bellman.Failed
	return resend.Job{
		ID: resendID, Filter: resend.Pick{Filter: store.Filter{Queue: "q", State: &failed, CreatedTo: t0}}, Mode: engine.ResendOnce, Rate: 50,
		Who: "ops", Reason: "outage", State: "running", Created: t0, Updated: t0.Add(time.Second),
		Examined: 10, Resent: 7, Skipped: 2, Failed: 1, LastError: "gone",
	}
}

func (f *fakeResends) Count(context.Context, resend.Pick, int, time.Duration) (resend.Count, error) {
	return resend.Count{Tasks: 3, Merchants: 2, Top: []resend.MerchantCount{{MerchantNo: "M1", Tasks: 2}, {MerchantNo: "", Tasks: 1}}, Oldest: t0, Newest: t0.Add(time.Hour)}, f.fail
}

func (f *fakeResends) Start(_ context.Context, in resend.Job) (resend.Job, error) {
	f.started = in
	return f.job(), f.fail
}

func (f *fakeResends) Get(_ context.Context, id bellman.ID) (resend.Job, error) {
	if id != resendID {
		return resend.Job{}, bellman.ErrNotFound
	}
	return f.job(), f.fail
}

func (f *fakeResends) List(context.Context, int) ([]resend.Job, error) {
	return []resend.Job{f.job()}, f.fail
}

func (f *fakeResends) Cancel(ctx context.Context, id bellman.ID, _ bellman.By) (resend.Job, error) {
	j, err := f.Get(ctx, id)
	j.State, j.Finished = "cancelled", t0.Add(time.Minute)
	return j, err
}

func TestStartResend(t *testing.T) {
	f := &fakeResends{}
	m := make1(t, Options{Resends: f})
	w := m.do("POST", "/v1/resends", `{"filter":{"queue":"q","state":"failed","created_from":"2026-11-20T00:00:00+08:00","kind":"notify","result":"timeout","status":504},"mode":"restart","reason":"outage","rate":"30/m"}`)
	if w.Code != 202 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	got, err := json.Marshal(f.started.Filter)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"queue":"q","state":"failed","created_from":"2026-11-19T16:00:00Z","kind":"notify","result":"timeout","status":504}`; string(got) != want {
		t.Errorf("filter %s; want %s", got, want)
	}
	if s := f.started; s.Rate != 0.5 || s.Mode != engine.ResendRestart || s.Reason != "outage" {
		t.Errorf("started %+v", s)
	}
	f.started = resend.Job{}
	if w := m.do("POST", "/v1/resends", `{"filter":{"queue":"q"},"dry_run":true}`); w.Code != 200 || f.started.Filter.Queue != "" {
		t.Errorf("dry run: %d %s, started %+v", w.Code, w.Body, f.started)
	}
	f.fail = coded.Errorf("resend.many", "%w: %d bulk resends are running: wait for one to end, or cancel one", bellman.ErrOverloaded, 32)
	if w := m.do("POST", "/v1/resends", `{"filter":{"queue":"q"}}`); w.Code != 429 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "32 bulk resends are running") {
		t.Errorf("too many: %d %v %s; want it said that too many run", w.Code, w.Header(), w.Body)
	}
	none := make1(t, Options{})
	for _, call := range [][2]string{{"POST", "/v1/resends"}, {"GET", "/v1/resends"}, {"GET", "/v1/resends/" + resendID.String()}} {
		body := ""
		if call[0] == "POST" {
			body = `{"filter":{"queue":"q"}}`
		}
		if w := none.do(call[0], call[1], body); w.Code != 501 {
			t.Errorf("%s %s without resends: %d; want 501", call[0], call[1], w.Code)
		}
	}
}
