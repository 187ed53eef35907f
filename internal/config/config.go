// Package config reads and checks bellman's configuration. Flags override the environment, which
// overrides the YAML file. All mistakes are reported at once, each with its line, what is wrong and
// what would be right. The package opens and dials nothing: secrets stay env:NAME or file:PATH.
//
// goccy/go-yaml parses, tables of fields decode. The library's own strict decoding is not used: it
// stops at the first mistake, and knows no variable and no flag of the same setting.
package config

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/schedule"
)

// A Config is the whole configuration of one server. Use [Default], [Load] or
// [Read] to get one; the zero Config lacks every default.
type Config struct {
	Listen string // HOST:PORT of the API; an empty host is every address
	Store  string // pebble:DIR, or a database's URL, which may have a password; or where that is: see ParseStore
	Node   string // this process's name in the attempt log; empty: the host's

	// Advertise is HOST:PORT of the API as other nodes of the same database reach it.
	// Empty: Listen's, and where that is every address, the one from which this
	// machine reaches the database.
	Advertise string

	// TrustedProxies are the addresses from which X-Forwarded-For and
	// X-Forwarded-Proto are believed; none: nobody's are.
	TrustedProxies []netip.Prefix

	// PublicURL is where merchants reach this server, for links that are made for
	// them: scheme, host and, if need be, port. Empty: where whoever makes a link
	// reaches it.
	PublicURL string

	LogLevel    slog.Level
	StopTimeout time.Duration // how long a stop waits for attempts in flight

	// MasterKey is the key under which merchants' secrets are sealed, or where it is.
	// MasterKeys are several: the first seals, all of them open. Neither: merchants have
	// no secrets. See Masters.
	MasterKey  sign.Secret
	MasterKeys []sign.Secret

	Keys   []access.Key // who may call the API; none: anybody who reaches Listen
	Queues []Queue      // in the order of the file; names are unique

	Connections []Connection // brokers, in the order of the file; names are unique
	Sources     []Source     // in the order of the file; names are unique

	Alarms []Alarm // in the order of the file; names are unique

	Tracing Tracing

	HTTP      HTTP
	Pool      Pool
	Flow      Flow
	Retention Retention
	Egress    Egress

	places  map[string]place // where the settings were read, for Check
	secrets []string         // variables that the file names as where secrets are
	kept    []keptSecret     // secrets that are not in the configuration itself
}

// A Queue is a class of tasks and its rules.
type Queue struct {
	Name     string
	Kind     string        // notify or order
	Schedule string        // a preset's name or a schedule's text; package schedule reads it
	Success  string        // a preset's name or an expression; package rule compiles it
	Timeout  time.Duration // of one attempt, connect to last byte
	MaxAge   time.Duration // since a task's schedule began; 0: the schedule decides alone
	URL      string        // where tasks go that name no address, or where that is kept: env:NAME, file:PATH; empty: nowhere. Trusted: no egress guard

	Delay time.Duration // before the first attempt of a task that gives neither delay nor due

	Concurrency int     // attempts in flight; 0: no limit of its own
	Rate        float64 // attempts a second; 0: no limit
	PerEndpoint PerEndpoint
	Sign        sign.Config // zero: requests are not signed

	Connections []string // brokers that a task of this queue may name in an address of its own; none: it may name none

	PropagateTrace bool // the attempts' requests and messages have traceparent and tracestate

	OnEnd     OnEnd  // the queues that are told how this one's tasks ended
	EventJSON string // what is sent of a result that comes from an on_end: an expression over json, the event; empty: the event

	Order Order // of a queue of kind order; zero for others
}

// PerEndpoint limits what one endpoint gets from a queue.
type PerEndpoint struct {
	Concurrency int     // attempts in flight at most: the limit adapts below it; 0: 64, of which each node has its part
	Rate        float64 // attempts a second; 0: no limit
}

// HTTP bounds the connections to Listen that are open at once.
type HTTP struct {
	Connections int // of all; more wait until one is closed. 0: 8192, or half of the files that the process may open if that is less
	PerAddress  int // of one address that is no trusted proxy's; more are closed. 0: a quarter of Connections
}

// Pool bounds the attempts in flight of one server, all queues together. The limit of attempts
// to endpoints that answer quickly adapts between Floor and three quarters of Ceiling.
type Pool struct {
	Floor   int // the limit shrinks no further; at least 1
	Ceiling int // attempts in flight at most; at least Floor
}

// Flow says when to stop taking in tasks, counted in tasks that wait for commit
// or are overdue: above High sources stop and creates answer 429, until Low is
// reached again; and so they do while the heap is larger than Heap.
type Flow struct {
	High, Low int
	Heap      int64 // bytes that live after a collection
}

// Retention says how long tasks stay after they ended, by end state.
type Retention struct {
	Succeeded, Failed, Cancelled time.Duration
}

// RetentionIn is how long tasks stay in a store of a kind: in Redis a day, unless the
// configuration says it, for all that is kept there costs memory.
func (c *Config) RetentionIn(kind string) Retention {
	r := c.Retention
	if kind != Redis {
		return r
	}
	for name, keep := range map[string]*time.Duration{"succeeded": &r.Succeeded, "failed": &r.Failed, "cancelled": &r.Cancelled} {
		if _, said := c.places["retention."+name]; !said {
			*keep = min(*keep, redisRetention)
		}
	}
	return r
}

// redisRetention is how long tasks stay in Redis, where nobody said it.
const redisRetention = 24 * time.Hour

// Egress guards where tasks may send.
type Egress struct {
	AllowPrivate bool           // private, loopback and link-local addresses too
	Allow        []netip.Prefix // of those addresses, these
	Deny         []netip.Prefix // of all addresses, these are refused whatever else is said
	HTTPSOnly    bool           // nothing is sent over http
	Proxy        string         // http, https or socks5 URL that requests go through; empty: none
}

// Default returns the configuration of a server that was given none: one queue,
// "default", on loopback without keys.
func Default() *Config {
	return &Config{
		Listen:      "127.0.0.1:2355",
		Store:       "pebble:bellman-data",
		LogLevel:    slog.LevelInfo,
		StopTimeout: 8 * time.Second,
		Queues:      []Queue{DefaultQueue("default")},
		Tracing:     Tracing{Sample: 1},
		Pool:        Pool{Floor: 64, Ceiling: 2048},
		Flow:        Flow{High: 200_000, Low: 100_000, Heap: 512 << 20},
		Retention: Retention{
			Succeeded: 30 * 24 * time.Hour,
			Failed:    90 * 24 * time.Hour,
			Cancelled: 30 * 24 * time.Hour,
		},
		places: map[string]place{},
	}
}

// DefaultQueue returns a queue with the rules that it has where the file states
// none: WeChat's schedule and timeout, the answer "success", and at most 64
// attempts at once to one endpoint.
func DefaultQueue(name string) Queue {
	return Queue{
		Name:     name,
		Kind:     "notify",
		Schedule: schedule.Default,
		Success:  "success_text",
		Timeout:  5 * time.Second,
	}
}

// DefaultOrderQueue returns a queue of kind order with the rules that it has
// where the file states none: asked every three seconds, then slower, closed
// after half an hour.
func DefaultOrderQueue(name string) Queue {
	return Queue{
		Name:     name,
		Kind:     "order",
		Schedule: "order_poll",
		Timeout:  5 * time.Second,
		Order:    DefaultOrder(),
	}
}
