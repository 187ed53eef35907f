package server

import (
	"context"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/mask"
)

// rebuilders are the handlers that build requests again, by the name of their queue.
type rebuilders map[string]*deliver.Handler

func rebuildersOf(queues []engine.Queue) *rebuilders {
	found := rebuilders{}
	for i := range queues {
		if h, is := queues[i].Handler.(*deliver.Handler); is {
			found[queues[i].Name] = h
		}
	}
	return &found
}

// sent builds the request of an attempt again, for people. Unless reveal is set, secrets are masked
// as in every other place; then the signed text has the masks too. An error says why it cannot be
// built.
func (s *Server) sent(ctx context.Context, t *bellman.Task, a *bellman.Attempt, reveal bool) (deliver.Sent, error) {
	switch {
	case t.Kind != bellman.KindNotify:
		return deliver.Sent{}, coded.Errorf("sent.channel", "requests to a channel are not kept, and not built again")
	case strings.HasPrefix(a.Error, "not sent: "):
		return deliver.Sent{}, coded.Errorf("sent.not", "the attempt sent nothing: see its error")
	}
	h := (*s.rebuilders.Load())[t.Queue]
	if h == nil {
		return deliver.Sent{}, coded.Errorf("sent.own", "the handler of the queue is not bellman's own: only it knows what it sends")
	}
	if reveal {
		return h.Sent(ctx, t, a.Number, a.Started, nil)
	}
	shown := *t
	shown.URL, shown.Header = mask.URL(t.URL), client.MaskHeaders(t.Header)
	shown.Body = []byte(mask.Body(string(t.Body), mask.ContentType(t.Header)))
	return h.Sent(ctx, &shown, a.Number, a.Started, mask.Query)
}
