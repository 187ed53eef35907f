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
	Key   string // the caller's own name, unique within the queue; empty: none

	// What people search by. Each may be empty.
	MerchantNo string
	OrderNo    string
	Event      string

	// What is sent. A handler of your own may use Body alone.
	URL    string
	Method string            // empty: POST
	Header map[string]string // names as given
	Body   []byte

	// The rules of this task: the queue's as they were when the task was added,
	// where the caller gave none of its own.
	Schedule string        // a preset's name or a schedule's text
	Success  string        // a preset's name or an expression; for handlers that judge answers
	Timeout  time.Duration // of one attempt
	MaxAge   time.Duration // since the schedule began; 0: the schedule decides alone
	Repeat   string        // "10m" or "cron …": begins again after it ended; empty: does not

	// OrderingKey orders tasks of one queue: those with the same key are attempted in
	// the order in which they were added, each only after the one before it has ended.
	// Empty: the task waits for nobody. Supersedes ends the earlier ones that wait,
	// instead of waiting for them. A task with an OrderingKey does not Repeat.
	OrderingKey string
	Supersedes  bool

	// Kind is the kind of the task's queue when the task was added. The engine sets it.
	Kind Kind

	// Inherited says which of the rules above the caller did not give, for a task that names
	// a merchant. They have the values that merchant and queue had when the task was added. At
	// each attempt the merchant's present rule is used instead, where it has one. The engine
	// sets it.
	Inherited Inherited

	// Delay is how long after its creation the task's schedule begins; StartAt is the time
	// at which it does. Give one or none. Both zero: the queue's delay. A negative Delay: at
	// once, whatever the queue says. They are input; Status.Due is the result.
	Delay   time.Duration
	StartAt time.Time

	// Origin says where the task comes from; nil: nothing is known. It is no part of what the
	// caller asked for: the same task from elsewhere is the same task. It is shared, and must not be changed.
	Origin *Origin

	// Endpoint names what the task goes to, for fairness and limits: usually
	// scheme://host:port. Empty: the queue is one endpoint.
	Endpoint string

	Status

	// Last is the newest attempt; nil before the first. Only reads of a store set it.
	Last *Attempt
}

// An Origin says where a task comes from.
type Origin struct {
	CreatedBy string // the name of the key that created it; empty: none did, as of a follow-up task
	Trace     *Trace // what it was added under; nil: nobody follows it

	// Resume says that another system attempted the task before: its schedule goes on
	// from there. It is input, gone when the task was added; nil: the schedule begins.
	Resume *Resume
}

// CreatedBy is the name of the key that created the task; empty: none did.
func (t *Task) CreatedBy() string {
	if t.Origin == nil {
		return ""
	}
	return t.Origin.CreatedBy
}

// SetCreatedBy notes the name of the key that creates the task.
func (t *Task) SetCreatedBy(name string) {
	if name == "" && t.Origin == nil {
		return
	}
	t.Origin = &Origin{CreatedBy: name, Trace: t.Trace(), Resume: t.Resume()}
}

// Trace is what the task was added under; nil: nobody follows it.
func (t *Task) Trace() *Trace {
	if t.Origin == nil {
		return nil
	}
	return t.Origin.Trace
}

// SetTrace notes what the task is added under.
func (t *Task) SetTrace(trace *Trace) {
	if trace == t.Trace() {
		return
	}
	t.Origin = &Origin{CreatedBy: t.CreatedBy(), Trace: trace, Resume: t.Resume()}
}

// Resume is where another system left the task; nil: none did.
func (t *Task) Resume() *Resume {
	if t.Origin == nil {
		return nil
	}
	return t.Origin.Resume
}

// A Resume is where another system left a task.
type Resume struct {
	Attempts int       // how many it made: at least one
	Last     time.Time // when the last of them began
	Began    time.Time // when the first was due: ages and offsets count from here; zero: Last
}

// Created is when the task was added. It is the time in the id.
func (t *Task) Created() time.Time { return t.ID.Time() }

// Changed is when the task's status changed last. It is never before Created: ids are made by the
// machine's clock, and may be a moment younger than the engine's Updated. Zero if Updated is.
func (t *Task) Changed() time.Time {
	if created := t.Created(); !t.Updated.IsZero() && t.Updated.Before(created) {
		return created
	}
	return t.Updated
}

// A Status is the part of a task that changes, always as a whole and by
// compare-and-set on Version.
type Status struct {
	State   State
	Phase   Phase   // of a pending task: what it waits for
	Trigger Trigger // why the next attempt is made; never ByTakeover
	Shard   uint16  // the slice of the tasks it belongs to
	Version uint32  // grows by one with each change; 1 for a task just added
	Reason  string  // why it ended: accepted, attempts_used_up, max_age, gave_up, …; empty while pending

	Attempts int32 // attempts made so far, of whatever trigger: the last one's number
	Step     int32 // attempts that count for the schedule, since it began

	Began     time.Time // due time of the schedule's first attempt: ages and offsets count from here
	Due       time.Time // earliest time of the next attempt; zero when ended
	VisibleAt time.Time // when the shard's owner looks at it next: Due, or later as Phase says. Beyond the year 9999: when its line may go

	// Before is the state to which the task returns if an attempt that somebody asked for
	// is not accepted. Nil: nobody asked for one.
	Before *Before

	// Place is where the task stands among those of its ordering key, in µs of the
	// store's clock. Commit sets it when it adds the task, unless that was [Add.Moved]; it
	// stays. Zero: it has none.
	Place int64

	Updated  time.Time
	Finished time.Time // zero while pending
	Data     []byte    // the handler's own, carried from verdict to verdict
}

// Before is the state that a manual attempt interrupted.
type Before struct {
	State    State
	Reason   string
	Due      time.Time // zero when State is an end state
	Finished time.Time
}

// A State says whether a task goes on, and if not, how it ended.
type State uint8

// The states of a task.
const (
	Pending   State = iota // attempts go on
	Succeeded              // an answer was accepted, or it was completed from outside
	Failed                 // schedule or age used up, or refused for good
	Cancelled              // ended by hand
)

// Ended reports whether no attempt follows by itself.
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

// The kinds of tasks. Programs that embed bellman may use those from KindOwn on as they like.
const (
	KindUnknown Kind = iota // of a task that was stored before tasks had kinds: any handler of its queue attempts it
	KindNotify              // sends its Body to its URL
	KindOrder               // asks a payment channel about an order, which its Body describes
	KindPoll                // asks for something else
	KindOwn     Kind = 64
)

var kindNames = []string{"", "notify", "order", "poll"}

func (k Kind) String() string { return name(kindNames, int(k), "kind") }

// UnmarshalText reads a kind's name.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = parse[Kind](kindNames, string(text), "kind")
	return err
}

// A Phase says what a pending task waits for.
type Phase uint8

// The phases of a pending task. One that ended is Waiting.
const (
	Waiting     Phase = iota // its Due
	Deferred                 // its line, which is paused or full, or its turn: then until VisibleAt at most
	Announced                // its attempt, which may have begun: the one before a node's death may have caused it
	HandedOver               // the outcome of an attempt that the node makes which had its shard before: until VisibleAt at most
	Quarantined              // VisibleAt: its attempts kept ending with the death of their nodes
)

// InDoubt reports whether an attempt may have been made that is not recorded.
func (s *Status) InDoubt() bool { return s.Phase == Announced || s.Phase == HandedOver }

var phaseNames = []string{"waiting", "deferred", "announced", "handed_over", "quarantined"}

func (p Phase) String() string { return name(phaseNames, int(p), "phase") }

// Inherited are rules that are not a task's own, as a set.
type Inherited uint8

// The rules that a merchant can have.
const (
	InheritedSchedule Inherited = 1 << iota
	InheritedSuccess
	InheritedTimeout
)

// Has reports whether a rule is inherited.
func (l Inherited) Has(rule Inherited) bool { return l&rule != 0 }

// MerchantEndpoint is the Endpoint of tasks that go to their merchant's address as it
// stands at each attempt. A [Router] says which endpoint that is.
func MerchantEndpoint(merchantNo string) string { return merchantEndpoint + merchantNo }

// ToMerchant reports whether an Endpoint is a MerchantEndpoint.
func ToMerchant(endpoint string) bool { return strings.HasPrefix(endpoint, merchantEndpoint) }

const merchantEndpoint = "merchant:"

// A Digest tells whether two tasks with the same key were asked for with the
// same content.
type Digest [16]byte

// Digest returns a hash of what the caller asked for. Take it before defaults
// are filled in: a later change of a queue's rules must not turn a repeated
// request into another one.
func (t *Task) Digest() Digest {
	b := make([]byte, 0, 512)
	for _, s := range []string{t.Queue, t.Key, t.MerchantNo, t.OrderNo, t.Event, t.URL, t.Method,
		t.Schedule, t.Success, t.Repeat, string(t.Body)} {
		b = appendString(b, s)
	}
	for _, k := range slices.Sorted(maps.Keys(t.Header)) {
		b = appendString(appendString(b, k), t.Header[k])
	}
	b = binary.AppendVarint(b, int64(t.Timeout))
	b = binary.AppendVarint(b, int64(t.MaxAge))
	b = binary.AppendVarint(b, int64(t.Delay))
	if !t.StartAt.IsZero() {
		b = binary.AppendVarint(b, t.StartAt.UnixMilli())
	}
	if t.OrderingKey != "" { // else as it was before there was any
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
