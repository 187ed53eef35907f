package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman/store"
)

// An examiner inspects a server. It reports values above these limits.
type examiner struct {
	s    *Store
	a    Address
	skew time.Duration // difference of the clocks
	used float64       // part of the memory, or of the connections, that is in use
}

const fewConnections = 4

// doesNotStart is the advice for a finding that also prevents a start.
const doesNotStart = "bellman serve does not start until this is changed"

// Examine finds what hurts a store at an address: what a start would reject, settings and failures
// that lose data, replicas, memory, clocks, rights, and connections. It writes one key and deletes
// it. The error says why the server cannot be examined.
func Examine(ctx context.Context, address string, o Options) ([]store.Finding, error) {
	a, err := ParseAddress(address)
	if err != nil {
		return nil, &store.AddressError{Cause: err}
	}
	s := &Store{prefix: "{" + a.Prefix + "}", log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
	o.ReadOnly = true // the settings are findings
	if err := s.connect(a, o); err != nil {
		return nil, &store.AddressError{Cause: err}
	}
	found, err := examiner{s, a, 100 * time.Millisecond, 0.8}.all(ctx)
	if err != nil {
		return found, errors.Join(a.advice(err), s.Close())
	}
	return found, s.Close()
}

func (e examiner) all(ctx context.Context) (found []store.Finding, err error) {
	seen, err := e.s.survey(ctx)
	if unfit, is := errors.AsType[*UnfitError](err); is {
		return []store.Finding{{Name: "unsuitable", Level: store.Error, What: unfit.Why, Do: doesNotStart}}, nil
	}
	if err != nil {
		return nil, err
	}
	reply, err := e.s.do(ctx, false, func(c *client.Client) (any, error) { return c.Info(ctx).Result() })
	if err != nil {
		return nil, err
	}
	found = append(e.durability(seen), e.state(infoOf(reply.(string)))...)
	skew, err := e.s.skew(ctx)
	if err != nil {
		return found, err
	}
	if skew > e.skew {
		f := store.Finding{Name: "clock", Level: store.Warning, What: apart(skew), Do: fmt.Sprintf("set both clocks by NTP: with more than %v between them, bellman serve does not start", store.MaxSkew)}
		if skew > store.MaxSkew {
			f.Level = store.Error
		}
		found = append(found, f)
	}
	return append(found, e.data(ctx)...), nil
}

// infoOf reads the reply of INFO.
func infoOf(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			info[name] = value
		}
	}
	return info
}

// durability looks at settings that lose data.
func (e examiner) durability(seen settings) (found []store.Finding) {
	waits, err := seen.waits(e.a)
	if unfit, is := errors.AsType[*UnfitError](err); is {
		found = append(found, store.Finding{Name: "durability", Level: store.Error, What: unfit.Why, Do: doesNotStart})
	}
	if e.a.Unsafe {
		found = append(found, store.Finding{Name: "durability", Level: store.Warning, What: "the address says durability=none: accepted tasks may be lost when Redis ends",
			Do: "leave durability out of the address, and set appendonly yes and appendfsync always"})
	}
	if seen.evicts != "" && seen.evicts != "noeviction" {
		found = append(found, store.Finding{Name: "maxmemory_policy", Level: store.Error, What: fmt.Sprintf("maxmemory-policy is %s: Redis deletes tasks when memory is short", seen.evicts),
			Do: "CONFIG SET maxmemory-policy noeviction, and in the server's configuration"})
	}
	if seen.most == 0 {
		found = append(found, store.Finding{Name: "maxmemory", Level: store.Warning, What: "Redis has no memory limit: the system may kill it when memory is short, instead of Redis rejecting new tasks",
			Do: "set maxmemory, below the memory of the machine"})
	}
	switch {
	case seen.replicas < waits.replicas:
		found = append(found, store.Finding{Name: "replicas", Level: store.Error, What: fmt.Sprintf("%d replicas are connected, and each write waits for %d (replicas in the address): all writes fail", seen.replicas, waits.replicas),
			Do: "start the replicas, or lower replicas in the address"})
	case seen.replicas > 0 && waits.replicas == 0:
		found = append(found, store.Finding{Name: "replicas", Level: store.Warning, What: fmt.Sprintf("%d replicas are connected, and no write waits for them: a fail-over may lose the last commits", seen.replicas),
			Do: "set replicas=N in the address, and min-replicas-to-write 1 in Redis"})
	}
	return found
}

// state checks what the server reports about itself.
func (e examiner) state(info map[string]string) (found []store.Finding) {
	number := func(name string) float64 {
		n, _ := strconv.ParseFloat(info[name], 64) // 0 if it is missing
		return n
	}
	for name, what := range map[string]string{
		"aof_last_write_status":     "the last write to the append-only file failed: Redis rejects writes",
		"aof_last_bgrewrite_status": "the last rewrite of the append-only file failed: the file grows",
	} {
		if status := info[name]; status != "" && status != "ok" {
			found = append(found, store.Finding{Name: name, Level: store.Error, What: what, Do: "look at Redis's log, and at the space on its disk"})
		}
	}
	if used, most := number("used_memory"), number("maxmemory"); most > 0 && used > e.used*most {
		found = append(found, store.Finding{Name: "memory", Level: store.Warning, What: fmt.Sprintf("%.0f of %.0f MiB of memory are in use: at the limit creates are rejected", used/(1<<20), most/(1<<20)),
			Do: "raise maxmemory, or lower retention"})
	}
	if used, most := number("connected_clients"), number("maxclients"); most > 0 && used > e.used*most {
		found = append(found, store.Finding{Name: "connections", Level: store.Warning, What: fmt.Sprintf("%.0f of at most %.0f connections to the server are in use", used, most),
			Do: "raise maxclients, or lower connections in the address of each node"})
	}
	if e.s.size < fewConnections {
		found = append(found, store.Finding{Name: "pool", Level: store.Warning, What: fmt.Sprintf("the address allows %d connections: commits, reads of due tasks, heartbeats and the API wait for one another", e.s.size),
			Do: "leave connections out of the address, which means 8, or set it to 4 or more"})
	}
	return found
}

// probe writes a key and deletes it, as a script of a commit may.
var probe = client.NewScript("#!lua\nredis.call('HSET', KEYS[1]..'probe', 'a', '1') redis.call('HGETALL', KEYS[1]..'probe') redis.call('DEL', KEYS[1]..'probe') return 1")

// data looks at the store's keys and at the rights to them.
func (e examiner) data(ctx context.Context) (found []store.Finding) {
	have, err := e.s.about(ctx)
	switch {
	case err != nil:
		return []store.Finding{{Name: "rights", Level: store.Error, What: "the keys of the store cannot be read: " + err.Error(), Do: rights(e.s.prefix)}}
	case text(have, 0) == "":
		found = append(found, store.Finding{Name: "no_store", Level: store.Warning, What: fmt.Sprintf("there is no store named %s here", e.s.prefix),
			Do: "look at the database's number and at prefix in the address, or run bellman migrate"})
	case text(have, 0) != strconv.Itoa(format):
		return []store.Finding{{Name: "format", Level: store.Error, What: fmt.Sprintf("the store %s is of format %s, and this program knows format %d", e.s.prefix, text(have, 0), format), Do: doesNotStart}}
	}
	if _, err := e.s.do(ctx, true, func(c *client.Client) (any, error) { return probe.Run(ctx, c, []string{e.s.prefix}).Result() }); err != nil {
		found = append(found, store.Finding{Name: "writes", Level: store.Error, What: "a write was tried, and failed: " + err.Error(), Do: rights(e.s.prefix)})
	}
	return found
}

// rights says which rights the store needs.
func rights(prefix string) string {
	return fmt.Sprintf("let the user run scripts and all commands on keys that begin with %s, and CONFIG GET, INFO, TIME and WAITAOF; or see what the error says", prefix)
}
