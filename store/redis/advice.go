package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// advice adds to the error of the first call which part of the address is probably wrong.
func (a Address) advice(err error) error {
	text := err.Error()
	switch {
	case a.Kind == Sentinel && strings.Contains(text, "all sentinels") && strings.Contains(text, "unknown command"):
		return fmt.Errorf("%s is no Sentinel: want the hosts and ports of the Sentinels, 26379 usually: %w", strings.Join(a.Hosts, ", "), err)
	case a.Kind == Sentinel && strings.Contains(text, "all sentinels") && strings.Contains(text, "redis: nil"):
		return fmt.Errorf("the Sentinels watch no primary named %q, as the address says: want the name in their sentinel monitor: %w", a.Master, err)
	case strings.Contains(text, "DB index is out of range"):
		return fmt.Errorf("the address ends with database %d, and the server has fewer (its setting databases): %w", a.DB, err)
	case strings.Contains(text, "READONLY"):
		return fmt.Errorf("%s is a replica that takes no writes: want the primary, or the Sentinels that know it: %w", strings.Join(a.Hosts, ", "), err)
	case errors.Is(err, io.EOF) && !a.TLS:
		return fmt.Errorf("%s hangs up: is it Redis, and without TLS (rediss:// is with it)? %w", strings.Join(a.Hosts, ", "), err)
	case a.TLS && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || strings.Contains(text, "i/o timeout") || strings.Contains(text, "first record does not look like a TLS handshake")):
		return fmt.Errorf("%s does not answer as TLS does: is it with TLS (redis:// is without it)? %w", strings.Join(a.Hosts, ", "), err)
	}
	return err
}
