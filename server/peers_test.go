package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A node of a test: what it was told.
type hearer struct {
	*peers
	addr string
	got  chan engine.Hint
}

func hear(t *testing.T, store store.Store) *hearer {
	t.Helper()
	h := &hearer{got: make(chan engine.Hint, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	h.addr = strings.TrimPrefix(s.URL, "http://")
	log := slog.New(slog.DiscardHandler)
	secret, err := newSecret(t.Context(), store, log)
	if err != nil {
		t.Fatal(err)
	}
	h.peers = newPeers(secret, h.addr, func(hint engine.Hint) { h.got <- hint }, log)
	t.Cleanup(h.close)
	return h
}

func (h *hearer) count() (sent, failed, received, refused int64) {
	return h.sent.Load(), h.failed.Load(), h.received.Load(), h.refused.Load()
}

func TestHintArrives(t *testing.T) {
	store := memory.New()
	a, b := hear(t, store), hear(t, store)
	want := engine.Hint{From: "a/1", Added: []uint16{3, 65535}, Since: 5, Until: 9, Docs: []string{"pause"}}
	for range 3 {
		a.tell(t.Context(), b.addr, want)
		select {
		case got := <-b.got:
			if !reflect.DeepEqual(got, want) {
				t.Errorf("told %+v; want %+v", got, want)
			}
		default:
			t.Fatal("nothing was told")
		}
	}
	a.tell(t.Context(), a.addr, want)
	if sent, failed, received, _ := a.count(); sent != 3 || failed != 0 || received != 0 {
		t.Errorf("a sent %d, of which %d failed, and received %d; want 3, 0, 0: nobody tells himself", sent, failed, received)
	}
}

// Two nodes that made a secret at the same time agree on one. So does a node that was started
// before the store was emptied.
func TestHintWithAnotherSecret(t *testing.T) {
	store := memory.New()
	a, b := hear(t, store), hear(t, store)
	if err := a.secret.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, old := range []*hearer{a, b} { // in turn: who sends has the old one, who receives has it
		a.secret.read, b.secret.read = time.Time{}, time.Time{}
		old.secret.value = bytes.Repeat([]byte{7}, 32)
		a.tell(t.Context(), b.addr, engine.Hint{From: "a/1"})
		select {
		case <-b.got:
		default:
			t.Fatal("nothing was told")
		}
	}
}

// A stranger, without the secret, or with what a peer has said before.
func TestHintIsRefused(t *testing.T) {
	store := memory.New()
	a, b, c := hear(t, store), hear(t, store), hear(t, store)
	body := `{"from":"a/1"}`
	sign := func(p *hearer, at time.Time, to, body string) string {
		return fmt.Sprintf("t=%d,v1=%x", at.UnixNano(), p.signature(at.UnixNano(), hintPath, to, []byte(body)))
	}
	now := time.Now()
	stranger := hear(t, memory.New())
	good := sign(a, now, b.addr, body)
	tests := []struct {
		name, header, body string
		status             int
	}{
		{"nothing", "", body, 401},
		{"nonsense", "t=,v1=", body, 401},
		{"no hexadecimal", fmt.Sprintf("t=%d,v1=xyz", now.UnixNano()), body, 401},
		{"an empty signature", fmt.Sprintf("t=%d,v1=", now.UnixNano()), body, 401},
		{"another secret", sign(stranger, now, b.addr, body), body, 401},
		{"another node's", sign(a, now, c.addr, body), body, 401},
		{"another body", good, `{"from":"a/2"}`, 401},
		{"another time", strings.Replace(good, "t=1", "t=2", 1), body, 401},
		{"too old", sign(a, now.Add(-hintWindow-time.Second), b.addr, body), body, 401},
		{"too young", sign(a, now.Add(hintWindow+time.Minute), b.addr, body), body, 401},
		{"no JSON", sign(a, now, b.addr, "x"), "x", 401},
		{"of nobody", sign(a, now, b.addr, "{}"), "{}", 401},
		{"too long", sign(a, now, b.addr, strings.Repeat(" ", hintBytes)+body), strings.Repeat(" ", hintBytes) + body, 401},
		{"a good one", good, body, 204},
		{"the same again", good, body, 401},
		{"an earlier one", sign(a, now.Add(-time.Millisecond), b.addr, body), body, 401},
		{"a later one", sign(a, now.Add(time.Millisecond), b.addr, body), body, 204},
	}
	for _, tt := range tests {
		b.secret.read = time.Now() // the secret is as it is
		r := httptest.NewRequest("POST", hintPath, strings.NewReader(tt.body))
		r.Header.Set(hintHeader, tt.header)
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		if w.Code != tt.status || w.Body.Len() > 0 {
			t.Errorf("%s: %d %q; want %d and no word", tt.name, w.Code, w.Body, tt.status)
		}
	}
	if len(b.got) != 2 {
		t.Errorf("%d hints were taken in; want 2", len(b.got))
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, httptest.NewRequest("GET", hintPath, nil))
	if w.Code != 405 {
		t.Errorf("GET: %d; want 405", w.Code)
	}
}

// A peer that does not answer costs one try in a while; one that sends elsewhere is not followed.
func TestHintIsLost(t *testing.T) {
	store := memory.New()
	a := hear(t, store)
	elsewhere := make(chan string, 10)
	trap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere <- r.URL.Path }))
	defer trap.Close()
	leads := httptest.NewServer(http.RedirectHandler(trap.URL+"/metadata", http.StatusTemporaryRedirect))
	defer leads.Close()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else nobody looks whether the caller is there
		<-r.Context().Done()
	}))
	defer hangs.Close()
	const gone = "http://127.0.0.1:1" // nothing listens on this port
	began := time.Now()
	for _, addr := range []string{strings.TrimPrefix(leads.URL, "http://"), strings.TrimPrefix(hangs.URL, "http://"),
		strings.TrimPrefix(gone, "http://"), "", "nowhere", "127.0.0.1", "a/b:1", "user@127.0.0.1:1/x?", "http://127.0.0.1:80"} {
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			a.tell(ctx, addr, engine.Hint{From: "a/1"})
			cancel()
		}
	}
	if sent, failed, _, _ := a.count(); sent != 0 || failed != 9 && time.Since(began) < restAfter {
		t.Errorf("%d hints were sent and %d failed; want none and one for each address", sent, failed)
	}
	if len(elsewhere) > 0 {
		t.Errorf("a redirect was followed to %s", <-elsewhere)
	}
}

// A node gives its figures to its peers alone, and accepts figures from its peers alone.
func TestFigures(t *testing.T) {
	store := memory.New()
	a, b, stranger := hear(t, store), hear(t, store), hear(t, memory.New())
	var want engine.Report
	if err := json.Unmarshal([]byte(`{"node": "b/1",
		"queues": [{"name": "q", "waiting": 7, "oldest_free": "2026-11-20T10:00:00.123Z", "last_minute": {"Added": 2, "Attempts": {"timeout": 3}}}],
		"endpoints": [{"Endpoint": "https://m.example:443", "SuccessRate": -1, "Pause": {"Who": "ops"}}],
		"windows": [{"counts": {"Failed": 1}, "late": {"buckets": [[3, 9]], "max_ns": 1000000000}}]}`), &want); err != nil {
		t.Fatal(err)
	}
	ask := figures.Ask{Queues: true, Windows: []time.Duration{time.Hour}}
	for _, h := range []*hearer{b, stranger} {
		h.report = func(_ context.Context, asked figures.Ask) engine.Report {
			if !reflect.DeepEqual(asked, ask) {
				t.Errorf("asked %+v; want %+v", asked, ask)
			}
			return want
		}
	}
	if got, err := a.ask(t.Context(), b.addr, ask); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("b says %+v, %v; want %+v", got, err, want)
	}
	if got, err := a.ask(t.Context(), stranger.addr, ask); err == nil {
		t.Errorf("who does not know the secret was answered: %+v", got)
	}
	for name, header := range map[string]string{"none": "", "another time": fmt.Sprintf("t=5,v1=%x", a.signature(5, figuresPath+answered, "", []byte("{}")))} {
		liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(hintHeader, header)
			io.WriteString(w, "{}")
		}))
		defer liar.Close()
		if _, err := a.ask(t.Context(), strings.TrimPrefix(liar.URL, "http://"), ask); err == nil {
			t.Errorf("signature %s: figures of a liar were believed", name)
		}
	}
	r := httptest.NewRequest("POST", figuresPath, strings.NewReader("{}"))
	at := time.Now().UnixNano()
	r.Header.Set(hintHeader, fmt.Sprintf("t=%d,v1=%x", at, b.signature(at, hintPath, b.addr, []byte("{}")))) // of a hint
	w := httptest.NewRecorder()
	if b.ServeHTTP(w, r); w.Code != 401 {
		t.Errorf("a question signed as a hint: %d; want 401", w.Code)
	}
}

// A node that is not reached for a while at the address that it gives is said once.
func TestSaysWrongAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		p := &peers{self: "10.0.0.1:2355", silent: map[string]silence{}, resting: map[string]time.Time{}, log: slog.New(slog.NewTextHandler(&text, nil))}
		gone := errors.New("connection refused")
		for range 100 {
			p.unreached("10.0.0.9:2355", gone)         // for long
			p.tell(t.Context(), p.self, engine.Hint{}) // gives this node's own
			p.unreached("10.0.0.2:2355", gone)         // now and then
			p.unreached("10.0.0.2:2355", nil)
			time.Sleep(time.Second)
		}
		p.unreached("10.0.0.3:2355", gone) // once, and then nobody asks
		time.Sleep(time.Hour)
		p.unreached("10.0.0.3:2355", gone)
		if said := text.String(); strings.Count(said, "set advertise on that node") != 2 || strings.Count(said, "10.0.0.9:2355") != 1 || strings.Count(said, "this node's own") != 1 {
			t.Errorf("said\n%s; want one line for each of two addresses", said)
		}
	})
}
