package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	client "github.com/redis/go-redis/v9"
)

// lifetime is how long a connection is used. Each new connection checks the server again: it may be
// another server, or have other settings.
const lifetime = time.Minute

// young is the age below which a server is not used before it has rewritten its append-only file.
// An older one is in use and rewrites meanwhile.
const young = 5 * time.Minute

// An UnfitError says why a server cannot hold a store, and what to do.
type UnfitError struct{ Why string }

func (e *UnfitError) Error() string { return e.Why }

func unfit(text string, args ...any) error { return &UnfitError{fmt.Sprintf(text, args...)} }

// settings are what a server reports about itself.
type settings struct {
	version  string
	number   int // 702 for 7.2
	mode     string
	role     string
	loading  string // how much of its file it has loaded, such as 43.21%; empty: all of it
	run      string // id of the process, new at each start
	aof      bool
	partial  bool   // it is writing its first append-only file, or rewriting that for the first time
	cut      string // yes: it starts with a file whose last write was cut (aof-load-truncated)
	uptime   time.Duration
	rewrites rewrites
	fsync    string // empty: unknown
	lazy     bool   // no fsync while a child process writes (no-appendfsync-on-rewrite)
	evicts   string
	most     int64 // maxmemory
	replicas int   // connected replicas
	atLeast  string
}

// rewrites says how often a server has rewritten its append-only file since its start, and whether
// it should.
type rewrites struct {
	begun  int  // number of rewrites, the running one included
	runs   bool // one runs, or is scheduled
	failed bool // the last one that ended
	needed bool // the file existed at the start (otherwise aof_base_size is 0), and commands follow its base
}

// asker is a connection or a client.
type asker interface {
	BgRewriteAOF(ctx context.Context) *client.StatusCmd
	Info(ctx context.Context, section ...string) *client.StringCmd
	ConfigGet(ctx context.Context, parameter string) *client.MapStringStringCmd
}

func read(ctx context.Context, c asker) (settings, error) {
	text, err := c.Info(ctx).Result()
	if err != nil {
		return settings{}, err
	}
	info := infoOf(text)
	s := settings{version: info["redis_version"], mode: info["redis_mode"], role: info["role"], run: info["run_id"], aof: info["aof_enabled"] == "1", evicts: info["maxmemory_policy"]}
	s.rewrites = rewrites{
		runs:   info["aof_rewrite_in_progress"] == "1" || info["aof_rewrite_scheduled"] == "1",
		failed: info["aof_last_bgrewrite_status"] == "err",
		needed: info["aof_base_size"] != "0" && info["aof_current_size"] != info["aof_base_size"],
	}
	s.rewrites.begun, _ = strconv.Atoi(info["aof_rewrites"])
	seconds, _ := strconv.Atoi(info["uptime_in_seconds"])
	s.uptime = time.Duration(seconds) * time.Second
	s.partial = s.aof && info["aof_base_size"] == "0" && s.rewrites.runs
	if info["loading"] == "1" {
		s.loading = cmp.Or(info["loading_loaded_perc"], "a part")
	}
	s.most, _ = strconv.ParseInt(info["maxmemory"], 10, 64) // 0, which means no limit, if it is missing
	s.replicas, _ = strconv.Atoi(info["connected_slaves"])
	if first, rest, is := strings.Cut(s.version, "."); is {
		second, _, _ := strings.Cut(rest, ".")
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(second)
		if err1 == nil && err2 == nil {
			s.number = 100*a + b
		}
	}
	var lazy string
	for name, value := range map[string]*string{"appendfsync": &s.fsync, "no-appendfsync-on-rewrite": &lazy, "min-replicas-to-write": &s.atLeast, "aof-load-truncated": &s.cut} {
		have, err := c.ConfigGet(ctx, name).Result()
		if _, is := errors.AsType[client.Error](err); err != nil && !is {
			return s, err
		}
		*value = have[name] // empty, which means unknown, if operators forbid CONFIG
	}
	s.lazy = lazy == "yes"
	return s, nil
}

// fits rejects a server that is too old, of another kind, or could lose writes that it has
// answered.
func (s *Store) fits(ctx context.Context, c asker, a Address, readOnly bool) error {
	seen, err := read(ctx, c)
	if err != nil {
		return err
	}
	switch {
	case seen.number < 700:
		return unfit("Redis %s is too old: want 7.0 or newer, for what scripts may do while memory is short", seen.version)
	case seen.mode == "sentinel" && a.Kind == Sentinel:
		return nil // it is only asked for the primary
	case seen.mode == "sentinel":
		return unfit("this is a Sentinel: want redis+sentinel://HOST:26379/MASTER")
	case seen.mode == "cluster" && a.Kind != Cluster:
		return unfit("this server is part of a Cluster: want redis+cluster://HOST:6379,HOST:6379")
	case seen.mode != "cluster" && a.Kind == Cluster:
		return unfit("this server is not part of a Cluster: want redis://HOST:6379/0")
	case seen.loading != "": // until then it reports wrong settings
		return fmt.Errorf("the server has been started and still reads what it kept (%s so far): it can be used when it has all", seen.loading)
	case readOnly || seen.role != "master":
		return nil // a replica is only asked for its primary
	case seen.evicts != "" && seen.evicts != "noeviction":
		return unfit("Redis deletes what it has no room for (maxmemory-policy %s), tasks too: set maxmemory-policy noeviction", seen.evicts)
	}
	complete := s.complete(seen)
	wait, err := seen.waits(a)
	if err != nil || a.Unsafe {
		return err
	}
	if wait.local > 0 {
		s.syncs.Store(true)
	}
	if !complete {
		return errors.New("the server still writes its first append-only file, and a crash before that is complete loses everything: it can be used when INFO persistence says aof_rewrite_in_progress:0")
	}
	return s.mend(ctx, c, seen)
}

// mend has a server rewrite its append-only file once after a start, because a crash may have cut
// the last commit there. Redis writes what a script changed between MULTI and EXEC. If a command of
// these is cut, Redis removes only that command when it starts: MULTI and the commands before the
// cut stay in the file (valkey-io/valkey#4342). The next commits are written after them and become
// part of the same transaction. After one more start, a part of the cut commit may exist, or
// answered commits may be missing.
func (s *Store) mend(ctx context.Context, c asker, seen settings) error {
	r := seen.rewrites
	rewritten := r.begun > 1 || r.begun == 1 && !r.runs
	switch {
	case s.mended.Load() == seen.run:
		return nil
	case seen.cut == "no" || !r.needed || rewritten && !r.failed:
		s.mended.Store(seen.run)
		return nil
	case !r.runs:
		err := errors.New("the rewrite failed: the log of redis says why")
		if !r.failed {
			err = c.BgRewriteAOF(ctx).Err()
		}
		said := client.Error(nil)
		if r.failed || errors.As(err, &said) && !strings.Contains(said.Error(), "in progress") {
			s.log.Warn("redis did not rewrite its append-only file after its start: if a crash has cut the last commit, a part of it may exist after the next start", "redis", seen.version, "error", err)
			s.mended.Store(seen.run)
			return nil
		}
	}
	if seen.uptime >= young {
		return nil
	}
	return errors.New("the server has been started and rewrites its append-only file, in which a crash may have cut the last commit: it can be used when INFO persistence says aof_rewrite_in_progress:0")
}

// complete reports whether a server has a complete append-only file. INFO says the same of a
// server that writes its first one because somebody set appendonly yes, or because it copied
// another server's data, and of one that has had a file from its start and has it rewritten for the
// first time. So a server that was seen with a complete file has one until it is restarted or
// seen without.
func (s *Store) complete(seen settings) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !seen.aof:
		s.filed = ""
	case !seen.partial:
		s.filed = seen.run
	}
	return seen.aof && s.filed == seen.run
}

// waits are the conditions for which a write waits on its connection before it is answered.
type waits struct {
	local    int // 1: the server's own disk
	replicas int
}

// waits returns how a write becomes durable with these settings.
func (s settings) waits(a Address) (waits, error) {
	w := waits{replicas: a.Replicas}
	const none = ", or say durability=none in the address if tasks that were taken in may be lost when Redis ends"
	switch {
	case a.Unsafe:
	case s.aof && s.lazy:
		return w, unfit("Redis does not write to disk while it rewrites its files (no-appendfsync-on-rewrite yes), and answers all the same: set no-appendfsync-on-rewrite no%s", none)
	case !s.aof:
		return w, unfit("Redis keeps nothing on disk (appendonly no): set appendonly yes and appendfsync always%s", none)
	case s.fsync == "always":
	case s.fsync == "everysec" && s.number >= 702:
		w.local = 1
	case s.fsync == "everysec":
		return w, unfit("Redis %s writes to disk once a second (appendfsync everysec), after it has answered: set appendfsync always, or use Redis 7.2 or newer, where each answer waits for the disk%s", s.version, none)
	case s.fsync == "":
		return w, unfit("Redis does not say when it writes to disk (CONFIG GET appendfsync is forbidden): allow that%s", none)
	default:
		return w, unfit("Redis leaves it to the system when something is on disk (appendfsync %s): set appendfsync always%s", s.fsync, none)
	}
	return w, nil
}

// enough returns nil if all conditions are met.
func (w waits) enough(c *client.Cmd) error {
	reply, err := c.Result()
	if err != nil {
		return err
	}
	local, replicas := int64(w.local), int64(0)
	switch n := reply.(type) {
	case int64:
		replicas = n
	case []any:
		if len(n) == 2 {
			local, _ = n[0].(int64)
			replicas, _ = n[1].(int64)
		}
	}
	if local < int64(w.local) {
		return errors.New("it is not on disk yet")
	}
	if replicas < int64(w.replicas) {
		return fmt.Errorf("%d replicas have it, and %d must", replicas, w.replicas)
	}
	return nil
}

// survey reads the settings of the server that has the store.
func (s *Store) survey(ctx context.Context) (settings, error) {
	var seen settings
	_, err := s.do(ctx, false, func(c *client.Client) (any, error) {
		var err error
		seen, err = read(ctx, c)
		return nil, err
	})
	return seen, err
}

// say logs how durable the store is.
func (s settings) say(log *slog.Logger, a Address, w waits) {
	switch {
	case a.Unsafe:
		log.Warn("durability=none: accepted tasks may be lost when redis ends", "redis", s.version, "appendonly", s.aof, "appendfsync", s.fsync)
	case w.local > 0:
		log.Warn("each answer waits for the disk, to which redis writes once a second: appendfsync always is faster", "redis", s.version, "appendfsync", s.fsync)
	default:
		log.Info("redis writes to disk before it answers", "redis", s.version, "appendfsync", s.fsync)
	}
	if s.most == 0 {
		log.Warn("redis has no memory limit: set maxmemory, so that it rejects tasks before the system kills it", "redis", s.version)
	}
	if s.replicas > 0 && w.replicas == 0 {
		log.Warn("a fail-over may lose the last commits: set replicas in the address, and min-replicas-to-write in redis",
			"replicas", s.replicas, "min_replicas_to_write", s.atLeast)
	}
}

// dialing marks the errors of failed connection attempts.
type dialing struct{}

func (dialing) DialHook(next client.DialHook) client.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, &unsent{err}
		}
		return conn, nil
	}
}

func (dialing) ProcessHook(next client.ProcessHook) client.ProcessHook { return next }

func (dialing) ProcessPipelineHook(next client.ProcessPipelineHook) client.ProcessPipelineHook {
	return next
}
