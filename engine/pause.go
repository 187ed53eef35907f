package engine

import (
	"context"
	"fmt"

	"github.com/bellmanhq/bellman"
)

// PauseQueue stops attempts of a queue's tasks until ResumeQueue; a restart does not end it. Tasks
// are still accepted, and their schedules wait. ErrNotFound: the queue is not configured.
func (a *Admin) PauseQueue(ctx context.Context, queue string, by bellman.By) error {
	if _, ok := a.rules.queue(queue); !ok {
		return fmt.Errorf("queue %q: %w", queue, bellman.ErrNotFound)
	}
	return a.pauses.pause(ctx, "queue/"+queue, by)
}

// ResumeQueue ends PauseQueue. It returns ErrNotPaused if the queue is not paused.
func (a *Admin) ResumeQueue(ctx context.Context, queue string, by bellman.By) error {
	if _, ok := a.rules.queue(queue); !ok {
		return fmt.Errorf("queue %q: %w", queue, bellman.ErrNotFound)
	}
	return a.pauses.resume(ctx, "queue/"+queue, by)
}

// PauseEndpoint stops attempts to an endpoint (scheme://host:port) until ResumeEndpoint; a restart
// does not end it. The endpoint need not have tasks. Use PauseQueue for a queue whose tasks have no
// endpoint: an empty endpoint is an *[bellman.Invalid].
func (a *Admin) PauseEndpoint(ctx context.Context, endpoint string, by bellman.By) error {
	if endpoint == "" {
		return bellman.InvalidField("endpoint", "is empty: want scheme://host:port, or the queue of tasks without an endpoint")
	}
	return a.pauses.pause(ctx, "endpoint/"+endpoint, by)
}

// ResumeEndpoint ends PauseEndpoint. It returns ErrNotPaused if the endpoint is not paused.
func (a *Admin) ResumeEndpoint(ctx context.Context, endpoint string, by bellman.By) error {
	return a.pauses.resume(ctx, "endpoint/"+endpoint, by)
}

// PauseMerchant stops attempts of a merchant's tasks, in all queues whose handler is a
// [bellman.Router], until ResumeMerchant; a restart does not end it. Tasks are still accepted, and
// their schedules wait. An empty number is an *[bellman.Invalid].
func (a *Admin) PauseMerchant(ctx context.Context, merchantNo string, by bellman.By) error {
	if merchantNo == "" {
		return bellman.InvalidField("merchant_no", "is empty: want the merchant whose tasks wait")
	}
	return a.pauses.pause(ctx, merchantTarget+merchantNo, by)
}

// ResumeMerchant ends PauseMerchant. It returns ErrNotPaused if the merchant is not paused.
func (a *Admin) ResumeMerchant(ctx context.Context, merchantNo string, by bellman.By) error {
	return a.pauses.resume(ctx, merchantTarget+merchantNo, by)
}
