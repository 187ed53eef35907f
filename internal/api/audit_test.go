package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/store"
)

// Audit records are found by who, action, target, job and time: each once, however the pages fall.
func TestAuditFilter(t *testing.T) {
	m := make1(t, Options{})
	c := dial(t, m, "")
	var all []store.Audit // several in each millisecond; the reason is the number
	for i := range 900 {
		all = append(all, store.Audit{At: t0.Add(time.Duration(i/4) * time.Second), Who: []string{"ann", "bob"}[i%2], Action: []string{"cancel", "resend", "pause"}[i%3],
			Target: fmt.Sprint("queue/", i%5), Job: []string{"", "resend/1"}[i/450], Reason: fmt.Sprint(i)})
	}
	if err := m.fake.Commit(t.Context(), &store.Batch{Audits: all}); err != nil {
		t.Fatal(err)
	}
	middle := client.At(t0.Add(100 * time.Second))
	for _, f := range []client.AuditFilter{
		{}, {Who: "ann"}, {Action: "pause"}, {Target: "queue/3"}, {Job: "resend/1"}, {Who: "nobody"}, {Who: "bob", Action: "resend", Target: "queue/0", Job: "resend/1"},
		{CreatedFrom: middle}, {CreatedTo: middle}, {CreatedTo: middle, Job: "resend/1"}, {CreatedFrom: client.At(t0.Add(99 * time.Second)), CreatedTo: middle},
		{CreatedFrom: middle, CreatedTo: middle},
	} {
		var want []string
		for _, a := range slices.Backward(all) {
			if (f.Who == "" || a.Who == f.Who) && (f.Action == "" || a.Action == f.Action) && (f.Target == "" || a.Target == f.Target) && (f.Job == "" || a.Job == f.Job) &&
				!a.At.Before(f.CreatedFrom.Time) && (f.CreatedTo.IsZero() || a.At.Before(f.CreatedTo.Time)) {
				want = append(want, a.Reason)
			}
		}
		same := func(how string, got []string) {
			t.Helper()
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%+v, %s: %d records, or others; want %d", f, how, len(got), len(want))
			}
		}
		var got []string
		for a, err := range c.Audits(t.Context(), f) {
			if err != nil {
				t.Fatalf("%+v: %v", f, err)
			}
			got = append(got, a.Reason)
		}
		same("pages of 200", got)
		if f.Who == "" {
			continue
		}
		got = nil
		for cursor, more := "", true; more; more = cursor != "" {
			w := m.do("GET", fmt.Sprintf("/v1/audit?limit=1&who=%s&action=%s&target=%s&job=%s&cursor=%s", f.Who, f.Action, f.Target, f.Job, cursor), "")
			var page client.AuditPage
			if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
				t.Fatalf("%+v: %d %s", f, w.Code, w.Body)
			}
			for _, a := range page.Audits {
				got = append(got, a.Reason)
			}
			cursor = page.NextCursor
		}
		same("pages of 1", got)
	}
	var page client.AuditPage
	if err := json.Unmarshal(m.do("GET", "/v1/audit?limit=1&who=ann", "").Body.Bytes(), &page); err != nil || page.NextCursor == "" {
		t.Fatalf("%+v, %v; want more pages", page, err)
	}
	for query, why := range map[string]string{
		"who=bob&cursor=" + page.NextCursor:                                 "another filter",
		"created_from=2026-11-21T00:00:00Z&created_to=2026-11-20T00:00:00Z": "is not before created_to",
		"by=ann": "query.by",
	} {
		if w := m.do("GET", "/v1/audit?"+query, ""); w.Code != 422 || !strings.Contains(w.Body.String(), why) {
			t.Errorf("%s: %d %s; want 422, %s", query, w.Code, w.Body, why)
		}
	}
}
