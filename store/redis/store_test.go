package redis

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// address is the server that the tests use. Each test has its own prefix there.
func address() string {
	if a := os.Getenv("BELLMAN_TEST_REDIS"); a != "" {
		return a
	}
	return "redis://127.0.0.1:6379"
}

// newStore returns the address of a store that is deleted when the test ends. Without a server the
// test is skipped, unless the environment names a server. These tests do not need a durable server.
func newStore(t testing.TB) string {
	t.Helper()
	a, err := ParseAddress(address())
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(&client.Options{Addr: a.Hosts[0], Username: a.User, Password: a.password, DB: a.DB, MaxRetries: -1})
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	if err := c.Ping(ctx).Err(); err != nil {
		c.Close()
		if os.Getenv("BELLMAN_TEST_REDIS") != "" {
			t.Fatal(err) // the environment asks for these tests
		}
		t.Skipf("no Redis at %s (set BELLMAN_TEST_REDIS to another): %v", a.Hosts[0], err)
	}
	id := bellman.NewID()
	prefix := fmt.Sprintf("test-%x", id[:])
	t.Cleanup(func() {
		drop(t, c, prefix)
		c.Close()
	})
	u, err := url.Parse(address())
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("prefix", prefix)
	query.Set("durability", "none")
	u.RawQuery = query.Encode()
	return u.String()
}

// drop deletes all keys of a store.
func drop(t testing.TB, c *client.Client, prefix string) {
	t.Helper()
	ctx := context.Background()
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, "{"+prefix+"}*", 10_000).Result()
		if err == nil && len(keys) > 0 {
			err = c.Del(ctx, keys...).Err()
		}
		if err != nil {
			t.Errorf("delete %s: %v", prefix, err)
			return
		}
		if cursor = next; cursor == 0 {
			return
		}
	}
}

// openTest opens a store that is closed when the test ends.
func openTest(t testing.TB, address string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

// A node that is alone reads the due tasks of the largest number of shards with one call.
func TestMostShards(t *testing.T) {
	s, now := openTest(t, newStore(t), Options{Shards: store.MaxShards}), time.Now()
	task := waiting(1, now)
	task.Shard = store.MaxShards - 1
	if err := s.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: task}}}); err != nil {
		t.Fatal(err)
	}
	shards := make([]uint16, store.MaxShards)
	for i := range shards {
		shards[i] = uint16(i)
	}
	to := now.Add(48 * time.Hour).UnixMilli()
	if entries, err := s.Due(t.Context(), shards, store.Position{}, to, 1000, nil); err != nil || len(entries) != 1 || entries[0].ID != task.ID {
		t.Errorf("Due() = %+v, %v; want the task of the last shard", entries, err)
	}
	if n, err := s.CountDue(t.Context(), shards, store.Position{}, to, 1000); err != nil || n != 1 {
		t.Errorf("CountDue() = %d, %v; want 1", n, err)
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openTest(t, newStore(t), Options{Connections: 4}) })
}
