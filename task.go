package bellman

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Task is attempted on a schedule until its answer ends it.
//
// The fields before Status are written once, when the task is added, and never
// change. Times are UTC in whole milliseconds.
type Task struct {
	ID    ID     // set by the engine; UUIDv7, so tasks sort by creation
	Queue string // the class of tasks whose rules it follows; required

	// Key is the caller's own name, unique within the queue while the store has the task: retention
	// frees it. The same Key with the same content is the same task. Delay and StartAt are content,
	// so repeat a call with the same values. Empty: none.
	Key string

	// Fields to search by. Each may be empty.
	MerchantNo string
	OrderNo    string
	Event      string

	// The request. Your own handler may use Body alone.
	URL    string
	Method string            // empty: POST
	Header map[string]string // names as given
	Body   []byte

	// The rules of this task. For a field that the caller left empty, the queue's value at that
	// time.
	Schedule string        // a preset's name or a schedule's text
	Success  string        // a preset's name or an expression, for handlers that judge answers
	Timeout  time.Duration // of one attempt
	MaxAge   time.Duration // since the schedule began; 0: the schedule decides alone
	Repeat   string        // "10m" or "cron …": the schedule restarts after the task ended; empty: no

	// OrderingKey orders tasks of one queue: tasks with the same key are attempted in the order in
	// which they were added, each only after the one before it has ended. Empty: no order.
	// Supersedes ends earlier waiting tasks instead of waiting for them. A task with an OrderingKey
	// cannot Repeat.
	OrderingKey string
	Supersedes  bool

	// Kind is the kind of the task's queue when the task was added. The engine sets it.
	Kind Kind

	// Inherited says which of the rules above the caller left empty, for a task that names a
	// merchant. They have the values that merchant and queue had when the task was added. At each
	// attempt the merchant's current rule is used instead, if it has one. The engine sets
	// Inherited.
	Inherited Inherited

	// Delay is the time from the creation of the task to the start of its schedule; StartAt is that
	// start. Give one or none. Both zero: the queue's delay. A negative Delay means at once,
	// whatever the queue says. Both are input only; Status.Due is the result.
	Delay   time.Duration
	StartAt time.Time

	// Origin says where the task comes from, and has its alias; nil: neither. It is not part of the
	// content: the same task from another origin is the same task. Do not modify it, it is shared.
	Origin *Origin

	// Endpoint names the receiver, for fairness and limits: usually scheme://host:port. Empty: the
	// whole queue is one endpoint.
	Endpoint string

	Status

	// Last is the newest attempt; nil before the first. Only reads of a store set it.
	Last *Attempt
}

// An Origin says where a task comes from. It also has the task's second name, so that a Task
// without one is no larger.
type Origin struct {
	CreatedBy string // name of the API key that created it, or the task that it follows; empty: no key
	Trace     *Trace // the trace in which it was added; nil: none

	// Alias is a second name of the task, unique among the aliases of all queues of the store.
	// Empty: none. A handler may derive it from the content when it checks the task.
	Alias string

	// Resume continues a task that another system began: the schedule goes on from there. It is
	// input only, and nil after the task was added. Nil: the schedule starts.
	Resume *Resume
}

// origin returns a copy of the task's origin; without one it is zero.
func (t *Task) origin() Origin {
	if t.Origin == nil {
		return Origin{}
	}
	return *t.Origin
}

// CreatedBy returns the name of the API key that created the task; empty: no key.
func (t *Task) CreatedBy() string { return t.origin().CreatedBy }

// SetCreatedBy sets the name of the API key that creates the task.
func (t *Task) SetCreatedBy(name string) {
	if name == t.CreatedBy() {
		return
	}
	o := t.origin()
	o.CreatedBy = name
	t.Origin = &o
}

// Trace returns the trace in which the task was added; nil: none.
func (t *Task) Trace() *Trace { return t.origin().Trace }

// SetTrace sets the trace in which the task is added.
func (t *Task) SetTrace(trace *Trace) {
	if trace == t.Trace() {
		return
	}
	o := t.origin()
	o.Trace = trace
	t.Origin = &o
}

// Alias returns the second name of the task; empty: none. See [Origin.Alias].
func (t *Task) Alias() string { return t.origin().Alias }

// SetAlias sets the second name of the task. See [Origin.Alias].
func (t *Task) SetAlias(alias string) {
	if alias == t.Alias() {
		return
	}
	o := t.origin()
	o.Alias = alias
	t.Origin = &o
}

// Resume returns where another system left the task; nil: it is a new task.
func (t *Task) Resume() *Resume { return t.origin().Resume }

// A Resume is the progress that another system made with a task.
type Resume struct {
	Attempts int       // how many it made: at least one
	Last     time.Time // start of the last attempt
	Began    time.Time // when the first was due: ages and offsets count from here; zero: Last
}

// Created returns when the task was added. It is the time in the id.
func (t *Task) Created() time.Time { return t.ID.Time() }

// Changed returns when the status last changed, and zero if Updated is zero. It is never before
// Created, although ids are made by the wall clock and Updated by the engine's clock.
func (t *Task) Changed() time.Time {
	if created := t.Created(); !t.Updated.IsZero() && t.Updated.Before(created) {
		return created
	}
	return t.Updated
}

// A Status is the part of a task that changes, as a whole and by compare-and-set on Version.
type Status struct {
	State   State
	Phase   Phase   // why a pending task waits
	Trigger Trigger // reason of the next attempt; never ByTakeover
	Shard   uint16  // the shard that the task belongs to
	Version uint32  // grows by one with each change; 1 for a task just added

	// WasDue is when the task was due before somebody moved Due, in whole Unix seconds, if an
	// attempt may have begun then. If a node has died since, that attempt may have been made
	// without being recorded. 0: no such attempt.
	WasDue uint32

	Reason string // why it ended: accepted, attempts_used_up, max_age, gave_up, …; empty while pending

	Attempts int32 // attempts so far, for any reason: the number of the last one
	Step     int32 // attempts that count for the schedule since it started

	Began     time.Time // due time of the schedule's first attempt: ages and offsets count from here
	Due       time.Time // earliest time of the next attempt; zero when ended
	VisibleAt time.Time // when the shard's owner looks at the task: Due, or later as Phase says; beyond the year 9999: when its line may go

	// Before is the state to which the task returns if a manual attempt is not accepted. Nil: no
	// manual attempt is pending.
	Before *Before

	// Place is the position among tasks of the same ordering key, in µs of the store's clock.
	// Commit sets it when it adds the task, unless [Add.Moved] is set; it never changes. Zero: no
	// position.
	Place int64

	Updated  time.Time
	Finished time.Time // zero while pending
	Data     []byte    // of the handler, carried from verdict to verdict
}

// Before is the state that a manual attempt interrupted.
type Before struct {
	State    State
	Reason   string
	Due      time.Time // zero when State is an end state
	Finished time.Time
}

// A State says whether a task is pending, or how it ended.
type State uint8

// The states of a task.
const (
	Pending   State = iota // more attempts follow
	Succeeded              // an answer was accepted, or a service completed the task
	Failed                 // the schedule or the age was used up, or the handler gave up
	Cancelled              // a person or a service ended it, or a later task superseded it
)

// Ended reports whether the task has ended.
func (s State) Ended() bool { return s != Pending }

var stateNames = []string{"pending", "succeeded", "failed", "cancelled"}

func (s State) String() string { return name(stateNames, int(s), "state") }

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name.
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = parse[State](stateNames, string(text), "state")
	return err
}

// A Kind says which handlers can attempt a task.
type Kind uint8

// The kinds of tasks. Kinds from KindOwn on are free for programs that embed bellman.
const (
	KindUnknown Kind = iota // stored before tasks had kinds: any handler of its queue attempts it
	KindNotify              // sends its Body to its URL
	KindOrder               // queries a payment channel about an order, which its Body describes
	KindPoll                // queries a channel about something else
	KindOwn     Kind = 64
)

var kindNames = []string{"", "notify", "order", "poll"}

// String returns the kind's name: notify, order, poll, or kind(64) for one of your own; empty for
// KindUnknown.
func (k Kind) String() string { return name(kindNames, int(k), "kind") }

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	for own := KindOwn; own != 0; own++ { // after 255 it is 0
		if own.String() == string(text) {
			*k = own
			return nil
		}
	}
	*k, err = parse[Kind](kindNames, string(text), "kind")
	return err
}

// A Phase says what a pending task waits for.
type Phase uint8

// The phases of a pending task. An ended task is Waiting.
const (
	Waiting     Phase = iota // for its Due
	Deferred                 // for its line, which is paused or full; or for its turn in an ordering key, until VisibleAt at most
	Announced                // for its attempt, which may have begun: the last attempt may have killed its node, so this one was announced first
	HandedOver               // for the outcome of an attempt at the former owner of its shard, until VisibleAt at most
	Quarantined              // for VisibleAt: its attempts kept ending with the death of the node
)

// InDoubt reports whether an attempt may have been made without being recorded.
func (s *Status) InDoubt() bool { return s.Phase == Announced || s.Phase == HandedOver }

var phaseNames = []string{"waiting", "deferred", "announced", "handed_over", "quarantined"}

func (p Phase) String() string { return name(phaseNames, int(p), "phase") }

// Inherited is a set of rules that a task takes from its merchant.
type Inherited uint8

// The rules that a merchant can have.
const (
	InheritedSchedule Inherited = 1 << iota
	InheritedSuccess
	InheritedTimeout
)

// Has reports whether a rule is inherited.
func (l Inherited) Has(rule Inherited) bool { return l&rule != 0 }

// MerchantEndpoint returns the Endpoint of tasks that go to their merchant's current address. A
// [Router] gives the endpoint of that address.
func MerchantEndpoint(merchantNo string) string { return merchantEndpoint + merchantNo }

// ToMerchant reports whether an Endpoint is a MerchantEndpoint.
func ToMerchant(endpoint string) bool { return strings.HasPrefix(endpoint, merchantEndpoint) }

const merchantEndpoint = "merchant:"

// A Digest is a hash of the content of a task. It tells whether a second task with the same key has
// the same content.
type Digest [16]byte

// Digest returns the hash of the content that the caller gave. Compute it before defaults are
// filled in: a later change of the queue must not make a repeated request different. The Alias is
// not part of it, because a handler may derive the Alias from the content.
func (t *Task) Digest() Digest {
	b := make([]byte, 0, 1024)
	for _, s := range [...]string{t.Queue, t.Key, t.MerchantNo, t.OrderNo, t.Event, t.URL, t.Method,
		t.Schedule, t.Success, t.Repeat} {
		b = appendString(b, s)
	}
	b = append(binary.AppendUvarint(b, uint64(len(t.Body))), t.Body...)
	for _, k := range slices.Sorted(maps.Keys(t.Header)) {
		b = appendString(appendString(b, k), t.Header[k])
	}
	b = binary.AppendVarint(b, int64(t.Timeout))
	b = binary.AppendVarint(b, int64(t.MaxAge))
	b = binary.AppendVarint(b, int64(t.Delay))
	if !t.StartAt.IsZero() {
		b = binary.AppendVarint(b, t.StartAt.UnixMilli())
	}
	if t.OrderingKey != "" { // otherwise as before there were ordering keys
		b = appendString(appendString(b, "ordering_key"), t.OrderingKey)
		if t.Supersedes {
			b = appendString(b, "supersedes")
		}
	}
	sum := sha256.Sum256(b)
	return Digest(sum[:16])
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
