package importer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/importer"
)

// A server keeps tasks by their keys, and fails on demand.
type server struct {
	fail  []error // errors of the next calls; nil: success
	one   map[string]int
	tasks map[string]*client.Task
	calls []int // number of tasks in each call
}

func (s *server) CreateBatch(_ context.Context, tasks []client.CreateTask) ([]client.BatchResult, error) {
	s.calls = append(s.calls, len(tasks))
	if len(s.fail) > 0 {
		err := s.fail[0]
		s.fail = s.fail[1:]
		if err != nil {
			return nil, err
		}
	}
	results := make([]client.BatchResult, len(tasks))
	for i, t := range tasks {
		switch {
		case s.one[t.Key] != 0:
			results[i] = client.BatchResult{Status: s.one[t.Key], Error: &client.Problem{Status: s.one[t.Key], Title: "no", Errors: []client.Fault{
				{Location: fmt.Sprintf("body.tasks[%d].resume.last", i), Message: "is ahead"}, {Location: fmt.Sprintf("body.tasks[%d]", i), Message: "is odd"},
			}}}
			if s.one[t.Key] == 429 {
				delete(s.one, t.Key)
			}
		case s.tasks[t.Key] != nil:
			results[i] = client.BatchResult{Status: 200, Task: s.tasks[t.Key]}
		default:
			s.tasks[t.Key] = &client.Task{Created: client.At(time.Now())}
			results[i] = client.BatchResult{Status: 201, Task: s.tasks[t.Key]}
		}
	}
	return results, nil
}

// rows is a source of rows.
type rows []importer.Row

func (r *rows) Next(_ context.Context, limit int) ([]importer.Row, error) {
	n := min(limit, len(*r))
	page := (*r)[:n]
	*r = (*r)[n:]
	return page, nil
}

func (r *rows) Close() error { return nil }

func numbered(n int) *rows {
	var all rows
	for i := range n {
		all = append(all, importer.Row{Where: fmt.Sprintf("id %d", i), Task: client.CreateTask{Key: fmt.Sprint(i)}})
	}
	return &all
}

// Everything is imported once, through all temporary failures. A second run imports nothing more.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{tasks: map[string]*client.Task{}, one: map[string]int{"7": 429, "8": 422, "9": 409},
			fail: []error{errors.New("connection refused"), &client.Problem{Status: 503, RetryAfter: 7 * time.Second}}}
		start := time.Now()
		told := map[string]importer.Report{}
		tell := func(r importer.Report) {
			if _, twice := told[r.Row.Where]; twice {
				t.Errorf("%s was reported twice", r.Row.Where)
			}
			told[r.Row.Where] = r
		}
		counts, err := importer.Run(t.Context(), numbered(1200), s, tell)
		if want := (importer.Counts{importer.Taken: 1198, importer.Wrong: 2}); err != nil || counts != want || counts.All() != len(told) {
			t.Errorf("Run: %v, %v, %d reported; want %v", counts, err, len(told), want)
		}
		if waited := time.Since(start); waited != 9*time.Second {
			t.Errorf("Run waited %v; want 1 s after the first failure, 7 s by Retry-After, and 1 s for one task", waited)
		}
		if r := told["id 8"]; r.Fate != importer.Wrong || !strings.Contains(r.Why, "422") {
			t.Errorf("id 8: %+v; want it wrong, with the server's reason", r)
		} else if want := "bellman: 422 no; resume.last: is ahead; the task: is odd"; r.Why != want {
			t.Errorf("id 8: %q; want %q, without its index in the batch, which means nothing to the user", r.Why, want)
		}
		if len(s.tasks) != 1198 || slices.Max(s.calls) > 1000 {
			t.Errorf("%d tasks in batches of %d at most; want 1198, of 1000", len(s.tasks), slices.Max(s.calls))
		}

		s.one = nil
		clear(told)
		again := numbered(1200)
		for _, i := range []int{5, 6} {
			(*again)[i].Task.Resume = &client.Resume{Attempts: 2, Last: client.At(start.Add(time.Duration(i-5) * time.Hour))}
		}
		time.Sleep(2 * time.Hour)
		counts, err = importer.Run(t.Context(), again, s, tell)
		if want := (importer.Counts{importer.Taken: 2, importer.There: 1197, importer.Moved: 1}); err != nil || counts != want {
			t.Errorf("Run again: %v, %v; want %v", counts, err, want)
		}
		if r := told["id 6"]; r.Fate != importer.Moved || !strings.Contains(r.Why, "stop") {
			t.Errorf("id 6, attempted an hour after the import: %+v; want moved, and advice what to do", r)
		}
	})
}

// If a server does not come back, Run gives up with an error that says what is missing.
func TestRunGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		for range 100 {
			s.fail = append(s.fail, errors.New("connection refused"))
		}
		start := time.Now()
		counts, err := importer.Run(t.Context(), numbered(3), s, func(importer.Report) {})
		if err == nil || !strings.Contains(err.Error(), "id 0 and 2 more rows") || !strings.Contains(err.Error(), "connection refused") || counts.All() != 0 {
			t.Errorf("Run: %v, %v; want an error that says what was not imported, and why", counts, err)
		}
		if d := time.Since(start); d < 10*time.Minute || d > 11*time.Minute {
			t.Errorf("Run gave up after %v; want ten minutes", d)
		}
		if _, err := importer.Run(t.Context(), numbered(3), &server{fail: []error{&client.Problem{Status: 401}}}, func(importer.Report) {}); client.StatusOf(err) != 401 {
			t.Errorf("Run without a permission: %v; want 401 at once", err)
		}
	})
}

// A line that cannot be read ends the import. The rows before it are imported, and the error names
// the line.
func TestRunUntilUnreadableLine(t *testing.T) {
	fromCSV := func(text string) importer.Source {
		source, err := importer.CSV(strings.NewReader("key,url\na,http://m/n\n\"b\nc\",http://m/n\n"+text), "q")
		if err != nil {
			t.Fatal(err)
		}
		return source
	}
	for _, tt := range []struct {
		source importer.Source
		want   string // the beginning of the error
	}{
		{fromCSV("c\"c,http://m/n\nd,http://m/n\n"), `line 5: the quotes are wrong (line 5, column 2: bare " in non-quoted`},
		{fromCSV("\"c,http://m/n\nd,http://m/n\n"), `line 5: the quotes are wrong (line 6, column 14: extraneous or missing " in quoted-field)`},
		{importer.NDJSON(strings.NewReader("{\"key\":\"a\"}\n{\"key\":\"b\"}\n"+strings.Repeat("c", 1<<20+1)+"\n{\"key\":\"d\"}\n"), "q"), "line 3: is longer than 1048576 bytes"},
	} {
		s := &server{tasks: map[string]*client.Task{}}
		counts, err := importer.Run(t.Context(), tt.source, s, func(importer.Report) {})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("Run: %v; want %s", err, tt.want)
		}
		if want := (importer.Counts{importer.Taken: 2}); counts != want || len(s.tasks) != 2 {
			t.Errorf("%s: %v, %d tasks; want both rows before it", tt.want, counts, len(s.tasks))
		}
	}
}

// What the notifications of orders say counts for the size of a request: the server takes 16 MiB.
func TestBatchesOfOrders(t *testing.T) {
	const size = 100 << 10
	rows := numbered(200)
	for i := range *rows {
		(*rows)[i].Task.Notify = &client.Notify{JSON: []byte(`{"x":"` + strings.Repeat("a", size) + `"}`)}
	}
	s := &server{tasks: map[string]*client.Task{}}
	if _, err := importer.Run(t.Context(), rows, s, func(importer.Report) {}); err != nil {
		t.Fatal(err)
	}
	if most := slices.Max(s.calls); len(s.tasks) != 200 || most*size > 16<<20 {
		t.Errorf("%d tasks, %d in one request; want 200, in requests of less than 16 MiB", len(s.tasks), most)
	}
}

// asked is a server that accepts all tasks except wrong, and stores nothing.
type asked struct{ wrong string }

func (a asked) TryBatch(_ context.Context, tasks []client.CreateTask) ([]client.BatchResult, error) {
	results := make([]client.BatchResult, len(tasks))
	for i, t := range tasks {
		results[i] = client.BatchResult{Status: 201, Task: &client.Task{Key: t.Key}}
		if t.URL == a.wrong {
			results[i] = client.BatchResult{Status: 422, Error: &client.Problem{Status: 422, Detail: "no"}}
		}
	}
	return results, nil
}

// Try reports what Run would do. If two rows have the same key, the second one exists already, in
// whatever batches they are.
func TestTry(t *testing.T) {
	source := numbered(1203)
	(*source)[1].Skip = "done"
	(*source)[2].Wrong = errors.New("bad")
	(*source)[3].Task.URL = "wrong"
	(*source)[4].Task.Key = "3" // the key of a row that was not imported
	(*source)[1200].Task.Key = "5"
	(*source)[1201].Task.Key, (*source)[1201].Task.OrderNo = "6", "other"
	(*source)[1202].Task.Key = "1199"
	told := map[string]string{}
	counts, err := importer.Try(t.Context(), source, asked{"wrong"}, func(r importer.Report) {
		told[r.Row.Where] = fmt.Sprintf("%d %s %t", r.Fate, r.Why, r.Task != nil)
	})
	if want := (importer.Counts{importer.Taken: 1197, importer.There: 2, importer.Skipped: 1, importer.Wrong: 3}); err != nil || counts != want {
		t.Errorf("Try: %v, %v; want %v", counts, err, want)
	}
	if got := told["id 4"]; got != "0  true" {
		t.Errorf("id 4: %s; want it accepted, with the task", got)
	}
	if got := told["id 1201"]; !strings.Contains(got, "a row before it has its key") {
		t.Errorf("id 1201: %s; want it wrong, with the reason", got)
	}
}
