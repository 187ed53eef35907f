package server_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

func TestConsoleAndAPIShareTheAddress(t *testing.T) {
	_, s, stop := serve(t, t.TempDir(), nil)
	defer stop()
	var transport http.Transport
	defer transport.CloseIdleConnections()
	for path, want := range map[string]string{
		"/tasks":        "text/html",
		"/v1/tasks":     "application/json",
		"/openapi.json": "application/json",
		"/healthz":      "application/json",
		"/metrics":      "text/plain",
		"/nothing":      "application/problem+json",
	} {
		answer, err := (&http.Client{Transport: &transport}).Get("http://" + s.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("GET %s: %d %s; want %s", path, answer.StatusCode, got, want)
		}
	}
}

// A browser that looks for a page that there is not is told by a page, in its language.
func TestABrowserWhereThereIsNothing(t *testing.T) {
	_, s, stop := serve(t, t.TempDir(), nil)
	defer stop()
	var transport http.Transport
	defer transport.CloseIdleConnections()
	for path, want := range map[string]struct {
		status int
		kind   string
		says   string
	}{
		"/nowhere":      {http.StatusNotFound, "text/html", "没有此页面。"},
		"/v1/nowhere":   {http.StatusNotFound, "application/problem+json", "no such path"},
		"/openapi.json": {http.StatusOK, "application/json", "openapi"},
		"/metrics":      {http.StatusOK, "text/plain", "bellman_"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		r.Header.Set("Accept-Language", "zh-CN")
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if kind := answer.Header.Get("Content-Type"); err != nil || answer.StatusCode != want.status || !strings.HasPrefix(kind, want.kind) || !strings.Contains(string(body), want.says) {
			t.Errorf("GET %s: %d %s, %v; want %d %s, which says %q", path, answer.StatusCode, kind, err, want.status, want.kind, want.says)
		}
	}
}

func TestAStopDoesNotWaitForPagesThatAreOpen(t *testing.T) {
	api, s, stop := serve(t, t.TempDir(), nil)
	id := create(t, api, client.CreateTask{Queue: "default", URL: "http://127.0.0.1:1/", Delay: "1h"}).ID
	var transport http.Transport
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: &transport}).Get("http://" + s.Addr() + "/tasks/" + id + "/live")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	stream := bufio.NewReader(answer.Body)
	if line, err := stream.ReadString('\n'); !strings.HasPrefix(line, "retry:") {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	stop()
	// A stop that waits for the page cuts its connection in the end.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Errorf("the stream ended with %v; want it ended by the server", err)
	}
}
