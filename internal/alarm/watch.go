package alarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/results"
	"github.com/bellmanhq/bellman/store"
)

// An Engine provides the figures and accepts the tasks.
type Engine interface {
	Figures(ctx context.Context, ask figures.Ask) (figures.Figures, error)

	// Leads reports whether this node evaluates the rules for the whole cluster.
	Leads() bool

	// AddWith adds tasks and writes documents in one transaction. It returns ErrConflict if one of
	// the documents has changed, and *Invalid if a task is wrong. In both cases nothing is written.
	AddWith(ctx context.Context, docs []store.Doc, tasks ...*bellman.Task) error
}

// Options of a Watch. Engine and Store are required.
type Options struct {
	Engine Engine
	Store  Store
	Logger *slog.Logger // default: slog.Default()

	// Credentials returns the certificates and keys that expire at some time. It is called at each
	// evaluation, by the node that evaluates. nil: there are none.
	Credentials func() []Credential

	// Chinese translates why a case needs action, for the Chinese text of an alarm. nil: it stays
	// as it is.
	Chinese func(why string) string

	// Every is the interval between evaluations; default 5 s. An alarm ends when its condition has
	// not held for twelve intervals, or for the rule's For if that is longer.
	Every time.Duration
}

// A Watch evaluates rules and reports alarms while Run runs. All methods are safe for concurrent
// use.
type Watch struct {
	engine Engine
	store  Store
	log    *slog.Logger
	every  time.Duration
	judge  *judge

	credentials func() []Credential
	chinese     func(string) string

	mu     sync.Mutex
	needed []Alarm            // of Needed, to be stored
	made   map[string][]Alarm // of Decided, until Keep
	told   map[string]spate   // what Needed reported lately, by rule
	rules  []Rule
	queues map[string]results.Queue
	idle   time.Time // until then there are no rules, and probably no stored alarms
}

// New returns a watch without rules.
func New(o Options) (*Watch, error) {
	if o.Engine == nil || o.Store == nil {
		return nil, errors.New("alarm: want both an Engine and a Store in the options")
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Credentials == nil {
		o.Credentials = func() []Credential { return nil }
	}
	if o.Chinese == nil {
		o.Chinese = func(why string) string { return why }
	}
	o.Every = cmp.Or(o.Every, 5*time.Second)
	return &Watch{
		engine: o.Engine, store: o.Store, log: o.Logger, every: o.Every, judge: newJudge(o.Every), credentials: o.Credentials, chinese: o.Chinese, told: map[string]spate{}, made: map[string][]Alarm{},
	}, nil
}

// SetRules replaces the rules, and the queues that may report alarms, by name. An alarm whose rule
// was removed or has another condition ends, and its end is reported.
func (w *Watch) SetRules(rules []Rule, queues map[string]results.Queue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules, w.queues, w.idle = rules, queues, time.Time{}
}

// Rules returns the rules.
func (w *Watch) Rules() []Rule {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rules
}

// List returns the alarms of the watch's store as [List] does.
func (w *Watch) List(ctx context.Context) ([]Alarm, error) { return List(ctx, w.store) }

// Run evaluates the rules until ctx ends, and then returns nil.
func (w *Watch) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	said := "" // the last logged error
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := w.round(ctx)
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && err.Error() != said:
			said = err.Error()
			w.log.Error("alarms cannot be evaluated or reported; retrying", "err", err)
		}
	}
}

// Flush stores the alarms of Needed that are not stored yet. Run does so at each evaluation. Call it
// once more when the engine has stopped: its last attempts may have found some.
func (w *Watch) Flush(ctx context.Context) {
	w.mu.Lock()
	needed := w.needed
	w.needed = nil
	w.mu.Unlock()
	w.keep(ctx, needed)
}

// round evaluates the rules once.
func (w *Watch) round(ctx context.Context) error {
	w.Flush(ctx)
	w.mu.Lock()
	rules, queues, idle := w.rules, w.queues, w.idle
	w.mu.Unlock()
	if !w.engine.Leads() {
		return nil
	}
	if time.Now().Before(idle) {
		return nil
	}
	alarms, err := load(ctx, w.store)
	if err != nil {
		return err
	}
	if len(rules) == 0 && len(alarms) == 0 {
		w.rest()
		return nil
	}
	var f figures.Figures
	if len(rules) > 0 {
		if f, err = w.engine.Figures(ctx, wanted(rules)); err != nil {
			return fmt.Errorf("read figures: %w", err)
		}
	}
	now := time.Now()
	var errs []error
	for _, s := range append(delayed(alarms), w.judge.round(now, rules, &f, w.credentials(), alarms)...) {
		errs = append(errs, w.tell(ctx, &s, queues))
	}
	errs = append(errs, w.past(ctx, now, alarms), w.forget(ctx, now, alarms))
	for _, id := range slices.Sorted(maps.Keys(alarms)) {
		if err := alarms[id].err; err != nil {
			errs = append(errs, fmt.Errorf("alarm %s cannot be read and is skipped: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// rest skips the rounds of a minute, unless the rules change. Any node may store an alarm
// meanwhile.
func (w *Watch) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rules) == 0 {
		w.idle = time.Now().Add(time.Minute)
	}
}

// tell stores an alarm together with the task that reports it. If no task can report it, the alarm
// is stored alone.
func (w *Watch) tell(ctx context.Context, s *step, queues map[string]results.Queue) error {
	a := &s.alarm
	typed, key, body := event(a, w.chinese)
	if s.once {
		a.Until, a.Ended, a.Reason = a.Since, time.Now().UTC().Truncate(time.Millisecond), reported
	}
	to, known := queues[a.To]
	if !known {
		return w.untold(ctx, s, noQueue(a.To))
	}
	task, err := to.Tell(typed, key, body)
	if err != nil {
		w.log.Error("event_json fails for an alarm, which is sent as a plain event", "alarm", a.ID, "queue", to.Name, "err", err)
	}
	err = w.engine.AddWith(ctx, []store.Doc{document(a, s.was)}, &task)
	var invalid *bellman.Invalid
	switch {
	case errors.As(err, &invalid):
		return w.untold(ctx, s, err.Error())
	case errors.Is(err, bellman.ErrFull) && (a.Raised() || s.once):
		if s.was != nil && s.was.Untold == noRoom && s.was.Since.Equal(a.Since) { // it is stored already
			return nil
		}
		return w.untold(ctx, s, noRoom)
	case errors.Is(err, bellman.ErrConflict):
		return nil // another node was quicker, or an earlier commit of this node succeeded
	case err != nil:
		return fmt.Errorf("tell of alarm %s: %w", a.ID, err)
	}
	w.note(a)
	return nil
}

// delayed returns the alarms that no task reports because the store was full: they are reported when
// it has room.
func delayed(alarms map[string]*kept) (steps []step) {
	for _, id := range slices.Sorted(maps.Keys(alarms)) {
		k := alarms[id]
		s := step{alarm: k.Alarm, was: k, once: k.Reason == reported}
		if k.Untold != noRoom || !k.raised() && !s.once {
			continue
		}
		s.alarm.Untold = ""
		if s.once { // it is reported as one that began
			s.alarm.Until, s.alarm.Ended, s.alarm.Reason = time.Time{}, time.Time{}, ""
		}
		steps = append(steps, s)
	}
	return steps
}

// untold stores an alarm that no task reports.
func (w *Watch) untold(ctx context.Context, s *step, why string) error {
	s.alarm.Untold = why
	err := w.engine.AddWith(ctx, []store.Doc{document(&s.alarm, s.was)})
	switch {
	case errors.Is(err, bellman.ErrConflict):
		return nil
	case err != nil:
		return fmt.Errorf("keep alarm %s: %w", s.alarm.ID, err)
	}
	w.log.Error("an alarm cannot be reported", "alarm", s.alarm.ID, "queue", s.alarm.To, "err", why)
	w.note(&s.alarm)
	return nil
}

// note logs an alarm that was raised, ended or reported.
func (w *Watch) note(a *Alarm) {
	if a.Reason == reported {
		w.log.Warn("alarm reported", "alarm", a.Name, "when", a.When, "queue", a.Queue, "since", a.Since)
		return
	}
	if a.Raised() {
		w.log.Warn("alarm began", "alarm", a.Name, "when", a.When, "queue", a.Queue, "endpoint", a.Endpoint, "credential", a.Credential, "since", a.Since)
		return
	}
	w.log.Info("alarm ended", "alarm", a.Name, "when", a.When, "queue", a.Queue, "endpoint", a.Endpoint, "credential", a.Credential, "since", a.Since, "until", a.Until, "reason", a.Reason)
}

// forget deletes alarms that ended long ago.
func (w *Watch) forget(ctx context.Context, now time.Time, alarms map[string]*kept) error {
	var docs []store.Doc
	for id, k := range alarms {
		if k.err == nil && !k.Raised() && now.Sub(k.Ended) > k.Kept() && len(docs) < pageSize {
			docs = append(docs, store.Doc{Kind: kind, Name: id, Was: k.value})
		}
	}
	if len(docs) == 0 {
		return nil
	}
	if err := w.engine.AddWith(ctx, docs); err != nil && !errors.Is(err, bellman.ErrConflict) {
		return fmt.Errorf("forget alarms that are over: %w", err)
	}
	return nil
}
