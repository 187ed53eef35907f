package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
	"github.com/bellmanhq/bellman/store/pebble"
	"github.com/bellmanhq/bellman/store/postgres"
	"github.com/bellmanhq/bellman/store/redis"
)

// examineWithin is the longest time of ExamineStore.
const examineWithin = 9 * time.Second

// ExamineStore finds what hurts the store of a setting. A server may have it open meanwhile. The
// error says why it cannot be examined, or not completely: then the findings until then are
// returned too. No error and no finding contains a password. It ends within ten seconds.
func ExamineStore(ctx context.Context, text string) ([]store.Finding, error) {
	s, err := config.ParseStore(text)
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("store: %w", err)}
	}
	if err := CheckStore(s); err != nil {
		return nil, &ConfigError{fmt.Errorf("store %s: %w", s, err)}
	}
	ctx, cancel := context.WithTimeout(ctx, examineWithin)
	defer cancel()
	var found []store.Finding
	switch s.Kind {
	case config.Pebble:
		found, err = pebble.Examine(ctx, s.Dir, pebble.Options{})
	case config.Postgres:
		found, err = postgres.Examine(ctx, s.URL, postgres.Options{Connections: s.Connections})
	case config.Redis:
		found, err = redis.Examine(ctx, s.URL, redis.Options{Connections: s.Connections})
	default:
		found, err = mysql.Examine(ctx, s.URL, mysql.Options{Connections: s.Connections})
	}
	if err == nil {
		return found, nil
	}
	if errors.Is(err, pebble.ErrNoStore) {
		return found, err
	}
	return found, unopened(s, err)
}
