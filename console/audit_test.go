package console

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

func TestByHandIsFound(t *testing.T) {
	s := open(t)
	task := s.task(t)
	later := task.Status
	later.Due, later.Updated = t0.Add(time.Hour), t0.Add(time.Minute)
	b := bellman.Batch{
		Changes: []bellman.Change{{ID: task.ID, Version: 1, To: later, Audit: &bellman.Audit{At: t0.Add(time.Minute), Who: "ops", Action: "reschedule", Target: task.ID.String(), Reason: "<later>", From: "198.51.100.7"}}},
		Audits:  []bellman.Audit{{At: t0.Add(30 * time.Second), Action: "pause", Target: "queue/pay", Reason: "<b> (resend/" + task.ID.String() + ")"}, {At: t0.Add(-time.Second), Action: "cancel", Target: task.ID.String()}},
	}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	got := s.get(t, "/tasks/"+task.ID.String()).body
	if !strings.Contains(got, "&lt;later&gt;") || strings.Contains(got, ">cancelled<") {
		t.Error("what was done by hand is not found, or what was done before the task was there is")
	}
	all := s.get(t, "/audit").body
	if strings.Count(all, "<tr>") != 1+3 {
		t.Errorf("the audit has %d rows; want 3", strings.Count(all, "<tr>")-1)
	}
	if want := `&lt;b&gt; · <a href="/resends/` + task.ID.String() + `">Bulk resend</a>`; !strings.Contains(all, want) {
		t.Errorf("the audit does not link the bulk resend of a reason: want %s", want)
	}
	if !strings.Contains(got, ">198.51.100.7<") || !strings.Contains(all, ">198.51.100.7<") {
		t.Error("it is not said where what was done by hand came from")
	}
	for filter, want := range map[string]int{"198.51.100.7": 1, "198.51.100": 0} {
		if one := s.get(t, "/audit?from="+filter).body; strings.Count(one, `>198.51.100.7</td>`) != want {
			t.Errorf("from=%s: %d rows; want %d", filter, strings.Count(one, `>198.51.100.7</td>`), want)
		}
	}
	if one := s.get(t, "/audit?action=pause").body; strings.Count(one, "<tr>") != 1+1 || !strings.Contains(one, `href="/queues?name=pay"`) {
		t.Error("a filter of the audit does not do")
	}
}

func TestAuditGoesOn(t *testing.T) {
	s := open(t)
	var b bellman.Batch
	for i := range 250 { // three of each millisecond, which are not torn apart
		b.Audits = append(b.Audits, bellman.Audit{At: t0.Add(time.Duration(i/3) * time.Millisecond), Action: "pause", Target: "queue/" + fmt.Sprint(i)})
	}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	path := "/audit"
	for path != "" {
		got := s.get(t, path).body
		for _, m := range regexp.MustCompile(`href="/queues\?name=(\d+)"`).FindAllStringSubmatch(got, -1) {
			if seen[m[1]] {
				t.Fatalf("record %s is on two pages", m[1])
			}
			seen[m[1]] = true
		}
		path = ""
		if m := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(got); m != nil {
			path = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if len(seen) != 250 {
		t.Errorf("%d records; want 250", len(seen))
	}
}
