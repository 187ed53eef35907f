package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/server"
)

// 10,000 forged notices, or a fifth with the race detector, of orders that exist and of others,
// over HTTP: none completes an order, each order is queried once at most, all queries keep the rate
// of the account, and neither memory nor the store grows with the notices.
func TestForgedNoticesFlood(t *testing.T) {
	const orders, wave = 100, 1000 / server.Fewer
	d := newDesk(t)
	queues := d.settings(t, append([]string{"expires: 6h"}, replaced(noticed, "schedule: 1h*", "schedule: 5h*")...)...)
	api, s := d.serveNoticedBy(t, queues)
	refs := many(t, api, orders, "")
	hosts := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer hosts.CloseIdleConnections()
	began := time.Now()
	var heap []int64
	for n := range 10 {
		var senders sync.WaitGroup
		for part := range 8 {
			senders.Go(func() {
				for i := part; i < wave; i += 8 {
					no := fmt.Sprint(i % orders)
					if i%2 == 1 {
						no = fmt.Sprintf("nobody-%d-%d", n, i)
					}
					if !forge(t, hosts, s.NoticesAddr(), paidNotice(no, 1299)) {
						return
					}
				}
			})
		}
		senders.Wait()
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = append(heap, int64(m.HeapAlloc))
	}
	passes(t, "nothing more is asked", func() bool { // each query that was caused is due at once
		page, err := api.Queues(t.Context())
		return err == nil && page.Queues[0].InFlight == 0
	})
	for _, ref := range refs {
		if was := d.was(ref.OrderNo); was != "" && was != "query" {
			t.Errorf("order %s was asked %q; want one query at most", ref.OrderNo, was)
		}
	}
	tasks := map[string]int{}
	for task, err := range api.Tasks(t.Context(), client.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		tasks[task.Event]++
		if task.Event == "order.watch" && (task.State != "pending" || task.OrderState != "PENDING") {
			t.Errorf("order %s is %s, %s", task.OrderNo, task.State, task.OrderState)
		}
	}
	asked := d.requests() // only now: a query may come after the wait
	took := time.Since(began)
	if most := 10 * (int(took/time.Second) + 2); asked == 0 || asked > most {
		t.Errorf("%d queries in %v; want 1 to %d: 10 a second", asked, took, most)
	}
	strangers := 10 * (int(took/time.Minute) + 2) // records of notices about no order
	if tasks["order.watch"] != orders || tasks["order.notice"] > asked+strangers || len(tasks) != 2 || d.notices() > 0 {
		t.Errorf("tasks %v after %d queries, %d told; want %d orders, a record for each query and %d more at most, nothing told", tasks, asked, d.notices(), orders, strangers)
	}
	// The store's own tables in memory grow for a while; 9,000 notices of 200 bytes and their
	// orders would be 10 MB.
	if grown := heap[9] - heap[0]; grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes from %d notices to %d: %v", grown, wave, 10*wave, heap)
	}
	t.Logf("%v, %d queries, heap %d", took, asked, heap)
}

// Whoever sends long notices slowly takes few places: others of the same network are told to come
// again, and usual notices are read. Long notices that were read take no place.
func TestSlowLongNotices(t *testing.T) {
	d := newDesk(t)
	_, s := d.serveNoticed(t)
	long := paidNotice("nobody's", 1) + strings.Repeat(" ", 8192)
	for i := range server.MaxLongOf + 1 {
		if status, answer := notify(t, s, long, "a key that is wrong"); status != 400 {
			t.Fatalf("long notice %d: %d %s; want 400", i, status, answer)
		}
	}
	first, tries := "", 0
	for !strings.HasPrefix(first, "HTTP/1.1 503") {
		began := time.Now()
		answers := make(chan string, server.MaxLongOf+1)
		for range server.MaxLongOf + 1 {
			conn, err := net.Dial("tcp", s.NoticesAddr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /notices/orders HTTP/1.1\r\nHost: notices\r\nContent-Length: 200000\r\n\r\n%08192d", 0)
			go func() {
				first, _ := bufio.NewReader(conn).ReadString('\n')
				answers <- first
			}()
		}
		first = <-answers
		// On a slow machine the first notice may be given up before the last one comes.
		if tries++; !strings.HasPrefix(first, "HTTP/1.1 503") && (time.Since(began) < 3*time.Second || tries == 20) {
			t.Fatalf("the first answer is %q; want one 503, and the others to wait for the rest of their notices", first)
		}
	}
	if status, answer := notify(t, s, paidNotice("nobody's", 1), "a key that is wrong"); status != 400 {
		t.Errorf("a usual notice meanwhile: %d %s; want 400", status, answer)
	}
}

// The header of a notice is shorter than one of the API may be, for strangers can send thousands.
func TestLongHeadersOfNotices(t *testing.T) {
	_, s := newDesk(t).serveNoticed(t)
	for size, want := range map[int]int{12 << 10: http.StatusBadRequest, 32 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.NoticesAddr()+"/notices/orders", strings.NewReader(paidNotice("nobody's", 1)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Padding", strings.Repeat("x", size))
		resp, err := http.DefaultClient.Do(req)
		switch {
		case err == nil:
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("a header of %d bytes: %d; want %d", size, resp.StatusCode, want)
			}
		case want == http.StatusBadRequest: // the server closes a connection that sends too much, and its answer may be lost
			t.Errorf("a header of %d bytes: %v; want %d", size, err, want)
		}
	}
}

// replaced returns a list with one text in place of another.
func replaced(list []string, old, text string) (out []string) {
	for _, s := range list {
		if s == old {
			s = text
		}
		out = append(out, s)
	}
	return out
}

// forge sends a notice with a signature that somebody guessed, and reports whether it was refused
// as it should be.
func forge(t *testing.T, c *http.Client, addr, body string) bool {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/notices/orders", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Error(err)
		return false
	}
	req.Header.Set("X-Signature", "7d8cfe2ea3ee7f1ad37ae0f4bd25b9fdcbb9e9e5db0b5d76a3a4d9fdb0c7a1fe")
	resp, err := c.Do(req)
	if err != nil {
		t.Error(err)
		return false
	}
	defer resp.Body.Close()
	var said bytes.Buffer
	said.ReadFrom(resp.Body)
	if resp.StatusCode != 400 || said.String() != "fail" {
		t.Errorf("%d %q; want 400 fail", resp.StatusCode, &said)
		return false
	}
	return true
}
