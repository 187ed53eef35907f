package client

import (
	"context"
	"net/http"
)

// A Source is a queue or stream of a broker whose messages become tasks, as the node
// that answers sees it. Counts are since it started.
type Source struct {
	Name  string `json:"name" doc:"CONNECTION/QUEUE, or CONNECTION/STREAM/DURABLE." example:"main/order.paid"`
	Into  string `json:"into" doc:"The queue of tasks that name none."`
	State string `json:"state" enum:"connecting,consuming,paused,stopped" doc:"paused: there is no room, and messages stay with the broker."`
	Since Time   `json:"since" format:"date-time" doc:"When the state began."`
	Why   string `json:"why" doc:"Why it is paused, or what went wrong while it connects."`

	Stored   int64 `json:"stored" doc:"Messages that became tasks."`
	Existing int64 `json:"existing" doc:"Messages that were tasks already."`
	Dead     int64 `json:"dead" doc:"Messages that can be no task, and are with the dead letters."`
	InHand   int   `json:"in_hand" doc:"Messages that were taken, and of which the broker was told nothing yet."`
	Failures int64 `json:"failures" doc:"Times that the broker could not be reached, or that the connection broke."`

	LastError   string `json:"last_error" doc:"What went wrong last; empty: nothing did."`
	LastErrorAt *Time  `json:"last_error_at" format:"date-time"`
}

// Sources is the list of all sources.
type Sources struct {
	Sources []Source `json:"sources" nullable:"false"`
	Intake  Intake   `json:"intake"`
}

// An Intake says whether the node that answers takes tasks in. While it does not,
// sources are paused and creates are answered with 429.
type Intake struct {
	Open     bool  `json:"open"`
	Waiting  int   `json:"waiting" doc:"Tasks that are overdue or wait to be committed, but for those set aside; counted no further than it takes to know whether they are above high."`
	High     int   `json:"high" doc:"Of waiting: above it nothing is taken in."`
	Low      int   `json:"low" doc:"Of waiting: below it tasks are taken in again."`
	Heap     int64 `json:"heap_bytes" doc:"Bytes that lived when garbage was collected last."`
	HeapHigh int64 `json:"heap_high_bytes" doc:"Of heap_bytes: above it nothing is taken in, until it is an eighth below; 0: no limit."`
}

// Sources reads the sources of the server, and whether it takes tasks in.
func (c *Client) Sources(ctx context.Context) (*Sources, error) {
	return one[Sources](ctx, c, http.MethodGet, "/v1/sources", nil, nil)
}
