package sim

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A ledger is what really happened, as the store and the receivers saw it: a second record of
// everything, kept without the engine. Its methods are called with the truth's mutex held.
type ledger struct {
	began    time.Time
	shards   map[uint16]*shard
	nodes    map[string]time.Time // registered nodes, and when each expires
	ttl      map[string]time.Duration
	joinedBy map[string]*life
	leases   map[store.Lease]string // all leases so far, by the life that had them
	tasks    map[bellman.ID]*account
	keys     map[string]bellman.ID
	known    map[string]bool        // all keys so far
	chains   map[chain][]bellman.ID // tasks of an ordering key, in the order in which they were added
	clear    map[asking]time.Time   // when the store last said that nothing comes before a task
	order    []bellman.ID           // all tasks, in the order in which they were added
	wrongs   []string
	events   []event
	lives    []*life
	count    counts
	bad      map[bellman.ID]bool // tasks that broke a promise
	tardy    map[bellman.ID]bool // tasks whose commit is answered late
	flying   map[*send]struct{}  // requests that are not recorded yet
	punctual time.Time           // since when nothing explains a late request; zero: something does

	stops    map[string]*stop       // pauses, by the documents in the store
	resumed  map[string]time.Time   // when each pause last ended
	lately   map[string][]time.Time // starts of requests, by the name of each limited rate
	uneven   time.Time              // when the shares of limits last changed
	newcomer time.Time              // when a node joined last
	ahead    atomic.Int64           // how far the database's clock is ahead, in nanoseconds
	warped   time.Time              // when that clock was last set
	wentBack time.Time              // when the database came back from a fail-over with losses
	flooded  bool                   // thousands of tasks were added at once
	ruled    time.Time              // when a node last got other rules, or the usual ones again
	others   int                    // number of nodes that have other limits
}

// counts are the numbers of events of a run.
type counts struct {
	Adds      int // tasks
	Sends     int // requests
	Twice     int // of Sends, those that were sent again for the same due time
	Commits   int
	Fenced    int           // commits that were refused
	Unknown   int           // commits whose sender did not learn the outcome
	Late      int           // of Unknown, those that arrived after their sender had given up
	Takeovers int           // shards that went to another life
	Calm      int           // requests at times when nothing explains a late request
	Latest    time.Duration // of them
	Own       time.Duration // the longest lateness of Calm among tasks that the node knew
	Judged    int           // requests during trouble elsewhere, which does not explain lateness
	Latish    time.Duration // the longest lateness of Judged
	Stale     time.Duration // the largest age of a content from which a request was made
	Compared  int           // times that an agenda was compared with the store
	Pruned    int           // tasks that were deleted long after their end
	AtLimit   int           // requests that used up a limit
	Waiting   int           // most outcomes that waited at one time, if they were counted
	Asked     int           // answers with Retry-After that was followed
	Aged      int           // tasks that ended because of their age
	Back      int           // tasks that a fail-over returned to an earlier version
	Vanished  int           // tasks that a fail-over lost

	Keyed      int // tasks that have an ordering key
	Superseded int // of them
	Beside     int // requests during another request of their ordering key
	Print      uint64
}

// add adds the counts of another run, but of Waiting and of each duration it keeps the greater.
// Print is left as it is.
func (c *counts) add(d counts) {
	waiting := max(c.Waiting, d.Waiting)
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(d)
	for i := range to.NumField() {
		switch n := from.Field(i); n.Interface().(type) {
		case int:
			to.Field(i).SetInt(to.Field(i).Int() + n.Int())
		case time.Duration:
			to.Field(i).SetInt(max(to.Field(i).Int(), n.Int()))
		}
	}
	c.Waiting = waiting
}

func (s *shard) owner() owner {
	if len(s.owners) == 0 {
		return owner{}
	}
	return s.owners[len(s.owners)-1]
}

// An account is one task: what was committed about it and what was sent.
type account struct {
	task     bellman.Task // as it is now
	changed  time.Time    // when it became so
	by       *life        // the life that changed it last; nil: another writer
	log      []bellman.Attempt
	sends    []*send
	accepted bool // a caller was told that it is stored
	byHand   bool // a person changed it
	twice    int  // allowed requests that were sent again for the same due time
	gap      gap  // the gap of the schedule before the next attempt

	left      map[uint32]time.Time // its former versions, and when each was replaced
	pruned    bool                 // it was deleted long after its end, or vanished
	vanished  bool                 // a fail-over lost it
	back      bool                 // a fail-over returned it to an earlier version, and nothing changed it since
	torn      bool                 // a fail-over did so once: its log may lack attempts before others
	announced bool                 // an attempt was announced once, because the task was a suspect
	announcer *life                // the life that announced it last

	// Lives that released its shard during an attempt, and may still record the attempt.
	handedOver map[*life]bool // true until the attempt that was handed over is recorded
	away       time.Time      // until then another node may be making an attempt, by any clock
	stopped    bool           // a person cancelled it
	arrivals   int
	said       bool // a receiver accepted it
	ended      time.Time

	added, revived time.Time // revived: pending again after an end
}

// A send is one request that left a node.
type send struct {
	life     *life
	node     string // the name under which the node had joined
	task     bellman.ID
	number   int
	version  uint32
	shard    uint16
	due      time.Time
	trigger  bellman.Trigger
	doubt    bool      // the handler is told that an earlier attempt may have been made
	begun    time.Time // when the engine began the attempt
	at       time.Time // when it was sent; later, if the process stood still in between
	clock    time.Time // the same as begun, by the node's clock
	stale    time.Duration
	arrived  bool
	verdict  bellman.Verdict
	iced     bool      // its node stood still, or was taken for dead
	lost     bool      // a fail-over came after it
	recorded time.Time // when its outcome was committed; zero: never
	result   bellman.Result
	landed   time.Time // when the engine learned of the commit; zero: not yet
}

// An event is a line of the story of a run.
type event struct {
	at    time.Time
	task  bellman.ID // zero: of all
	shard int        // whose owner changed; -1: it is about something else
	text  func() string
}

func newLedger() *ledger {
	return &ledger{
		began:    time.Now(),
		shards:   make(map[uint16]*shard),
		nodes:    make(map[string]time.Time),
		ttl:      make(map[string]time.Duration),
		joinedBy: make(map[string]*life),
		leases:   make(map[store.Lease]string),
		tasks:    make(map[bellman.ID]*account),
		keys:     make(map[string]bellman.ID),
		known:    make(map[string]bool),
		chains:   make(map[chain][]bellman.ID),
		clear:    make(map[asking]time.Time),
		bad:      make(map[bellman.ID]bool),
		tardy:    make(map[bellman.ID]bool),
		flying:   make(map[*send]struct{}),

		stops:   make(map[string]*stop),
		resumed: make(map[string]time.Time),
		lately:  make(map[string][]time.Time),
	}
}

func (g *ledger) shard(n uint16) *shard {
	if g.shards[n] == nil {
		g.shards[n] = &shard{}
	}
	return g.shards[n]
}

// tell adds a line to the story of the run.
func (g *ledger) tell(id bellman.ID, format string, args ...any) {
	g.events = append(g.events, event{time.Now(), id, -1, func() string { return fmt.Sprintf(format, args...) }})
}

// moved adds to the story that a shard changed its owner.
func (g *ledger) moved(n uint16, format string, args ...any) {
	g.events = append(g.events, event{time.Now(), bellman.ID{}, int(n), func() string { return fmt.Sprintf(format, args...) }})
}

// stamp adds an event and its time to the fingerprint of the run.
func (g *ledger) stamp(values ...int64) {
	h := g.count.Print ^ uint64(time.Since(g.began))
	for _, v := range values {
		h = (h ^ uint64(v)) * 1099511628211
		h ^= h >> 29
	}
	g.count.Print = h
}

const mostWrongs = 20

// wrong records a broken promise.
func (g *ledger) wrong(id bellman.ID, format string, args ...any) {
	if len(g.wrongs) > mostWrongs {
		return
	}
	text := fmt.Sprintf(format, args...)
	if !id.IsZero() {
		g.bad[id] = true
		text = fmt.Sprintf("task %v: %s", id, text)
	}
	g.tell(id, "WRONG: %s", text)
	g.wrongs = append(g.wrongs, fmt.Sprintf("%v: %s", time.Since(g.began).Round(time.Microsecond), text))
}

// joined, beaten, left, released and claimed record what the store did for nodes.

func (g *ledger) alive(node string) bool { return g.clock().Before(g.nodes[node]) }

// clock returns the time of the database.
func (g *ledger) clock() time.Time { return time.Now().Add(time.Duration(g.ahead.Load())) }

// committed records a batch that the store has written.
func (g *ledger) committed(l *life, b *store.Batch) {
	g.count.Commits++
	held := make(map[uint16]bool, len(b.Leases))
	for _, lease := range b.Leases {
		s := g.shard(lease.Shard)
		if is := s.lease(lease.Shard); is != lease {
			g.wrong(bellman.ID{}, "%s wrote under epoch %d of shard %d, mark %q, which has epoch %d, mark %q", l, lease.Epoch, lease.Shard, lease.Mark, is.Epoch, is.Mark)
		}
		if s.owner().life != l && s.owner().node != "" {
			g.wrong(bellman.ID{}, "%s wrote under a lease of shard %d that is %s's", l, lease.Shard, s.owner().life)
		}
		held[lease.Shard] = true
	}
	for i := range b.Adds {
		g.added(l, &b.Adds[i])
	}
	for i := range b.Changes {
		if b.Changes[i].Err == nil {
			g.changed(l, &b.Changes[i], held)
		}
	}
	for i := range b.Docs {
		g.documented(&b.Docs[i])
	}
	g.stamp(1, int64(len(b.Adds)), int64(len(b.Changes)))
}

func (g *ledger) added(l *life, a *store.Add) {
	if a.Err != nil || !a.Existing.IsZero() {
		return
	}
	t := a.Task
	if key := t.Queue + "/" + t.Key; t.Key != "" {
		if id, ok := g.keys[key]; ok {
			g.wrong(t.ID, "added with key %s, which task %v has", t.Key, id)
		}
		g.keys[key] = t.ID
		g.known[key] = true
	}
	before := g.tasks[t.ID]
	if before != nil && !before.vanished { // what a fail-over lost, its attempt's node may record again
		g.wrong(t.ID, "added twice")
	}
	g.count.Adds++
	g.tasks[t.ID] = &account{task: *t, changed: time.Now(), added: time.Now(), by: l,
		handedOver: make(map[*life]bool), left: make(map[uint32]time.Time)}
	if g.tardy[t.ID] {
		g.tasks[t.ID].by = nil // who added it knows that late
	}
	g.lined(t)
	if before == nil {
		g.order = append(g.order, t.ID)
	}
	st := t.Status
	g.tell(t.ID, "%s added %s, to %s of %s, shard %d, due %s, in line %q, supersedes %t", l, t.Key, t.Endpoint, t.Queue, st.Shard, g.since(st.Due), t.OrderingKey, t.Supersedes)
}

func (g *ledger) since(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Sub(g.began).String()
}

func (g *ledger) changed(l *life, c *store.Change, held map[uint16]bool) {
	a := g.tasks[c.ID]
	if a == nil {
		g.wrong(c.ID, "%s changed it, and it was never added", l)
		return
	}
	was, to := a.task.Status, c.To
	if c.Version != was.Version || to.Version != c.Version+1 {
		g.wrong(c.ID, "%s changed it from version %d to %d, and it had %d", l, c.Version, to.Version, was.Version)
	}
	if to.Shard != was.Shard && (!held[was.Shard] || c.Attempt != nil) { // to where its queue has a piece of its limit
		g.wrong(c.ID, "%s moved it from shard %d to %d", l, was.Shard, to.Shard)
	}
	action := ""
	switch {
	case c.Audit != nil:
		action = c.Audit.Action
	case c.Attempt == nil && to.Trigger == bellman.BySettle && was.Trigger != bellman.BySettle:
		action = "settle"
	}
	hand := action != ""
	if hand {
		a.byHand = true
		a.stopped = a.stopped || action == "cancel"
	} else if !held[was.Shard] && (!a.handedOver[l] || c.Attempt == nil) && !g.moves(c, &was, &a.task) {
		g.wrong(c.ID, "%s changed it without a lease of shard %d", l, was.Shard)
	}
	if to.Place != was.Place {
		g.wrong(c.ID, "%s moved it from place %d to %d", l, was.Place, to.Place)
	}
	g.decided(c, a, &was, hand)
	if c.Attempt != nil {
		s := g.recorded(l, c, a)
		if !hand {
			g.waits(a, c, &was, s)
			g.heeded(c, a, &was, s)
			g.timed(c, a, &was, s)
		}
	}
	a.away = time.Time{}
	switch {
	case c.Attempt != nil:
		if a.handedOver[l] {
			a.handedOver[l] = false
		}
	case !hand && to.Phase == bellman.HandedOver && l != nil && to.VisibleAt.After(l.clock()):
		a.handedOver[l] = true // while the attempt is in flight
		a.away = time.Now().Add(to.VisibleAt.Sub(to.Updated))
	}
	switch {
	case hand || !to.InDoubt(), to.Shard != was.Shard: // whose attempt was announced is not known at its new shard
		a.announcer = nil
	case to.Phase == bellman.Announced:
		a.announced, a.announcer = true, l
	case !a.handedOver[l] || a.announcer != l:
		a.announcer = nil // it was brought back, or another makes the attempt
	}
	a.left[was.Version] = time.Now()
	a.task.Status = to
	a.changed, a.by, a.back = time.Now(), l, false
	if to.State.Ended() && !was.State.Ended() {
		a.ended = time.Now()
	}
	if was.State.Ended() && !to.State.Ended() {
		a.revived = time.Now()
	}
	number, result := 0, bellman.Unknown
	if c.Attempt != nil {
		number, result = c.Attempt.Number, c.Attempt.Result
	}
	g.tell(c.ID, "%s wrote version %d: %v %s %s, attempt %d %v, due %s, look %s, trigger %v",
		l, to.Version, to.State, to.Reason, action, number, result, g.since(to.Due), g.since(to.VisibleAt), to.Trigger)
	g.stamp(3, int64(to.Version), int64(to.State), int64(number), to.Due.UnixMilli())
	for i := range c.Follow {
		g.added(l, &c.Follow[i])
	}
}

// decided checks that an ended task stays ended, except for manual changes.
func (g *ledger) decided(c *store.Change, a *account, was *bellman.Status, hand bool) {
	to := &c.To
	switch {
	case hand:
	case was.State.Ended() && (to.State != was.State || to.Reason != was.Reason || !to.Finished.Equal(was.Finished)):
		g.wrong(c.ID, "had ended as %v (%s), and became %v (%s)", was.State, was.Reason, to.State, to.Reason)
	case was.Before != nil && was.Before.State.Ended() && to.State.Ended() && to.State != was.Before.State && to.State != bellman.Succeeded:
		g.wrong(c.ID, "had ended as %v before an attempt by hand, and became %v", was.Before.State, to.State)
	case !was.State.Ended() && to.State == bellman.Cancelled && (was.Before == nil || was.Before.State != bellman.Cancelled) &&
		(!to.WasSuperseded() || g.superseding(&a.task, time.Time{}) == nil):
		g.wrong(c.ID, "was cancelled by nobody")
	}
	if bytes.Equal(to.Data, was.Data) || c.Attempt != nil && slices.ContainsFunc(a.sends, func(s *send) bool { return s.recorded.IsZero() && bytes.Equal(s.verdict.Data, to.Data) }) {
		return
	}
	g.wrong(c.ID, "its data changed, and no handler said so")
}

// recorded finds the request of an attempt in the log; nil: there was none.
func (g *ledger) recorded(l *life, c *store.Change, a *account) *send {
	at := c.Attempt
	if n := len(a.log); at.Number != n+1 && !a.torn {
		g.wrong(c.ID, "%s logged attempt %d after %d of them", l, at.Number, n)
	}
	a.log = append(a.log, *at)
	if at.Number != int(c.To.Attempts) {
		g.wrong(c.ID, "%s logged attempt %d, and counts %d", l, at.Number, c.To.Attempts)
	}
	if at.Started.Before(at.Due) && at.Result != bellman.Unknown {
		g.wrong(c.ID, "attempt %d was started %v before it was due", at.Number, at.Due.Sub(at.Started))
	}
	for _, s := range a.sends {
		if s.life != l || !s.recorded.IsZero() || s.clock.Sub(at.Started).Abs() > time.Millisecond {
			continue
		}
		s.recorded, s.result = time.Now(), at.Result
		delete(g.flying, s)
		return s
	}
	switch {
	case at.Result == bellman.Unknown && at.Trigger == bellman.ByTakeover: // of a node that died
		if a.announcer == l {
			g.wrong(c.ID, "%s logged attempt %d as of a node that died, and it announced it itself and never sent it", l, at.Number)
		}
	case at.Result == bellman.TimedOut || at.Result == bellman.Unknown: // a process that stood still sent nothing
	default:
		g.wrong(c.ID, "%s logged attempt %d as %v, and sent none", l, at.Number, at.Result)
	}
	return nil
}
