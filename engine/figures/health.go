package figures

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

const (
	// mostHealth bounds the endpoints, and the merchants, that one node remembers. An entry takes
	// about 1 kB, so all of them take 8 MB. Beyond the bound, entries whose last attempt was
	// accepted are forgotten first, those attempted longest ago before others.
	mostHealth = 4096

	// failsFor is how long an entry is kept after a failed last attempt. In most schedules the next
	// attempt comes before that.
	failsFor = 24 * time.Hour

	healthMinutes = 60 // this minute and the 59 before it

	mostSaid = 200 // bytes of an error or answer that are kept
)

// Health counts the attempts of one node in the last hour, by endpoint and by merchant, and
// remembers the last failure of each. The zero value is empty. All methods are safe for concurrent
// use.
type Health struct {
	mu                   sync.Mutex
	endpoints, merchants entries
}

// A Recent describes the attempts to one endpoint, or to one merchant, in the last hour. Nodes
// exchange it as JSON.
type Recent struct {
	Name        string    `json:"name"`
	Attempts    int64     `json:"attempts"` // this minute and the 59 before it
	Accepted    int64     `json:"accepted"` // of these
	LastAttempt time.Time `json:"last_attempt"`
	LastSuccess time.Time `json:"last_success,omitzero"`
	Failure     *Failure  `json:"failure,omitempty"` // the last one; nil: none is known
	Since       time.Time `json:"since,omitzero"`    // first of the latest failures in a row; zero: the last attempt was accepted
	Failed      int64     `json:"failed,omitempty"`  // number of these failures
	Minutes     []Minute  `json:"minutes,omitempty"` // minutes with attempts, the oldest first; only if asked for by name
}

// Fails reports whether the last attempt failed.
func (r *Recent) Fails() bool { return !r.Since.IsZero() }

// Rate returns the share of accepted attempts of the last hour, 0 to 1; −1: there were none.
func (r *Recent) Rate() float64 {
	if r.Attempts == 0 {
		return -1
	}
	return float64(r.Accepted) / float64(r.Attempts)
}

// A Failure is an attempt that was not accepted.
type Failure struct {
	At       time.Time      `json:"at"` // when it began
	Task     bellman.ID     `json:"task"`
	Result   bellman.Result `json:"result"`
	Status   int            `json:"status,omitempty"`   // HTTP status; 0: no answer
	Error    string         `json:"error,omitempty"`    // what went wrong; empty: nothing beside the answer
	Response string         `json:"response,omitempty"` // the start of the answer
}

// A Minute counts the attempts of one minute.
type Minute struct {
	At       int64  `json:"at"` // minutes since 1970
	Attempts uint32 `json:"n"`
	Accepted uint32 `json:"ok,omitempty"`
}

// entries are the endpoints or the merchants of a Health, by name.
type entries struct {
	by               map[string]*list.Element // of one of the lists
	passing, failing list.List                // of *entry, the one attempted longest ago first
}

type entry struct {
	Recent
	last   int64                // the newest minute of counts, since 1970
	counts [healthMinutes]tries // a ring by minute: last and the 59 before it
}

type tries struct{ n, accepted uint32 }

// Attempted counts an attempt. merchantNo is empty unless the attempt went to a merchant. An
// attempt of unknown result does not count.
func (h *Health) Attempted(now time.Time, endpoint, merchantNo string, task bellman.ID, a *bellman.Attempt) {
	if a.Result == bellman.Unknown {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if endpoint != "" {
		h.endpoints.attempted(now, endpoint, task, a)
	}
	if merchantNo != "" {
		h.merchants.attempted(now, merchantNo, task, a)
	}
}

// Endpoints returns the endpoints that were attempted within an hour, and those whose last attempt
// failed within a day, without minutes and in no order.
func (h *Health) Endpoints(now time.Time) []Recent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endpoints.all(now)
}

// Named returns the entries with these names, with minutes. A name that is not known is left out.
func (h *Health) Named(now time.Time, ask *RecentAsk) (endpoints, merchants []Recent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endpoints.named(now, ask.Endpoints), h.merchants.named(now, ask.Merchants)
}

func (e *entries) attempted(now time.Time, name string, task bellman.ID, a *bellman.Attempt) {
	if e.by == nil {
		e.by = make(map[string]*list.Element)
	}
	el := e.by[name]
	if el == nil {
		e.shrink(mostHealth - 1)
		el = e.passing.PushBack(&entry{Recent: Recent{Name: name}})
		e.by[name] = el
	}
	p := el.Value.(*entry)
	was := e.of(p)
	at := now.Unix() / 60
	for ; p.last < at; p.last++ {
		p.last = max(p.last, at-healthMinutes)
		p.counts[(p.last+1)%healthMinutes] = tries{}
	}
	m := &p.counts[at%healthMinutes]
	m.n++
	p.LastAttempt = a.Started
	if a.Result == bellman.Accepted {
		m.accepted++
		p.LastSuccess, p.Since, p.Failed = a.Started, time.Time{}, 0
	} else {
		if p.Since.IsZero() {
			p.Since = a.Started
		}
		p.Failed++
		p.Failure = &Failure{At: a.Started, Task: task, Result: a.Result, Status: a.Status, Error: cut(a.Error), Response: cut(a.Response)}
	}
	if to := e.of(p); to == was {
		to.MoveToBack(el)
	} else {
		was.Remove(el)
		e.by[name] = to.PushBack(p)
	}
}

// of returns the list in which an entry belongs.
func (e *entries) of(p *entry) *list.List {
	if p.Fails() {
		return &e.failing
	}
	return &e.passing
}

// shrink forgets entries until at most most are left.
func (e *entries) shrink(most int) {
	for len(e.by) > most {
		from := &e.passing
		if from.Len() == 0 {
			from = &e.failing
		}
		p := from.Remove(from.Front()).(*entry)
		delete(e.by, p.Name)
	}
}

func (e *entries) all(now time.Time) (all []Recent) {
	for _, from := range []struct {
		*list.List
		age time.Duration
	}{{&e.passing, time.Hour}, {&e.failing, failsFor}} {
		for el := from.Front(); el != nil; {
			p, next := el.Value.(*entry), el.Next()
			if now.Sub(p.LastAttempt) > from.age {
				from.Remove(el)
				delete(e.by, p.Name)
			} else {
				all = append(all, p.recent(now, false))
			}
			el = next
		}
	}
	return all
}

func (e *entries) named(now time.Time, names []string) (all []Recent) {
	for _, name := range names {
		if el := e.by[name]; el != nil {
			all = append(all, el.Value.(*entry).recent(now, true))
		}
	}
	return all
}

// recent returns an entry as it is now.
func (p *entry) recent(now time.Time, minutes bool) Recent {
	r := p.Recent
	last := now.Unix() / 60
	for at := last - healthMinutes + 1; at <= last; at++ {
		m := &p.counts[at%healthMinutes]
		if at > p.last || at <= p.last-healthMinutes || m.n == 0 {
			continue
		}
		r.Attempts += int64(m.n)
		r.Accepted += int64(m.accepted)
		if minutes {
			r.Minutes = append(r.Minutes, Minute{At: at, Attempts: m.n, Accepted: m.accepted})
		}
	}
	return r
}

// cut returns a copy of the start of a text, so that the rest can be freed.
func cut(s string) string {
	if len(s) > mostSaid {
		s = s[:mostSaid]
	}
	return strings.Clone(strings.ToValidUTF8(s, ""))
}

// sumRecent adds the entries of several nodes, by name. The newest attempt of all nodes decides
// whether the last attempt failed.
func sumRecent(all ...[]Recent) (sum []Recent) {
	at := make(map[string]int)
	for _, recents := range all {
		for _, r := range recents {
			i, ok := at[r.Name]
			if !ok {
				at[r.Name] = len(sum)
				sum = append(sum, r)
				continue
			}
			sum[i] = sum[i].plus(&r)
		}
	}
	slices.SortFunc(sum, func(a, b Recent) int { return strings.Compare(a.Name, b.Name) })
	return sum
}

func (r Recent) plus(o *Recent) Recent {
	sum := r
	sum.Attempts += o.Attempts
	sum.Accepted += o.Accepted
	if o.LastSuccess.After(sum.LastSuccess) {
		sum.LastSuccess = o.LastSuccess
	}
	if o.Failure != nil && (sum.Failure == nil || o.Failure.At.After(sum.Failure.At)) {
		sum.Failure = o.Failure
	}
	switch newer := o.LastAttempt.After(r.LastAttempt); {
	case r.Fails() && o.Fails():
		sum.Since, sum.Failed = Sooner(r.Since, o.Since), r.Failed+o.Failed
	case newer:
		sum.Since, sum.Failed = o.Since, o.Failed
	}
	if sum.Fails() && sum.LastSuccess.After(sum.Since) { // another node succeeded meanwhile
		sum.Since, sum.Failed = sum.Failure.At, 1
	}
	if o.LastAttempt.After(sum.LastAttempt) {
		sum.LastAttempt = o.LastAttempt
	}
	sum.Minutes = sumMinutes(r.Minutes, o.Minutes)
	return sum
}

func sumMinutes(a, b []Minute) []Minute {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b Minute) int { return int(a.At - b.At) })
	sum := all[:0]
	for _, m := range all {
		if n := len(sum); n > 0 && sum[n-1].At == m.At {
			sum[n-1].Attempts += m.Attempts
			sum[n-1].Accepted += m.Accepted
			continue
		}
		sum = append(sum, m)
	}
	return sum
}
