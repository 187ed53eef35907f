package scratch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman/internal/config"
)

// errNotInRedis is returned for what only SQL can do: in Redis only the store writes tasks.
var errNotInRedis = errors.New("this is measured of databases with SQL alone")

// An inRedis is a Redis server, in which a scratch database is the set of keys with its name as
// prefix.
type inRedis struct{ *redis.Client }

func connectRedis(ctx context.Context, s config.StoreURL) (*Server, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "redis" {
		return nil, fmt.Errorf("store %s: what is measured is one server: want redis://USER:PASSWORD@HOST:6379/0", s)
	}
	bare := *u
	bare.RawQuery = ""
	o, err := redis.ParseURL(bare.String())
	if err != nil {
		return nil, fmt.Errorf("store %s: is no URL of one server", s)
	}
	o.DisableIdentity = true
	c := &inRedis{redis.NewClient(o)}
	if err := c.Ping(ctx).Err(); err != nil {
		c.Close()
		return nil, fmt.Errorf("store %s: %w", s, err)
	}
	return &Server{store: s, url: u, redis: c}, nil
}

// prefixed returns the URL of a store with name as prefix of its keys.
func prefixed(u *url.URL, name string) *url.URL {
	other := *u
	query := other.Query()
	query.Set("prefix", name)
	other.RawQuery = query.Encode()
	return &other
}

// info returns a value of the server's INFO.
func (c *inRedis) info(ctx context.Context, name string) (string, error) {
	text, err := c.Info(ctx).Result()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(strings.TrimSpace(line), name+":"); is {
			return value, nil
		}
	}
	return "", fmt.Errorf("redis says nothing of %s", name)
}

func (c *inRedis) about(ctx context.Context) (string, error) {
	version, err := c.info(ctx, "redis_version")
	if err != nil {
		return "", err
	}
	aof, err := c.info(ctx, "aof_enabled")
	if err != nil {
		return "", err
	}
	if aof != "1" {
		return "Redis " + version + ", nothing on disk", nil
	}
	fsync, err := c.ConfigGet(ctx, "appendfsync").Result()
	if err != nil {
		return "Redis " + version + ", appendfsync not said", nil
	}
	return "Redis " + version + ", appendfsync " + fsync["appendfsync"], nil
}

func (c *inRedis) pid(ctx context.Context) int {
	text, err := c.info(ctx, "process_id")
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(text)
	return local(pid, "redis-server", "valkey-server")
}

func (c *inRedis) bytes(ctx context.Context) (int64, error) {
	text, err := c.info(ctx, "used_memory")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// drop deletes all keys of a scratch database in small steps.
func (c *inRedis) drop(ctx context.Context, name string) error {
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, "{"+name+"}*", 1000).Result()
		if err == nil && len(keys) > 0 {
			err = c.Unlink(ctx, keys...).Err()
		}
		if err != nil {
			return fmt.Errorf("delete the keys of %s: %w", name, err)
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
