package alarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Report reports an alarm that has no rule, such as ReconcileDifferences: one task tells that it
// began, and it is listed for a day as one that ended. The same ID and Since again report nothing,
// so that a caller may repeat a call whose outcome it does not know.
func (w *Watch) Report(ctx context.Context, a Alarm) error {
	a.Since = a.Since.UTC().Truncate(time.Millisecond)
	doc, err := store.ReadDoc(ctx, w.store, kind, a.ID)
	s := step{alarm: a, once: true}
	switch {
	case errors.Is(err, bellman.ErrNotFound):
	case err != nil:
		return fmt.Errorf("read alarm %s: %w", a.ID, err)
	default:
		s.was = &kept{value: doc.Value}
		if json.Unmarshal(doc.Value, &s.was.Alarm) == nil && s.was.Since.Equal(a.Since) {
			return nil
		}
	}
	w.mu.Lock()
	queues := w.queues
	w.mu.Unlock()
	return w.tell(ctx, &s, queues)
}
