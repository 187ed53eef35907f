package resend

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
)

// A Desk is what the API and the console need of [Jobs]. Its errors are those of package bellman.
type Desk interface {
	// Count counts what a job with this filter would affect: up to limit tasks, and what it finds
	// within the given time. Zero limit: as many as are ever counted. Zero time: the longest that
	// counting may take.
	Count(ctx context.Context, f Pick, limit int, within time.Duration) (Count, error)

	// Start starts a durable job from in's Filter, Mode, Rate, Who and Reason. The default mode is
	// once; rate 0 is the default.
	Start(ctx context.Context, in Job) (Job, error)

	Get(ctx context.Context, id bellman.ID) (Job, error)
	List(ctx context.Context, limit int) ([]Job, error) // newest first

	// Cancel ends a job. A job that has ended is returned unchanged.
	Cancel(ctx context.Context, id bellman.ID, by bellman.By) (Job, error)
}
