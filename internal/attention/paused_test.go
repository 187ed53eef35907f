package attention

import (
	"slices"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store/memory"
)

// The pause of a queue of orders is also that of the endpoint of its name, and is listed once.
// Another pause of an endpoint of that name is listed too.
func TestAPausedQueueIsListedOnce(t *testing.T) {
	at := time.Now().Add(-time.Minute)
	w := &world{Store: memory.New()}
	w.f.Queues = []figures.Queue{{Name: "orders", Kind: "order", Pause: &figures.Pause{At: at, Who: "wang"}}}
	for seconds, want := range map[time.Duration][]string{0: {QueuePaused}, 5: {EndpointPaused, QueuePaused}} {
		w.f.Endpoints = []figures.Endpoint{{Endpoint: "orders", Waiting: 1, Pause: &figures.Pause{At: at.Add(seconds * time.Second), Who: "wang"}}}
		list, err := w.desk().List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, item := range list.Items {
			kinds = append(kinds, item.Kind)
		}
		if slices.Sort(kinds); !slices.Equal(kinds, want) {
			t.Errorf("an endpoint paused %v after its queue: %q; want %q", seconds*time.Second, kinds, want)
		}
	}
}
