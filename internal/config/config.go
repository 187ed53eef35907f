// Package config reads and checks bellman's configuration. Precedence: flag, then environment
// variable, then YAML file. All mistakes are reported at once, each with its line, what is wrong
// and what would be right. The package opens and dials nothing: secrets stay env:NAME or file:PATH.
//
// goccy/go-yaml parses; tables of fields decode. The library's strict decoding stops at the first
// mistake, and does not know that a setting is also a variable and a flag.
package config

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/schedule"
)

// A Config is the configuration of one server. Use [Default], [Load] or [Read] to get one; the zero
// Config lacks every default.
type Config struct {
	Listen string // HOST:PORT of the API; without a host: all addresses
	Store  string // pebble:DIR or a database's URL, which may contain a password, or its place: see ParseStore
	Node   string // the name of this process in the attempt log; empty: made from the host's name

	// Advertise is the HOST:PORT at which other nodes reach this API. Empty: the address of Listen;
	// if Listen is all addresses, the address from which this machine reaches the database.
	Advertise string

	// TrustedProxies are the addresses whose X-Forwarded-For and X-Forwarded-Proto are used; none:
	// nobody's.
	TrustedProxies []netip.Prefix

	// PublicURL is the address at which merchants reach this server, for shared links: scheme, host
	// and optional port. Empty: the address that the creator of a link uses.
	PublicURL string

	Console Console
	Notices Notices

	LogLevel    slog.Level
	StopTimeout time.Duration // how long a stop waits for attempts in flight

	// MasterKey is the key that seals merchants' secrets, or its place. MasterKeys are several: the
	// first seals, all open. Neither: merchants cannot have secrets. See Masters.
	MasterKey  sign.Secret
	MasterKeys []sign.Secret

	Keys   []access.Key // keys of the API; none: everybody who reaches Listen
	Queues []Queue      // in the order of the file; unique names

	Connections []Connection // brokers, in the order of the file; unique names
	Sources     []Source     // in the order of the file; unique names

	Alarms []Alarm // in the order of the file; unique names

	Tracing Tracing

	HTTP      HTTP
	Pool      Pool
	Flow      Flow
	Retention Retention
	Egress    Egress

	places  map[string]place // where each setting was read, for Check
	secrets []string         // variables that the file names as places of secrets
	kept    []keptSecret     // secrets outside the configuration
}

// A Queue is a class of tasks and its rules.
type Queue struct {
	Name     string
	Kind     string        // notify, order or poll
	Schedule string        // a preset's name or a schedule's text; see package schedule
	Success  string        // a preset's name or an expression; see package rule
	Timeout  time.Duration // of one attempt, from connecting to the last byte
	MaxAge   time.Duration // age of a task at which it fails, from the start of its schedule; 0: only the schedule decides
	URL      string        // the address of tasks without an address, or its place: env:NAME, file:PATH; empty: none. Exempt from the egress guard

	// RequireMerchantURL rejects new tasks whose address is not that of their registered merchant.
	RequireMerchantURL bool

	Delay time.Duration // before the first attempt of a task without delay and due

	Concurrency int     // most attempts in flight; 0: no limit
	Rate        float64 // most attempts a second; 0: no limit
	PerEndpoint PerEndpoint
	Sign        sign.Config // zero: requests are not signed

	Connections []string // brokers that tasks may use in their addresses; none: no broker

	PropagateTrace bool // attempts send traceparent and tracestate

	OnEnd     OnEnd  // the queues that get completion events of this one
	EventJSON string // the body of completion events in this queue: an expression over json, the event; empty: the event

	Order Order // for kind order; for kind poll its Channel, Query, States, About and Then
	Poll  Poll  // only for kind poll
}

// PerEndpoint limits the attempts of a queue to one endpoint.
type PerEndpoint struct {
	Concurrency int     // most attempts in flight, below which the limit adapts; 0: 64 for all nodes together
	Rate        float64 // attempts a second; 0: no limit
}

// Console says which environment the pages belong to.
type Console struct {
	Name   string // shown at the top of each page; empty: nothing is shown
	Colour string // of Name: grey, blue, green, orange or red; empty: grey
}

// Notices is where payment channels send their notices.
type Notices struct {
	Listen    string // HOST:PORT of a listener of its own, so that the API need not be reached; empty: no notices
	PublicURL string // scheme and host at which the channels reach it, for pages; empty: not known
}

// HTTP bounds the open connections to Listen, and as many to Notices.Listen.
type HTTP struct {
	Connections int // in all; further ones wait. 0: 8192, or less: to both together at most half of the files that the process may open
	PerAddress  int // from one address that is no trusted proxy; further ones are closed. 0: a quarter of Connections
}

// Pool bounds the attempts in flight of one server, for all queues together. The limit of attempts
// to quick endpoints adapts between Floor and three quarters of Ceiling.
type Pool struct {
	Floor   int // smallest limit; at least 1
	Ceiling int // most attempts in flight; at least Floor
}

// Flow says when new tasks are rejected. If more than High tasks are overdue or wait for a commit,
// sources stop and creates get 429, until Low is reached. The same happens while the heap is larger
// than Heap.
type Flow struct {
	High, Low int
	Heap      int64 // live bytes after a garbage collection
}

// Retention is how long ended tasks are kept, by state.
type Retention struct {
	Succeeded, Failed, Cancelled time.Duration
}

// RetentionIn returns the retention for a kind of store: a day by default in Redis, where
// everything costs memory.
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

// redisRetention is the default in Redis.
const redisRetention = 24 * time.Hour

// Egress limits the addresses to which tasks may send.
type Egress struct {
	AllowPrivate bool           // allows private, loopback and link-local addresses
	Allow        []netip.Prefix // allows only these of them
	Deny         []netip.Prefix // addresses that are always rejected
	HTTPSOnly    bool           // rejects http://
	Proxy        string         // URL of an http, https or socks5 proxy for requests; empty: none
}

// Default returns the default configuration: one queue, "default", on loopback without keys.
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

// DefaultQueue returns a queue with all defaults: WeChat's schedule and timeout, the answer
// "success", and at most 64 concurrent attempts to one endpoint.
func DefaultQueue(name string) Queue {
	return Queue{
		Name:     name,
		Kind:     "notify",
		Schedule: schedule.Default,
		Success:  "success_text",
		Timeout:  5 * time.Second,
	}
}

// DefaultPollQueue returns a queue of kind poll with all defaults.
func DefaultPollQueue(name string) Queue {
	return Queue{Name: name, Kind: "poll", Schedule: defaultPoll, Timeout: 5 * time.Second}
}

// DefaultOrderQueue returns a queue of kind order with all defaults: a query every three seconds,
// then slower, and the close after half an hour.
func DefaultOrderQueue(name string) Queue {
	return Queue{
		Name:     name,
		Kind:     "order",
		Schedule: "order_poll",
		Timeout:  5 * time.Second,
		Order: Order{
			Expires:       30 * time.Minute,
			MinReverseAge: 15 * time.Second,
			Confirm:       "0s, 5s, 25s",
			LateWatch:     15 * time.Minute,
			GiveUp:        24 * time.Hour,
			CodeLife:      2 * time.Hour,
		},
	}
}
