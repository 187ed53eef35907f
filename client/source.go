package client

import (
	"context"
	"net/http"
)

// A Source is a queue or stream of a broker whose messages become tasks, as the answering node sees
// it. Counts are since the start of that node.
type Source struct {
	Name  string `json:"name" doc:"CONNECTION/QUEUE, or CONNECTION/STREAM/DURABLE." example:"main/order.paid"`
	Into  string `json:"into" doc:"The default queue."`
	State string `json:"state" enum:"connecting,consuming,paused,stopped" doc:"paused: intake is closed, and messages stay with the broker."`
	Since Time   `json:"since" format:"date-time" doc:"When the state began."`
	Why   string `json:"why" doc:"Why the source is paused, or the error of connecting."`

	Stored   int64 `json:"stored" doc:"Messages that became tasks."`
	Existing int64 `json:"existing" doc:"Messages whose task existed already."`
	Dead     int64 `json:"dead" doc:"Messages that are no valid task, and went to the dead letters."`
	InHand   int   `json:"in_hand" doc:"Messages that were received and not yet confirmed to the broker."`
	Failures int64 `json:"failures" doc:"How often the broker could not be reached, or the connection broke."`

	LastError   string `json:"last_error" doc:"The latest error; empty: none."`
	LastErrorAt *Time  `json:"last_error_at" format:"date-time"`
}

// Sources is the list of all sources.
type Sources struct {
	Sources []Source `json:"sources" nullable:"false"`
	Intake  Intake   `json:"intake"`
}

// An Intake says whether the answering node accepts tasks. While it does not, sources are paused
// and creates are answered with 429.
type Intake struct {
	Open     bool  `json:"open"`
	Waiting  int   `json:"waiting" doc:"Tasks that are overdue or wait for a commit, without deferred tasks. The count stops once it is known to be above high."`
	High     int   `json:"high" doc:"High mark of waiting: above it new tasks are rejected."`
	Low      int   `json:"low" doc:"Low mark of waiting: below it new tasks are accepted again."`
	Heap     int64 `json:"heap_bytes" doc:"Live heap after the last garbage collection, in bytes."`
	HeapHigh int64 `json:"heap_high_bytes" doc:"High mark of heap_bytes: above it new tasks are rejected, until the heap is an eighth below; 0: no limit."`
}

// Sources reads the sources of the server, and its intake.
func (c *Client) Sources(ctx context.Context) (*Sources, error) {
	return one[Sources](ctx, c, http.MethodGet, "/v1/sources", nil, nil)
}
