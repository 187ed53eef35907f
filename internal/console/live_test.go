package console

import (
	"bufio"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
)

func TestLiveTellsOfChangesAndEndsWithTheSession(t *testing.T) {
	s := open(t, testKeys...)
	task := s.task(t)
	s.signIn(t, "reader")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/tasks/"+task.ID.String()+"/live?version=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Fatalf("the stream ended without %q: %v", want, lines.Err())
	}
	to := task.Status
	to.Updated = t0.Add(time.Second)
	b := store.Batch{Changes: []store.Change{{ID: task.ID, Version: 1, To: to}}}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	next("event: changed")
	if got := s.post(t, "/tasks", "/signout"); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing out: %d", got.StatusCode)
	}
	next("event: over")

	// A page whose stream begins after the session is told so too: a browser does not ask again
	// after a refusal.
	again, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Body.Close()
	if kind := again.Header.Get("Content-Type"); again.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("a stream without a session: %d, %s; want one that says that it is over", again.StatusCode, kind)
	}
	lines = bufio.NewScanner(again.Body)
	next("event: over")
}

// An open page ends if its key may no longer be used from where it is.
func TestLiveEndsWithTheAddressesOfItsKey(t *testing.T) {
	s := open(t, testKeys...)
	s.signIn(t, "reader")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/tasks/"+s.task(t).ID.String()+"/live?version=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	elsewhere := slices.Clone(testKeys)
	for i := range elsewhere {
		elsewhere[i].From = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	}
	if err := s.SetKeys(elsewhere); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body) // until the server ends it
	if err != nil || !strings.Contains(string(text), "event: over") {
		t.Errorf("the stream ended with %q, %v; want it to say that the session is over", text, err)
	}
}

// A merchant's answer on the overview cannot add lines to its live stream.
func TestAnswersAddNoLinesToTheStream(t *testing.T) {
	s := open(t)
	s.fake.endpoints = []figures.Endpoint{{Endpoint: "https://m.example:443", Breaker: "open", Hour: &figures.Recent{Attempts: 5, Failure: &figures.Failure{
		At: time.Now(), Result: bellman.Refused, Status: 200, Response: "no\revent: over\rretry: 1\r\n\rid: 1",
	}}}}
	answer, err := s.client.Get(s.server.URL + "/live?part=figures")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	whole := bufio.NewReader(answer.Body)
	var event strings.Builder
	for !strings.Contains(event.String(), "data: ") || !strings.HasSuffix(event.String(), "\n\n") {
		line, err := whole.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		event.WriteString(line)
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(event.String()) // as browsers read it
	_, text, _ = strings.Cut(text, "\n\n")                                        // retry
	lines := strings.Split(strings.TrimSuffix(text, "\n\n"), "\n")
	if !strings.Contains(text, "retry: 1") || lines[0] != "event: part" {
		t.Fatalf("the stream begins with %.300q; want the part with the answer", text)
	}
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "data: ") {
			t.Errorf("the answer makes the line %q", line)
		}
	}
}
