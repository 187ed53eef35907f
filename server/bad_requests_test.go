package server_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// A wrongRequest must be refused. In all of its texts, # stands for a number that is different each
// time.
type wrongRequest struct{ method, path, key, body string }

const strangerID = "01a1fba8-6e50-7001-bce2-######"

var wrongRequests = []wrongRequest{
	// What is no JSON, or not what was to be said in it.
	{"POST", "/v1/tasks", "admin", ``},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","key":"#`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default"} and #`},
	{"POST", "/v1/tasks", "admin", "{\"queue\":\"default\",\"key\":\"#\xff\"}"},
	{"POST", "/v1/tasks", "admin", strings.Repeat(`[`, 300) + `#`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","url":"http://127.0.0.1/#","json":` + strings.Repeat(`[`, 300) + strings.Repeat(`]`, 300) + `}`},
	{"POST", "/v1/tasks", "admin", `["#"]`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","url":"http://127.0.0.1/#","colour_#":"red"}`},
	{"POST", "/v1/tasks", "admin", `{"queue":"none-#","url":"http://127.0.0.1/#"}`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","url":"ftp://127.0.0.1/#"}`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","url":"http://10.1.2.3/#"}`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","url":"http://127.0.0.1/#","schedule":"often #"}`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","url":"http://127.0.0.1/#","success":"status == (#"}`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","schedule":"0s, 1#s","success":"status == 1# || body == \"#\""}`}, // no URL
	{"POST", "/v1/tasks", "admin", `{"queue":"default","url":"http://127.0.0.1/#","headers":{"Bellman-Task":"#","a b#":"c"}}`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","url":"http://127.0.0.1/#","due":"tomorrow #"}`},
	{"POST", "/v1/tasks", "admin", `{"queue":"default","url":"http://127.0.0.1/#","body":"` + strings.Repeat("x", 256<<10+1) + `"}`},
	{"POST", "/v1/tasks", "admin", strings.Repeat(" ", 2<<20) + "#"},
	{"POST", "/v1/tasks/batch", "admin", `{"tasks":[]}`},
	{"POST", "/v1/tasks/batch", "admin", `{"tasks":[` + strings.Repeat(`{"queue":"#"},`, 1000) + `{}]}`},
	{"POST", "/v1/tasks/batch", "admin", `{"tasks":{"#":1}}`},
	{"POST", "/v1/resends", "admin", `{"filter":{"state":"#"}}`},
	{"POST", "/v1/reconciliations", "admin", `{"queue":"none-#","date":"2026-11-21"}`},
	{"POST", "/v1/reconciliations/file?queue=default&date=2026-11-21&map=#", "admin", "#"},
	{"POST", "/v1/reconciliations/file?queue=none-#&date=2026-11-21", "admin", "#"},
	{"GET", "/v1/reconciliations/2026-11-21-#/differences", "admin", ""},
	{"POST", "/v1/backup", "admin", `{"dir":"no/root/#"}`},
	{"POST", "/v1/tasks/" + strangerID + "/resend", "admin", `{"mode":"often #"}`},

	// What is not there, or cannot be done.
	{"GET", "/v1/tasks/" + strangerID, "admin", ""},
	{"POST", "/v1/tasks/" + strangerID + "/cancel", "admin", `{"reason":"#"}`},
	{"GET", "/v1/tasks/#", "admin", ""},
	{"GET", "/v1/tasks?limit=#000", "admin", ""},
	{"GET", "/v1/tasks?cursor=#", "admin", ""},
	{"GET", "/v1/tasks?colour=#", "admin", ""},
	{"GET", "/v1/tasks?created_from=#", "admin", ""},
	{"GET", "/v1/queues/default/keys/none-#", "admin", ""},
	{"POST", "/v1/queues/none-#/pause", "admin", ""},
	{"POST", "/v1/endpoints/no%20host-#/pause", "admin", ""},
	{"GET", "/v1/resends/" + strangerID, "admin", ""},
	{"GET", "/v1/stats?window=#x", "admin", ""},
	{"GET", "/nowhere/#", "admin", ""},
	{"GET", "/v1//tasks/../#", "admin", ""},
	{"DELETE", "/v1/tasks/" + strangerID, "admin", ""},
	{"PATCH", "/v1/queues", "admin", "#"},
	{"NONSENSE", "/v1/tasks", "admin", "#"},

	// Who may not.
	{"GET", "/v1/tasks", "", ""},
	{"GET", "/v1/tasks", "guess-#", ""},
	{"GET", "/v1/events", "guess-#", ""},
	{"GET", "/metrics", "guess-#", ""},
	{"POST", "/v1/queues/default/pause", "submit", `{"reason":"#"}`},
	{"GET", "/v1/audit", "submit", ""},
}

// rawRequests are no HTTP at all, or too much of it.
var rawRequests = []string{
	"NONSENSE #\r\n\r\n",
	"GET /v1/tasks#\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"GET /v1/tasks HTTP/1.1\r\n\r\n", // no host
	"GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\nX: #" + strings.Repeat("x", 2<<20),
	"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: -#\r\n\r\n",
}

// Every wrong request is refused as the caller's mistake, and leaves neither memory nor goroutines
// behind.
func TestWrongRequests(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	_, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		c.Keys = []access.Key{
			{Name: "a", Role: "admin", SHA256: sha256.Sum256([]byte("admin-key"))},
			{Name: "s", Role: "submit", SHA256: sha256.Sum256([]byte("submit-key"))},
		}
	})
	defer stop()
	send := func(from, to int) (heap uint64) {
		var transport http.Transport
		var senders sync.WaitGroup
		for worker := range 8 {
			senders.Go(func() {
				for n := from + worker; n < to; n += 8 {
					r := &wrongRequests[n%len(wrongRequests)]
					status, answer, err := r.send(&transport, s.Addr(), n)
					if err != nil || status < 400 || status >= 500 {
						t.Errorf("%s %s %.200s: %d %.200s, %v; want a status of 4xx", r.method, r.path, r.body, status, answer, err)
					}
				}
			})
		}
		senders.Wait()
		transport.CloseIdleConnections()
		for n := from; n < to; n += 100 {
			text := strings.ReplaceAll(rawRequests[n/100%len(rawRequests)], "#", fmt.Sprint(n))
			if answer, err := sendRaw(s.Addr(), text); !strings.HasPrefix(answer, "HTTP/1.1 4") {
				t.Errorf("%.200q is answered %.200q, %v; want a status of 4xx", text, answer, err)
			}
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	passes(t, "ready", func() bool { return s.Engine().Ready(t.Context()) == nil })
	goroutines := runtime.NumGoroutine()
	const first, last = 1000 / server.Fewer, 5000 / server.Fewer
	before := send(0, first)
	after := send(first, last)
	t.Logf("heap of %d KiB after %d requests, %d KiB after %d", before>>10, first, after>>10, last)
	if after > before+1<<20 {
		t.Errorf("heap of %d KiB after %d wrong requests, %d KiB after %d; want at most 1 MiB more", before>>10, first, after>>10, last)
	}
	passes(t, fmt.Sprintf("at most %d goroutines, as before", goroutines), func() bool { return runtime.NumGoroutine() <= goroutines })
}

// send sends the request as number n and returns its answer.
func (r *wrongRequest) send(transport *http.Transport, addr string, n int) (status int, body string, err error) {
	fill := func(s string) string {
		s = strings.ReplaceAll(s, "######", fmt.Sprintf("%012x", n))
		return strings.ReplaceAll(s, "#", fmt.Sprint(n))
	}
	req, err := http.NewRequest(r.method, "http://"+addr+fill(r.path), strings.NewReader(fill(r.body)))
	if err != nil {
		return 0, "", err
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+fill(r.key)+"-key")
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

// sendRaw sends text as it is, and returns what is answered to it.
func sendRaw(addr, text string) (answer string, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	go io.WriteString(conn, text) // more than is read: it ends when the connection does
	b := make([]byte, 100)
	n, err := io.ReadAtLeast(conn, b, len("HTTP/1.1 4"))
	return string(b[:n]), err
}
