//go:build !race

package console_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// page is a page's text.
func (w *world) page(t testing.TB, path string) string {
	t.Helper()
	answer, err := http.Get(w.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, %v", path, answer.StatusCode, err)
	}
	return strings.ReplaceAll(string(body), "<wbr>", "") // a line may be broken there
}

// The page of a waiting task says which pause it waits for: of its merchant, its endpoint or its
// queue.
func TestHeldTasks(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.registered(t)
	const later = "1h"
	create := func(in client.CreateTask) string {
		in.Queue, in.Delay = "merchant-notify", later
		return "/tasks/" + w.create(t, in)
	}
	merchant := create(client.CreateTask{MerchantNo: "M1002"})
	atAddress := create(client.CreateTask{MerchantNo: "M1001"}) // goes to the address of its merchant
	endpoint := create(client.CreateTask{URL: w.merchant.URL + "/ok"})
	elsewhere := create(client.CreateTask{URL: "http://127.0.0.1:9/ok"})
	held := func(path, want string) {
		t.Helper()
		const says = "Not attempted while this is paused:"
		page := w.page(t, path)
		_, rest, found := strings.Cut(page, says)
		if got, _, _ := strings.Cut(rest, "</a>"); found != (want != "") || found && !strings.HasSuffix(got, ">"+want) {
			t.Errorf("%s: held by %q, want %q", path, got, want)
		}
	}
	held(merchant, "merchant/M1002")
	held(endpoint, "")
	if _, err := w.api.PauseEndpoint(t.Context(), w.merchant.URL, client.Because{Reason: "mends it"}); err != nil {
		t.Fatal(err)
	}
	held(endpoint, "endpoint/"+w.merchant.URL)
	held(atAddress, "endpoint/"+w.merchant.URL)
	held(elsewhere, "")
	if err := w.api.PauseQueue(t.Context(), "merchant-notify", client.Because{Reason: "the bank rests"}); err != nil {
		t.Fatal(err)
	}
	held(elsewhere, "queue/merchant-notify")

	// Nothing is attempted at a due time that passes in a pause.
	if got := w.page(t, elsewhere); !strings.Contains(got, "Next attempt") {
		t.Error("the page of a task that is due in an hour does not say when")
	}
	now := "/tasks/" + w.create(t, client.CreateTask{Queue: "merchant-notify", URL: "http://127.0.0.1:9/ok"})
	if got := w.page(t, now); strings.Contains(got, "Next attempt") {
		t.Error("the page of a paused task speaks of a next attempt that is past")
	}
}
