package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bellmanhq/bellman"
)

// silent is how long the listening connection may hear nothing before it is
// asked whether it is there: one that is cut without a word hears nothing either.
const silent = 30 * time.Second

// Hints calls f with what transactions tell when they commit: that tasks were
// added by AddTx, in which shards, and when they are due. It keeps a connection of
// its own for it, opens another when that is lost, and returns nil when ctx ends,
// or at once an error if the database cannot notify: then, and for whatever is
// lost on the way, the engine's own looking around must do.
func (s *Store) Hints(ctx context.Context, f func(bellman.Hint)) error {
	config := s.d.pool.Config().ConnConfig
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		began := time.Now()
		err := listen(ctx, config, f)
		var server *pgconn.PgError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &server) && (server.Code[:2] == "0A" || server.Code[:2] == "42"): // it does not know LISTEN, or refuses it
			return err
		}
		s.d.log.Debug("nothing is notified for a while", "err", err)
		if time.Since(began) > time.Minute {
			pause = time.Second
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// listen calls f until the connection is lost, or ctx ends.
func listen(ctx context.Context, config *pgx.ConnConfig, f func(bellman.Hint)) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+hints); err != nil {
		return err
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, silent)
		n, err := conn.WaitForNotification(waiting)
		timeout := waiting.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			var h bellman.Hint
			// Whoever may use the database may notify: no more is taken from it than what
			// the store itself would say.
			if json.Unmarshal([]byte(n.Payload), &h) == nil && len(h.Added) > 0 {
				f(bellman.Hint{Added: h.Added, Since: h.Since, Until: h.Until})
			}
		case timeout && !conn.IsClosed():
			ping, cancel := context.WithTimeout(ctx, silent)
			err := conn.Ping(ping)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}
