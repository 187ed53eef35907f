package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman/internal/migrate"
)

// Documents returns the kinds of all documents that a server keeps in its store. bellman move
// copies them.
func Documents() []string {
	return []string{"alarm", "console-ended", "console-sent", "link", "merchant", "merchant-change", "merchant-end", "merchant-master", "merchant-name",
		"pause", "probe", "resend", "resend-cancel", secretKind}
}

// unmoved returns an error if the store's tasks were moved to another store, or are being moved.
func (s *Server) unmoved(ctx context.Context) error {
	err := migrate.Refuse(ctx, s.store)
	if refused := (*migrate.RefusedError)(nil); errors.As(err, &refused) {
		if err = fmt.Errorf("store: %w", err); refused.Moved {
			return &ConfigError{err} // another start fails in the same way
		}
	}
	return err
}
