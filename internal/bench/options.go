package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/config"
)

// Options select what to measure. The zero value measures everything on the embedded store at full
// size, which takes about a quarter of an hour and 2 GiB of disk.
type Options struct {
	Scenarios []string      // names of [Scenarios]; none: all but memory-10m, soak, idle-transaction, waiting-5m and ended-30m
	Store     string        // URL of a database server, in which databases are created and dropped; empty: the embedded store
	Quick     bool          // small sizes: everything in about two minutes, with rough figures
	Dir       string        // directory of the stores, which selects the disk; default: the directory for temporary files
	Command   string        // command line that runs the bench, for the report, without passwords
	For       time.Duration // how long the scenario soak offers its load; default: two hours
	Rate      int           // tasks a second of soak; default: half of what it measures
	Profile   string        // prefix of files for CPU profiles of the servers; the scenario's name is added, as in "cpu.drain"; empty: none
}

// A Scenario is a measurement.
type Scenario struct {
	Name  string
	About string

	optional bool // runs only on request
	database bool // needs a store in a database
	sql      bool // needs a store in an SQL database
	run      func(*run)
}

// Scenarios returns all measurements in the order in which they run.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "raw", About: "a bare loop that posts to the receiver and keeps nothing", run: (*run).rawAlone},
		{Name: "drain", About: "tasks already stored and due, to delivered and recorded", run: (*run).drain},
		{Name: "batches", About: "created in batches over HTTP, to delivered and recorded", run: (*run).batches},
		{Name: "singles", About: "created one by one over HTTP, to delivered and recorded", run: (*run).singles},
		{Name: "creates", About: "created one by one over HTTP, due tomorrow", run: (*run).creates},
		{Name: "endpoints", About: "many receivers' addresses instead of one, in batches", run: (*run).endpoints},
		{Name: "hanging", About: "a tenth of the endpoints hangs until the timeout", run: (*run).hanging},
		{Name: "internet", About: "2,000 hosts over TLS that take their time, beside a bare net/http client", run: (*run).internet},
		{Name: "latency", About: "from create to arrival at 500 a second, beside bare posts", run: (*run).latency},
		{Name: "lateness", About: "tasks due at random: arrival minus due", run: (*run).lateness},
		{Name: "latency-waiting", About: "latency while many tasks wait for tomorrow", run: (*run).latencyWaiting},
		{Name: "lateness-waiting", About: "lateness while many tasks wait for tomorrow", run: (*run).latenessWaiting},
		{Name: "memory", About: "resident memory with many waiting, at start and under load; idle CPU", run: (*run).memory},
		{Name: "restart", About: "start with many waiting and some overdue, after a kill", run: (*run).restart},
		{Name: "bytes", About: "what a task takes in the store, waiting and delivered; the cost of a million", run: (*run).bytes},
		{Name: "orders", About: "orders polled at their schedule's pace: what the channel is asked when", run: (*run).orders},
		{Name: "orders-crowd", About: "more orders than this machine can poll in time: late evenly, none lost", run: (*run).ordersCrowd},
		{Name: "orders-waiting", About: "resident memory with many orders waiting for half an hour", run: (*run).ordersWaiting},
		{Name: "notices", About: "orders that the channel's notices decide: verified, told, recorded", run: (*run).notices},
		{Name: "reconcile", About: "the bill of a day against as many orders, with planted differences", run: (*run).reconcile},
		{Name: "memory-10m", About: "resident memory with ten times as many waiting", optional: true, run: (*run).memoryTenfold},
		{Name: "soak", About: "half of the capacity for two hours: whether disk, lateness and CPU stay the same", optional: true, run: (*run).soak},
		{Name: "nodes", About: "three servers on one database against one, same load; take-over of one that is killed", database: true, run: (*run).nodes},
		{Name: "idle-transaction", About: "half an hour beside a transaction that somebody left open", database: true, sql: true, optional: true, run: (*run).idleTransaction},
		{Name: "waiting-5m", About: "throughput, lateness and pages with five million waiting", database: true, sql: true, optional: true, run: (*run).waitingMillions},
		{Name: "ended-30m", About: "throughput, lateness, pages and retention with thirty million ended", database: true, sql: true, optional: true, run: (*run).endedMillions},
	}
}

// NeedsDatabase reports whether the scenario requires [Options.Store].
func (s Scenario) NeedsDatabase() bool { return s.database }

// Check returns an error if there is no such store or scenario, or if the store is of another kind
// than a scenario needs.
func (o Options) Check() error {
	_, err := o.choose()
	return err
}

// choose returns the scenarios of the options.
func (o Options) choose() ([]Scenario, error) {
	kind := config.Pebble
	if o.Store != "" {
		store, err := config.ParseStore(o.Store)
		if err != nil {
			return nil, err
		}
		kind = store.Kind
	}
	return choose(o.Scenarios, kind)
}

// choose returns the scenarios with these names in their own order. Without names it returns those
// that are not optional and run on a kind of store.
func choose(names []string, kind string) ([]Scenario, error) {
	all := Scenarios()
	cannot := func(s *Scenario) bool { return s.database && kind == config.Pebble || s.sql && kind == config.Redis }
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
		if cannot(&s) && slices.Contains(names, s.Name) {
			if s.sql {
				return nil, fmt.Errorf("scenario %q needs a store in PostgreSQL, MySQL or MariaDB", s.Name)
			}
			return nil, fmt.Errorf("scenario %q measures a database: name one with --store postgres://USER:PASSWORD@HOST/DATABASE", s.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no scenario %q: want one of %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(s Scenario) bool {
		if len(names) == 0 {
			return s.optional || cannot(&s)
		}
		return !slices.Contains(names, s.Name)
	}), nil
}

// sizes are the sizes of the loads.
type sizes struct {
	raw       time.Duration // one measurement
	batch     int           // tasks of one request
	drain     int           // tasks
	batches   int
	singles   int
	creates   int
	addresses int // of receivers
	spread    int // tasks over many addresses
	hosts     int // on the Internet, in hundreds
	paced     int // deliveries a second to them
	abroad    time.Duration
	latency   time.Duration
	late      int // tasks for lateness
	over      time.Duration
	waiting   int // tasks due tomorrow
	overdue   int // overdue tasks after the kill
	settle    time.Duration
	idle      time.Duration

	orders int           // orders that can be polled in time
	crowd  int           // orders that cannot
	gap    time.Duration // between polls
	polls  int           // until an order is paid, if all are polled in time
	ramp   time.Duration // over which orders are placed
	steady time.Duration // of the crowd, measured

	notices int           // as fast as possible
	billed  int           // orders of a bill
	planted int           // differences of each kind
	noticed time.Duration // from an order's creation to its first query, had it no notice

	soak time.Duration
	held time.Duration // that a transaction stays open

	kills int // of nodes, in turn

	nodes  int
	filled int // waiting tasks that are copied within the database
	ended  int // ended ones, created in the last 20 days
}

// ahead returns how long before their due times tasks are created: long enough for a machine that
// accepts 8,000 a second.
func (s sizes) ahead(tasks int) time.Duration {
	return s.settle + time.Duration(tasks)*time.Second/8_000
}

var full = sizes{
	raw: 3 * time.Second, batch: 1000, drain: 100_000, batches: 100_000, singles: 50_000, creates: 80_000,
	addresses: 1000, spread: 100_000, hosts: 2000, paced: 3000, abroad: 30 * time.Second,
	latency: 20 * time.Second, late: 20_000, over: 20 * time.Second,
	waiting: 1_000_000, overdue: 10_000, settle: 3 * time.Second, idle: 5 * time.Second,
	orders: 20_000, crowd: 100_000, gap: 3 * time.Second, polls: 20, ramp: 15 * time.Second, steady: 30 * time.Second,
	notices: 50_000, noticed: 90 * time.Second, billed: 1_000_000, planted: 1_000,
	soak: 2 * time.Hour, held: 30 * time.Minute, nodes: 3, kills: 8, filled: 5_000_000, ended: 30_000_000,
}

var quick = sizes{
	raw: time.Second, batch: 1000, drain: 20_000, batches: 20_000, singles: 10_000, creates: 10_000,
	addresses: 200, spread: 20_000, hosts: 200, paced: 1000, abroad: 5 * time.Second,
	latency: 4 * time.Second, late: 4_000, over: 4 * time.Second,
	waiting: 100_000, overdue: 2_000, settle: time.Second, idle: 2 * time.Second,
	orders: 2_000, crowd: 30_000, gap: time.Second, polls: 5, ramp: 3 * time.Second, steady: 6 * time.Second,
	notices: 10_000, noticed: 30 * time.Second, billed: 50_000, planted: 100,
	soak: time.Minute, held: time.Minute, nodes: 3, kills: 2, filled: 200_000, ended: 400_000,
}
