package console

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A beginning is what pages of a server without any task show: how the first notification is sent.
type beginning struct {
	Command string // for a shell
	Keyed   bool   // the command needs a key that may create tasks, in the variable BELLMAN_KEY
}

// KeyNew is the command that makes a key.
func (*beginning) KeyNew() string { return "bellman key new" }

// beginning returns how the first notification is sent; nil: the server had a task already, or has
// no queue of kind notify.
func (q *request) beginning() *beginning {
	queues := q.queuesOf("notify")
	if q.used.Load() || len(queues) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), searchTime)
	defer cancel()
	tasks, next, err := q.o.Reader.List(ctx, store.Filter{}, bellman.ID{}, 1)
	if err != nil || len(tasks) > 0 || !next.IsZero() {
		if err == nil {
			q.used.Store(true)
		}
		return nil
	}
	b := &beginning{Keyed: !q.open()}
	b.Command = "curl -i -X POST " + quote(q.reached()+"/v1/tasks")
	if b.Keyed {
		b.Command += ` \` + "\n" + `  -H "Authorization: Bearer $BELLMAN_KEY"`
	}
	body := `{"queue":"` + queues[0] + `","key":"first-` + time.Now().UTC().Format(time.DateOnly) + `","url":"https://merchant.example/notify","json":{"order_no":"1","state":"SUCCESS"}}`
	b.Command += " \\\n  -H 'Content-Type: application/json' \\\n  --data " + quote(body)
	return b
}
