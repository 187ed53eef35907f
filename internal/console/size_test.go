package console_test

import (
	"cmp"
	"context"
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

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store"
)

var (
	size = flag.Int("tasks", 500, "how many tasks TestPagesAreQuick has; from a million on it fails when a page takes too long")
	kept = flag.String("store", "", "the store of TestPagesAreQuick, as in a configuration: filled if it is empty, and left as it is; default: a directory that is removed")
)

// filled is a store with n tasks, as a platform has them after a while: most have
// ended, some wait, few failed. sample is the newest of them.
func filled(t testing.TB, address string, n int) (sample bellman.ID) {
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
	newest, _, err := s.List(t.Context(), store.Filter{}, bellman.ID{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(newest) > 0 {
		return newest[0].ID
	}
	began := time.Now()
	for first := 0; first < n; first += 1000 {
		sample = fill(t, s, first, min(first+1000, n))
	}
	t.Logf("%d tasks in %v", n, time.Since(began).Round(time.Second))
	return sample
}

// fill adds the tasks with these numbers, and ends most of them.
func fill(t testing.TB, s store.Store, first, end int) (newest bellman.ID) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	var b, ends store.Batch
	for i := first; i < end; i++ {
		due := now.Add(time.Duration(i%86400)*time.Second + 12*time.Hour)
		task := &bellman.Task{
			ID: bellman.NewID(), Queue: "merchant-notify", Key: fmt.Sprintf("K%d", i), MerchantNo: fmt.Sprintf("M%d", i%5000), OrderNo: fmt.Sprintf("O%d", i),
			Event: "payment.succeeded", URL: fmt.Sprintf("https://m%d.example/notify", i%5000), Method: "POST", Body: []byte(`{"state":"SUCCESS"}`),
			Schedule: "wechat_notify", Success: "success_text", Endpoint: "https://m.example:443",
			Status: bellman.Status{Began: now, Due: due, VisibleAt: due, Updated: now, Shard: uint16(i % 64)},
		}
		b.Adds = append(b.Adds, store.Add{Task: task})
		newest = task.ID
		if i%10 == 0 {
			continue // waits
		}
		to := bellman.Status{State: bellman.Succeeded, Reason: "accepted", Attempts: 1, Step: 1, Began: now, Updated: now, Finished: now, Shard: task.Shard}
		result, status := bellman.Accepted, 200
		if i%100 == 1 {
			to.State, to.Reason, result, status = bellman.Failed, "attempts_used_up", bellman.ErrorStatus, 500
		}
		ends.Changes = append(ends.Changes, store.Change{ID: task.ID, Version: 1, To: to,
			Attempt: &bellman.Attempt{Number: 1, Due: now, Started: now, Took: time.Millisecond, Result: result, Status: status, Response: "success"}})
	}
	for _, b := range []*store.Batch{&b, &ends} {
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for i := range b.Adds {
		if err := b.Adds[i].Err; err != nil {
			t.Fatal(err)
		}
	}
	for i := range ends.Changes {
		if err := ends.Changes[i].Err; err != nil {
			t.Fatal(err)
		}
	}
	return newest
}

// TestPagesAreQuick asks for each page again and again. With -tasks 5000000 it is
// the benchmark of the console, and with -store that of it on a database.
func TestPagesAreQuick(t *testing.T) {
	address := cmp.Or(*kept, "pebble:"+t.TempDir())
	sample := filled(t, address, *size)
	w := openOn(t, address)
	if *size >= 100_000 {
		w.overdue(t)
	}
	last := fmt.Sprint(*size - 1)
	for _, path := range []string{
		"/", "/?range=today", "/merchants", "/merchants?state=late", "/endpoints?state=failing", "/tasks", "/tasks?state=failed", "/tasks?state=pending", "/tasks?queue=merchant-notify", "/tasks?merchant_no=M7", "/tasks?order_no=O" + last,
		"/tasks?status=500", "/tasks?result=timeout", "/tasks?event=nothing", "/tasks?url_host=" + url.QueryEscape("m1.example"), "/tasks?url_host=nowhere.example",
		"/tasks/" + sample.String(), "/search?q=nothing", "/search?q=nowhere.example", "/search?q=K" + last,
		"/orders?merchant_no=M7&order_no=O7", "/orders", "/orders?order_state=UNKNOWN", "/orders?account=nobody&least=5", "/search?q=O" + last[:1], "/search?q=nobod", "/search/typed?q=M4", "/tasks/" + sample.String() + "/attempts/1", "/queues", "/endpoints", "/audit", "/nodes", "/resends", "/resends/new?merchant_no=M7",
	} {
		var times []time.Duration
		before := processorTime(t)
		rounds := 3
		if *size >= 100_000 {
			rounds = 100
		}
		for range rounds {
			began := time.Now()
			answer, err := http.Get(w.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			times = append(times, time.Since(began))
			if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotFound {
				t.Fatalf("GET %s: %d", path, answer.StatusCode)
			}
		}
		slices.Sort(times)
		worst := times[len(times)*99/100]
		t.Logf("%-34s p50 %6.1f ms, p99 of %d %6.1f ms; %5.1f ms of processor time", path, times[rounds/2].Seconds()*1000, rounds, worst.Seconds()*1000,
			(processorTime(t)-before).Seconds()*1000/float64(rounds))
		if *size >= 1_000_000 && worst > 100*time.Millisecond {
			t.Errorf("GET %s has a p99 of %v at %d tasks; want 100 ms", path, worst, *size)
		}
	}
	if *size < 1_000_000 {
		return
	}
	// What 200 open consoles cost.
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	idle := used(t, 10*time.Second)
	for range 200 {
		all.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+"/live?part=figures", nil)
			if err != nil {
				return
			}
			if answer, err := http.DefaultClient.Do(r); err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		})
	}
	open := used(t, 10*time.Second)
	cancel()
	all.Wait()
	t.Logf("200 open consoles, and who reads them in the same process: %.1f %% of one core, without them %.1f %%", 100*open, 100*idle)
	if open-idle > 0.05 {
		t.Errorf("200 open consoles cost %.1f %% of one core; want 5", 100*(open-idle))
	}
}

// overdue registers merchants, and adds ten thousand notices to a host that is down: they are overdue, and wait
// for its breaker.
func (w *world) overdue(t testing.TB) {
	t.Helper()
	var merchants client.MerchantBatch
	for i := range 200 {
		merchants.Merchants = append(merchants.Merchants, client.PutMerchant{MerchantNo: fmt.Sprintf("M%d", i), NotifyURL: "https://m.example/notify"}, client.PutMerchant{MerchantNo: fmt.Sprintf("D%d", i)})
	}
	if _, err := w.api.PutMerchants(t.Context(), merchants); err != nil {
		t.Fatal(err)
	}
	for first := 0; first < 10_000; first += 1000 {
		batch := make([]client.CreateTask, 1000)
		for i := range batch {
			batch[i] = client.CreateTask{Queue: "merchant-notify", MerchantNo: fmt.Sprintf("D%d", (first+i)%50), URL: "http://127.0.0.1:1/notify"}
		}
		if _, err := w.api.CreateBatch(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		list, err := w.api.Attention(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) > 0 && list.Items[0].Kind == "endpoint_failing" && list.Items[0].Tasks > 900 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the endpoint that is down is not listed: %+v", list.Items)
		}
	}
}

// used is how much of one core this process uses for a while.
func used(t testing.TB, while time.Duration) float64 {
	t.Helper()
	before, began := processorTime(t), time.Now()
	<-time.After(while)
	return float64(processorTime(t)-before) / float64(time.Since(began))
}

// processorTime is how much of it this process has used so far: on a machine that
// is busy with other things it says more than the time that passed.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
