package console

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

func TestByHandIsFound(t *testing.T) {
	s := open(t)
	task := s.task(t)
	later := task.Status
	later.Due, later.Updated = t0.Add(time.Hour), t0.Add(time.Minute)
	b := store.Batch{
		Changes: []store.Change{{ID: task.ID, Version: 1, To: later, Audit: &store.Audit{At: t0.Add(time.Minute), Who: "ops", Action: "reschedule", Target: task.ID.String(), Reason: "<later>", From: "198.51.100.7"}}},
		Audits: []store.Audit{{At: t0.Add(30 * time.Second), Action: "pause", Target: "queue/pay", Reason: "<b>", Job: "resend/" + task.ID.String(),
			Changes: []store.Changed{{Field: "notify_url", Before: "https://<old>/", After: "https://new/"}}}, {At: t0.Add(-time.Second), Action: "cancel", Target: task.ID.String()}},
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
	if !strings.Contains(all, "<b>notify_url</b> <del>https://&lt;old&gt;/</del> → <ins>https://new/</ins>") {
		t.Error("the audit does not say what changed, before and after")
	}
	if want := `&lt;b&gt; · <a href="/resends/` + task.ID.String() + `">Bulk resend</a>`; !strings.Contains(all, want) {
		t.Errorf("the audit does not link the bulk resend of a reason: want %s", want)
	}
	if !strings.Contains(got, ">198.51.100.7<") || !strings.Contains(all, ">198.51.100.7<") {
		t.Error("it is not said where what was done by hand came from")
	}
	for filter, want := range map[string]int{"198.51.100.7": 1, "198.51.100": 0} {
		if one := s.get(t, "/audit?address="+filter).body; strings.Count(one, `>198.51.100.7</td>`) != want {
			t.Errorf("address=%s: %d rows; want %d", filter, strings.Count(one, `>198.51.100.7</td>`), want)
		}
	}
	if one := s.get(t, "/audit?action=pause").body; strings.Count(one, "<tr>") != 1+1 || !strings.Contains(one, `href="/queues?name=pay"`) {
		t.Error("a filter of the audit does not do")
	}
}

// What somebody typed as the reason is text, and never a link to a job.
func TestReasonIsNoJob(t *testing.T) {
	s := open(t)
	id, batch := bellman.NewID().String(), "batch/"+bellman.NewID().String()
	b := store.Batch{Audits: []store.Audit{
		{At: t0, Who: "eve", Action: "pause", Target: "queue/pay", Reason: "looks like a job (resend/" + id + ")"},
		{At: t0, Who: "adm", Action: "import", Target: "merchant/M1", Job: batch}, {At: t0, Who: "adm", Action: "import", Target: "merchant/M2", Job: batch},
	}}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	all := s.get(t, "/audit").body
	if strings.Contains(all, "/resends/"+id) || !strings.Contains(all, "(resend/"+id+")") {
		t.Error("a typed reason is shown as a link to a job; want its text")
	}
	to := "/audit?job=" + strings.ReplaceAll(batch, "/", "%2F")
	if !strings.Contains(all, to) {
		t.Errorf("no link to the batch: want %s", to)
	}
	if one := s.get(t, to).body; strings.Count(one, "<tr>") != 1+2 {
		t.Errorf("%d records of the batch; want 2", strings.Count(one, "<tr>")-1)
	}
}

func TestAuditGoesOn(t *testing.T) {
	s := open(t)
	var b store.Batch
	for i := range 250 { // three of each millisecond, which are not torn apart
		b.Audits = append(b.Audits, store.Audit{At: t0.Add(time.Duration(i/3) * time.Millisecond), Action: "pause", Target: "queue/" + fmt.Sprint(i)})
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

// The page keeps to the range of the address: what was done before or after it is left out.
func TestAuditsOfARange(t *testing.T) {
	s := open(t)
	b := store.Batch{}
	for i, reason := range []string{"too early", "within it", "too late"} {
		b.Audits = append(b.Audits, store.Audit{At: t0.Add(time.Duration(i) * time.Hour), Who: "wang", Action: "pause", Target: "queue/pay", Reason: reason})
	}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	shanghai := time.FixedZone("", 8*3600)
	at := func(d time.Duration) string { return t0.Add(d).In(shanghai).Format("2006-01-02T15:04") }
	page := s.get(t, "/audit?zone=Asia%2FShanghai&from="+at(30*time.Minute)+"&to="+at(90*time.Minute)).body
	if !strings.Contains(page, "within it") || strings.Contains(page, "too early") || strings.Contains(page, "too late") {
		t.Error("the page does not keep to its range")
	}
	if page := s.get(t, "/audit?from=soon", "Accept-Language: en").body; !strings.Contains(page, "is no time") || !strings.Contains(page, "too early") {
		t.Error("a wrong range is taken without a word, or hides everything")
	}
}

// The move of a store is in the audit in the visitor's language, and one of the actions to filter
// by.
func TestAMoveInTheAudit(t *testing.T) {
	s := open(t)
	b := store.Batch{Audits: []store.Audit{{At: t0, Action: "move", Target: "store", Reason: "moved from pebble:old"}}}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	s.get(t, "/audit", "Accept-Language: zh").has(t, []string{"<td>迁移存储</td>", "moved from pebble:old", `<option value="move">迁移存储</option>`})
}
