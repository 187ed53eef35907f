package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	patience = 5 * time.Minute // on a slow and busy machine
	goleak.VerifyTestMain(m)
}

func TestOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	if err := Run(t.Context(), Options{Out: &out, Once: true}); err != nil {
		t.Fatalf("Run: %v\n%s", err, &out)
	}
	rest := out.String()
	for _, want := range []string{
		"bellman listens on http://127.0.0.1:",
		`answers 500 "busy"`, "records attempt 1: error_status 500", "1s after this one",
		`answers 200 "fail"`, "records attempt 2: refused", "2s after this one",
		`answers 200 "success"`, "records attempt 3: accepted", "succeeded: accepted",
		"has it already", "answers 409", "was told 3 times before, and no more",
		`"the merchant asked"`, "records attempt 4: accepted",
		"places order …0002", "answers 200 NOTPAY", "records attempt 1: query, PENDING", "answers 200 SUCCESS", "succeeded: paid", "GET /v1/orders/M1001/20261120000002",
		"places order …0003", "asked to close order …0003", "answers 204", ": close, closed", "answers 200 CLOSED", ": query, CLOSED", "succeeded: closed",
		"reads the order: CLOSED", "ends the watch for a late payment",
		"places order …0004", "asked to close order …0004", "answers 400 ORDERPAID", "answers 200 SUCCESS", "succeeded: paid", "reads the order: PAID",
		"places order …0005", "tells that order …0005 is paid", "has decided the order", `answers 200 "success"`, "reads the order: PAID", "was never asked about order …0005",
		"/orders?merchant_no=M1001&order_no=20261120000005",
		"has refund …5-R1 of order …0005 watched", "answers 200 PROCESSING", "records attempt 1: query, PENDING", "answers 200 SUCCESS", "succeeded: done", "reads the refund: DONE",
		"/orders?merchant_no=M1001&order_no=20261120000005",
		"The story is over",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("the timeline lacks %q, or has it too early:\n%s", want, &out)
		}
		rest = after
	}
	// Every attempt has its number in its task, and no line counts anything else.
	before := 0
	for _, m := range regexp.MustCompile(`(attempt|query|close) (\d+):`).FindAllStringSubmatch(out.String(), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || m[1] != "attempt" || n != 1 && n != before+1 {
			t.Errorf("%s follows attempt %d", m[0], before)
		}
		before = n
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("the temporary directory has %v left, %v; want nothing", left, err)
	}
}

// A demo that is not ended runs on after its story. Being told to stop is no error.
func TestServesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &until{text: "Ctrl-C ends it", reached: cancel}
	if err := Run(ctx, Options{Out: out}); err != nil {
		t.Fatalf("Run: %v\n%s", err, &out.b)
	}
	if s := out.b.String(); !strings.Contains(s, "  curl -s http://127.0.0.1:") {
		t.Errorf("there is nothing to try in\n%s", s)
	}
}

func TestStoppedMidway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &until{text: "records attempt 1", reached: cancel}
	if err := Run(ctx, Options{Out: out, Once: true}); err != nil {
		t.Errorf("Run, stopped in the middle of the story: %v; want nil", err)
	}
}

// until calls reached when a text was written.
type until struct {
	b       bytes.Buffer
	text    string
	reached func()
}

func (u *until) Write(p []byte) (int, error) {
	u.b.Write(p)
	if strings.Contains(u.b.String(), u.text) {
		u.reached()
	}
	return len(p), nil
}

// If a story does not go as planned, the demo ends with an error that names the scene.
func TestGoesWrong(t *testing.T) {
	s := &stage{timeline: newTimeline(io.Discard), merchant: &merchant{loopback: &loopback{}}, channel: &channel{loopback: &loopback{}}}
	broken := errors.New("the merchant was told twice")
	err := s.tell(t.Context(), []scene{
		{"Once.", func(context.Context, *stage) error { return nil }},
		{"Twice.", func(context.Context, *stage) error { return broken }},
		{"Never.", func(context.Context, *stage) error { t.Error("the story went on"); return nil }},
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "Twice.") {
		t.Errorf("tell: %v; want it to be of the scene Twice., and say %q", err, broken)
	}
}

func TestWrongAddress(t *testing.T) {
	for _, listen := range []string{"2355", "0.0.0.0:0"} {
		if err := Run(t.Context(), Options{Out: io.Discard, Listen: listen, Once: true}); err == nil {
			t.Errorf("Run with Listen %q: no error", listen)
		}
	}
}

func TestMerchant(t *testing.T) {
	m, err := newMerchant(newTimeline(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		if err := m.serve(); err != nil {
			t.Error(err)
		}
	})
	defer served.Wait()
	defer m.close()
	m.answers("1", answer{500, "busy"}, answer{200, "fail"})
	c := &http.Client{Timeout: 5 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for i, want := range []answer{{500, "busy"}, {200, "fail"}, {200, "success"}, {200, "success"}} {
		resp, err := c.Post(m.url, "application/json", strings.NewReader(`{"order_no":"1"}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want.status || string(body) != want.body {
			t.Errorf("answer %d: %d %q, %v; want %d %q", i+1, resp.StatusCode, body, err, want.status, want.body)
		}
	}
	if n := m.times("1"); n != 4 {
		t.Errorf("the merchant says that it was told %d times; want 4", n)
	}
}
