package console

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A slow reader takes a while for each task that it lists, and for each call.
type slowReader struct {
	*memory.Store
	call, row time.Duration
	calls     int
	asked     int // in the largest call
}

func (s *slowReader) List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error) {
	s.calls++
	s.asked = max(s.asked, limit)
	tasks, next, err := s.Store.List(ctx, f, before, limit)
	time.Sleep(s.call + time.Duration(len(tasks))*s.row)
	return tasks, next, err
}

// However slow a store is, a page is shown in time, and the next one continues where it stopped:
// all pages together read each task once.
func TestPagesThatSearchEndInTime(t *testing.T) {
	timeout := bellman.TimedOut
	for _, tt := range []struct {
		name      string
		call, row time.Duration
		most      time.Duration // that one page may take
	}{
		{"quick", 0, time.Microsecond, searchTime},
		{"slow rows", 0, 300 * time.Microsecond, searchTime},
		{"slow calls", 15 * time.Millisecond, 0, searchTime},
		{"a call that takes all the time", 90 * time.Millisecond, 0, 90 * time.Millisecond}, // the store's own bound
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{Store: memory.New()}
			for i := range 1000 {
				log := bellman.Attempt{Started: time.Now(), Result: bellman.Accepted, Status: 200}
				if i == 7 {
					log.Result, log.Status = timeout, 0
				}
				f.add(t, &bellman.Task{Queue: "pay", URL: "https://m.example/n"}, time.Now().Add(time.Duration(i)*time.Second), log)
			}
			store := &slowReader{Store: f.Store, call: tt.call, row: tt.row}
			q := &request{Console: &Console{o: Options{Reader: store}}, r: (&http.Request{}).WithContext(t.Context())}
			found, pages := 0, 0
			for before := (bellman.ID{}); ; {
				began := time.Now()
				tasks, next, err := q.read(&taskFilter{Pick: resend.Pick{Result: &timeout}}, before, pageRows)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > tt.most {
					t.Errorf("%s: a page took %v, want at most %v", tt.name, took, tt.most)
				}
				found += len(tasks)
				pages++
				if next.IsZero() {
					break
				}
				if next == before {
					t.Fatalf("%s: page %d did not go on", tt.name, pages)
				}
				before = next
			}
			if found != 1 {
				t.Errorf("%s: %d pages found %d tasks, want the one that there is", tt.name, pages, found)
			}
			if tt.name == "quick" && (pages != 1 || store.asked > readRows) {
				t.Errorf("quick: %d pages, of %d tasks at once; want one page, of %d at most", pages, store.asked, readRows)
			}
		})
	}
}

func TestListGoesOn(t *testing.T) {
	s := open(t)
	for i := range 120 {
		state := bellman.Status{State: bellman.Failed}
		s.fake.add(t, &bellman.Task{Queue: "pay", Key: fmt.Sprint(i), MerchantNo: "M1", URL: "http://m.example/", Status: state}, t0.Add(time.Duration(i)*time.Second),
			bellman.Attempt{Started: t0, Result: bellman.ErrorStatus, Status: 500 + i%2})
	}
	seen := map[string]bool{}
	path := "/tasks?merchant_no=M1&status=500"
	link := regexp.MustCompile(`<a href="/tasks/([0-9a-f-]{36})"`)
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`)
	for pages := 1; ; pages++ {
		got := s.get(t, path).body
		for _, m := range link.FindAllStringSubmatch(got, -1) {
			if seen[m[1]] {
				t.Errorf("task %s is on two pages", m[1])
			}
			seen[m[1]] = true
		}
		m := next.FindStringSubmatch(got)
		if m == nil {
			if pages != 2 {
				t.Errorf("%d pages of 60 tasks; want 2", pages)
			}
			break
		}
		path = strings.ReplaceAll(m[1], "&amp;", "&")
	}
	if len(seen) != 60 {
		t.Errorf("%d tasks; want 60", len(seen))
	}
	if got := s.get(t, "/tasks?before=x"); got.StatusCode != http.StatusNotFound {
		t.Errorf("a cursor that is none: %d", got.StatusCode)
	}
}

// Numbers that were pasted with blanks around them are those without.
func TestBlanksAroundWhatIsLookedFor(t *testing.T) {
	w := readTaskFilter(url.Values{"merchant_no": {" M1001"}, "order_no": {"O-1\t"}, "status": {" 500 "}, "from": {" 2026-11-20 15:04 "}})
	if w.MerchantNo != "M1001" || w.OrderNo != "O-1" || w.Status != 500 || w.CreatedFrom.IsZero() || len(w.Wrong.Fields) > 0 {
		t.Errorf("%+v, wrong: %v", w.Pick, w.Wrong.Fields)
	}
}

// An export has the amount as the page shows it: of an order what it should cost, or else what was
// paid, and of a refund the requested one.
func TestExportedAmount(t *testing.T) {
	paid := &bellman.Task{Status: bellman.Status{Data: []byte(`{"stage":"decided","order_state":"PAID","taken":{"amount":990,"currency":"JPY"}}`)}}
	decided := order.StandingOf(paid)
	for _, tt := range []struct {
		row  row
		want string
	}{
		{row{Task: &bellman.Task{Body: []byte(`{"amount":1299,"currency":"CNY"}`)}, Order: &order.Standing{}}, "12.99 CNY"},
		{row{Task: paid, Order: &decided}, "990 JPY"},
		{row{Task: &bellman.Task{Body: []byte(`{}`)}, Order: &order.Standing{}}, " "},
		{row{Task: &bellman.Task{Body: []byte(`{"vars":{"amount":"100","currency":"CNY"}}`)}, Poll: &poll.Standing{}}, "1.00 CNY"},
		{row{Task: &bellman.Task{Body: []byte(`{"amount":1299,"currency":"CNY"}`)}}, " "},
	} {
		amount, currency := amountOf(&tt.row)
		if got := amount + " " + currency; got != tt.want {
			t.Errorf("%s, %s: the amount is %q; want %q", tt.row.Body, tt.row.Data, got, tt.want)
		}
	}
}

func TestExport(t *testing.T) {
	s := open(t)
	s.story(t)
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: `=HYPERLINK("http://evil")`, MerchantNo: "茶,\"x\"", OrderNo: "00990.10", URL: "https://u:p@m.example/"}, t0)
	got := s.get(t, "/tasks.csv")
	if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment;") {
		t.Fatalf("%d %v", got.StatusCode, got.Header)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(got.body, "\ufeff"))).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v; want 5", len(rows), err)
	}
	found := false
	for _, r := range rows {
		if r[3] == `'=HYPERLINK("http://evil")` && r[4] == "茶,\"x\"" && r[5] == "00990.10\t" && r[7] == "https://***@m.example/" {
			found = true
		}
	}
	if !found {
		t.Errorf("the hostile row is not as wanted: %q", rows)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(got.body, "\ufeff"), "\n"), "\n") {
		if !strings.HasPrefix(line, `"`) || !strings.HasSuffix(line, `"`) || strings.Count(line, `"`) < 2*19 {
			t.Errorf("not every cell of %s is quoted", line)
		}
	}
	if heads := strings.Join(rows[0], " "); !strings.Contains(heads, " order_state amount currency ") || !strings.Contains(heads, " due_utc created_utc finished_utc") {
		t.Errorf("the columns are %s; want amounts, and times with their zone", heads)
	}
	if got := s.get(t, "/tasks.csv?state=x"); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a wrong filter: %d", got.StatusCode)
	}
	if got := s.get(t, "/tasks.csv?queue=py"); got.StatusCode != http.StatusNotFound || got.Header.Get("Content-Disposition") != "" || !strings.Contains(got.body, "py") {
		t.Errorf("an export of a queue that there is not: %d %v; want 404, and why", got.StatusCode, got.Header)
	}
}

// The list of a queue that is not configured says so: a list without tasks would say that the queue
// has none.
func TestAListOfNoQueue(t *testing.T) {
	s := open(t)
	for queue, want := range map[string]bool{"pay": false, "py": true} {
		if got := strings.Contains(s.get(t, "/tasks?queue="+queue).body, "No queue py is configured."); got != want {
			t.Errorf("the list of queue %s says that it is not configured: %t; want %t", queue, got, want)
		}
	}
}
