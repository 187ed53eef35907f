//go:build !race

package console_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store"
)

var (
	size = flag.Int("tasks", 20_000, "how many tasks the store of the benchmarks has")
	kept = flag.String("store", "", "the store of the benchmarks, as in a configuration: filled if it is empty, and left as it is; default: a directory that is removed")
)

const (
	filledSpan   = 20 * 24 * time.Hour // the tasks of a filled store were created in this period, within the default retention
	filledBatch  = 5000                // tasks in one transaction
	filledAudits = 40                  // a filled store has an audit record for each so many tasks
)

// A stock is a store filled with n tasks, as a platform has them after a month: most ended, some
// wait, few failed, and one merchant has a third of them.
type stock struct {
	n      int
	newest time.Time
}

// id returns the id of a task, 0 for the oldest.
func (s *stock) id(i int) bellman.ID {
	id := bellman.FirstID(s.at(i))
	id[6], id[8] = 0x70, 0x80
	binary.BigEndian.PutUint32(id[12:], uint32(i))
	return id
}

func (s *stock) at(i int) time.Time {
	return s.newest.Add(-time.Duration(float64(filledSpan) * float64(s.n-1-i) / float64(s.n)))
}

// filled opens a store and fills it, unless it is filled already.
func filled(t testing.TB, address string, n int) *stock {
	t.Helper()
	s, err := server.OpenStore(t.Context(), address, server.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	newest, _, err := s.List(t.Context(), store.Filter{Key: key(n - 1)}, bellman.ID{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(newest) > 0 {
		return &stock{n, newest[0].ID.Time()}
	}
	began := time.Now()
	of := &stock{n, began.UTC().Truncate(time.Millisecond)}
	var all errgroup.Group
	all.SetLimit(3)
	for first := 0; first < n; first += filledBatch {
		all.Go(func() error { return of.fill(t, s, first, min(first+filledBatch, n)) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tasks in %v", n, time.Since(began).Round(time.Second))
	return of
}

// fill adds the tasks with these numbers, and ends most of them.
func (s *stock) fill(t testing.TB, to store.Store, first, end int) error {
	var adds, ends store.Batch
	for i := first; i < end; i++ {
		task, err := s.task(i)
		if err != nil {
			return err
		}
		adds.Adds = append(adds.Adds, store.Add{Task: task})
		if i%filledAudits == 0 {
			ends.Audits = append(ends.Audits, store.Audit{At: s.at(i), Who: fmt.Sprint("person-", i/filledAudits%20), Action: "resend", Target: task.ID.String(), Reason: "the merchant asks", From: "192.0.2.1"})
		}
		if i%100 != 3 {
			ends.Changes = append(ends.Changes, s.end(task, i))
		}
	}
	for _, b := range []*store.Batch{&adds, &ends} {
		if err := to.Commit(t.Context(), b); err != nil {
			return err
		}
	}
	for i := range adds.Adds {
		if err := adds.Adds[i].Err; err != nil {
			return err
		}
	}
	for i := range ends.Changes {
		if err := ends.Changes[i].Err; err != nil {
			return err
		}
	}
	return nil
}

func (s *stock) task(i int) (*bellman.Task, error) {
	at := s.at(i)
	due := s.newest.Add(20*time.Hour + time.Duration(i%86400)*time.Second)
	task := &bellman.Task{
		ID: s.id(i), Queue: "merchant-notify", Kind: bellman.KindNotify, Key: key(i), MerchantNo: merchantOf(i), OrderNo: orderNo(i),
		Event: "payment.succeeded", URL: fmt.Sprintf("https://m%d.example/notify", i%5000), Method: "POST", Schedule: "wechat_notify", Success: "success_text", Endpoint: "https://m.example:443",
		Body:   fmt.Appendf(nil, `{"order_no":"O%09d","transaction_id":"42000%d","amount":{"total":%d,"currency":"CNY"},"state":"SUCCESS","paid_at":%q}`, i, i*7919, i%100_000+1, at.Format(time.RFC3339)),
		Status: bellman.Status{Began: at, Due: due, VisibleAt: due, Updated: at, Shard: uint16(i % 64)},
	}
	if i%20 != 5 {
		return task, nil
	}
	task.Queue, task.Kind, task.Event, task.URL, task.Method, task.Success, task.Key = "orders", bellman.KindOrder, "", "", "", "", key(i)
	ask := order.Ask{Created: at, Account: fmt.Sprint("shop", i%7), Amount: int64(i%100_000 + 1), Currency: "CNY"}
	var err error
	if task.Body, err = ask.Encode(); err != nil {
		return nil, err
	}
	state := "PAID"
	if i%2000 == 5 {
		state = order.StateUnknown
	}
	task.Data, err = json.Marshal(order.Life{Stage: order.Decided, State: state, DecidedAt: at.UnixMilli()})
	return task, err
}

// key and orderNo increase, as those of platforms do.
func key(i int) string     { return fmt.Sprintf("K%09d", i) }
func orderNo(i int) string { return fmt.Sprintf("O%09d", i) }

// merchantOf returns the merchant of a task.
func merchantOf(i int) string {
	if i%3 == 0 {
		return "BIG"
	}
	return fmt.Sprint("M", i%5000)
}

func (s *stock) end(task *bellman.Task, i int) store.Change {
	at := s.at(i)
	to := bellman.Status{State: bellman.Succeeded, Reason: "accepted", Attempts: 1, Step: 1, Began: at, Updated: at, Finished: at, Shard: task.Shard}
	result, status := bellman.Accepted, 200
	switch {
	case i%100 == 1, i%2000 == 5:
		to.State, to.Reason, result, status = bellman.Failed, "attempts_used_up", bellman.ErrorStatus, 500
	case i%1000 == 7:
		to.State, to.Reason = bellman.Cancelled, "cancelled"
	}
	return store.Change{ID: task.ID, Version: 1, Of: task, To: to, Attempt: &bellman.Attempt{Number: 1, Due: at, Started: at, Took: time.Millisecond, Result: result, Status: status, Response: "success"}}
}

// pages returns the addresses of all pages, with each filter, and of lists the first, a middle and
// the last page.
func (s *stock) pages() (all []string) {
	add := func(path string, fields ...string) { all = append(all, path+joined(fields)) }
	middle, last := s.n/2, min(20, s.n-1)
	zone := "zone=Asia%2FShanghai"
	from := "from=" + url.QueryEscape(s.at(middle).Format(time.RFC3339))
	for _, list := range []struct {
		path    string
		filters []string
		before  func(int) string
	}{
		{"/tasks", []string{"", "state=failed", "state=pending", "state=cancelled", "queue=merchant-notify", "queue=orders", "kind=poll", "merchant_no=M7", "merchant_no=BIG", "merchant_no=BIG&state=pending", "merchant_no=BIG&state=cancelled",
			"merchant_no=BIG&status=500", "merchant_no=BIG&event=nothing", "status=500", "status=404", "result=timeout", "state=pending&result=timeout", "event=nothing", "url_host=m1.example", "url_host=nowhere.example", from, from + "&" + zone + "&state=failed"},
			func(i int) string { return "before=" + s.id(i).String() }},
		{"/orders", []string{"", "order_state=UNKNOWN", "order_state=CLOSED", "account=shop3", "account=nobody&least=5", "channel=alipay", "merchant_no=M5", "merchant_no=BIG&order_state=CLOSED", "least=100&most=200", from},
			func(i int) string { return "before=" + s.id(i).String() }},
		{"/audit", []string{"", "by=person-3", "by=nobody", "action=pause", "target=nothing", "address=192.0.2.9", from},
			func(i int) string { return fmt.Sprint("before=", s.at(i).UnixMilli()) }},
	} {
		for _, filter := range list.filters {
			add(list.path, filter)
			add(list.path, filter, list.before(middle))
			add(list.path, filter, list.before(last))
		}
	}
	for _, i := range []int{s.n - 1, middle / 20 * 20, 0} {
		add(fmt.Sprint("/tasks/", s.id(i)))
		add(fmt.Sprint("/tasks/", s.id(i), "/attempts/1"))
		add("/tasks", "order_no="+orderNo(i))
		add("/tasks", "key="+key(i))
		add("/search", "q="+key(i))
		add("/search", "q="+orderNo(i))
	}
	for _, of := range []int{5, middle/20*20 + 5} {
		add("/orders", "merchant_no="+merchantOf(of), "order_no="+orderNo(of))
	}
	for _, text := range []string{"nothing", "nobod", "nowhere.example", "m1.example", "M4", "BIG", orderNo(s.n - 1)[:3], orderNo(s.n - 1)[:8], "K"} {
		add("/search", "q="+text)
		add("/search/typed", "q="+text)
	}
	for _, path := range []string{"/", "/?range=today", "/queues", "/nodes", "/merchants", "/merchants?state=late", "/merchants?state=failing", "/merchants?state=paused", "/merchants?merchant_no=M1", "/merchants?name=x",
		"/merchants/show?no=M7", "/endpoints", "/endpoints?state=failing", "/endpoints?state=late", "/endpoints?state=paused", "/accounts", "/links", "/links/new?merchant_no=M7", "/resends", "/resends/new?merchant_no=BIG", "/resends/new?state=failed",
		"/reconciliations", "/reconciliations/new"} {
		add(path)
	}
	return all
}

// joined makes the query of an address of fields, some of which may be empty.
func joined(fields []string) (text string) {
	for _, field := range fields {
		if field != "" {
			text += map[bool]string{true: "?", false: "&"}[text == ""] + field
		}
	}
	return text
}

// seen fails the test if a page is not shown.
func (w *world) seen(t testing.TB, path string) {
	t.Helper()
	answer, err := http.Get(w.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d", path, answer.StatusCode)
	}
}

// Each page that the benchmark asks for is shown.
func TestPagesOfAFilledStore(t *testing.T) {
	t.Parallel()
	address, n := "pebble:"+t.TempDir(), 5000
	if testing.Short() {
		n = 500
	}
	s := filled(t, address, n)
	w := openOn(t, address)
	w.registry(t)
	for _, path := range s.pages() {
		w.seen(t, path)
	}
}

// BenchmarkPages reports how long each page takes, and its processor time. docs/performance.md has
// the flags for a large store.
func BenchmarkPages(b *testing.B) {
	w, s := benched(b)
	for _, path := range s.pages() {
		b.Run(path, func(b *testing.B) {
			var times []time.Duration
			before := processorTime(b)
			for b.Loop() {
				began := time.Now()
				w.seen(b, path)
				times = append(times, time.Since(began))
			}
			used := processorTime(b) - before
			slices.Sort(times)
			ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(times[len(times)/2]), "p50-ms")
			b.ReportMetric(ms(times[len(times)*99/100]), "p99-ms")
			b.ReportMetric(ms(used)/float64(len(times)), "cpu-ms")
		})
	}
}

// BenchmarkOpenConsoles reports which part of one processor 200 open pages take, with those who
// read them in the same process. Each iteration is a second.
func BenchmarkOpenConsoles(b *testing.B) {
	w, s := benched(b)
	for _, path := range []string{"", "/live?part=figures", "/live?part=queues", "/tasks/" + s.id(s.n-1).String() + "/live", "/orders/live?merchant_no=" + merchantOf(5) + "&order_no=" + orderNo(5)} {
		b.Run("of "+path, func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			var all sync.WaitGroup
			for range 200 {
				if path == "" {
					break // what the server takes by itself
				}
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+path, nil)
				if err != nil {
					b.Fatal(err)
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil || answer.StatusCode != http.StatusOK {
					b.Fatalf("GET %s: %+v, %v", path, answer, err)
				}
				all.Go(func() {
					io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				})
			}
			before, began := processorTime(b), time.Now()
			for b.Loop() {
				<-time.After(time.Second)
			}
			used := 100 * float64(processorTime(b)-before) / float64(time.Since(began))
			cancel()
			all.Wait()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(used, "%core")
		})
	}
}

// benched opens the benchmarks' world, with 10,000 overdue tasks.
func benched(b *testing.B) (*world, *stock) {
	b.Helper()
	address := cmp.Or(*kept, "pebble:"+b.TempDir())
	s := filled(b, address, *size)
	w := openOn(b, address)
	w.registry(b)
	w.overdue(b)
	return w, s
}

// registry registers 400 merchants.
func (w *world) registry(t testing.TB) {
	t.Helper()
	var merchants client.MerchantBatch
	for i := range 200 {
		merchants.Merchants = append(merchants.Merchants, client.PutMerchant{MerchantNo: fmt.Sprintf("M%d", i), NotifyURL: "https://m.example/notify"}, client.PutMerchant{MerchantNo: fmt.Sprintf("D%d", i)})
	}
	if _, err := w.api.PutMerchants(t.Context(), merchants); err != nil {
		t.Fatal(err)
	}
}

// overdue adds ten thousand notices to a host that is down: they are overdue, and wait for its
// breaker.
func (w *world) overdue(t testing.TB) {
	t.Helper()
	for first := 0; first < 10_000; first += 1000 {
		batch := make([]client.CreateTask, 1000)
		for i := range batch {
			batch[i] = client.CreateTask{Queue: "merchant-notify", MerchantNo: fmt.Sprintf("D%d", (first+i)%50), URL: "http://127.0.0.1:1/notify"}
		}
		if _, err := w.api.CreateBatch(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	eventually.True(t, "listed: the endpoint that is down", func() bool {
		list, err := w.api.Attention(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Items, func(i client.Attention) bool { return i.Kind == "endpoint_failing" && i.Tasks > 900 })
	})
}

// processorTime returns the processor time that this process has used. On a busy machine it says
// more than the elapsed time.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
