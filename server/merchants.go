package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/internal/brokers/sender"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// openMerchants makes the registry of merchants, with the master keys of the
// configuration.
func (s *Server) openMerchants(c *config.Config) error {
	held := c.Masters()
	keys := make([][]byte, len(held))
	for i, k := range held {
		key, err := k.Resolve()
		if err != nil {
			return fmt.Errorf("master key %d: %w", i+1, err)
		}
		keys[i] = key
	}
	masters, err := merchant.NewMasters(keys...)
	if err != nil {
		return fmt.Errorf("master %w", err)
	}
	s.merchants = merchant.New(merchant.Options{
		Store: s.store, Masters: masters, CheckURL: s.client.CheckURL, Alone: store.UseOf(s.store).Exclusive, Logger: s.log,
		Changed: func(no string) { s.engine.Rerouted(no) }, // there is one by the time that a merchant is asked for
		Tell:    func() { s.engine.Tell(merchant.Kind) },
	})
	return nil
}

// known shows merchants to those who attempt, in their words.
type known struct{ registry *merchant.Registry }

func (k known) Merchant(ctx context.Context, no string) (deliver.Merchant, error) {
	m, err := k.registry.Get(ctx, no)
	if m == nil || err != nil {
		return deliver.Merchant{}, err
	}
	signer, unable := m.Signer()
	return deliver.Merchant{
		Known: true, URL: m.NotifyURL, Signer: signer, Unable: unable,
		Success: m.Success, Schedule: m.Schedule, Timeout: m.Timeout, Concurrency: m.Concurrency, Rate: m.Rate,
	}, nil
}

// merchants shows the registry to the API in its own words.
type merchants struct{ *Server }

func (s merchants) Put(ctx context.Context, in api.WantedMerchant, by bellman.By) (client.Merchant, bool, error) {
	m, created, err := s.merchants.Put(ctx, wanted(&in), by)
	if err != nil {
		return client.Merchant{}, false, err
	}
	if sign.Weak(m.Sign.Scheme) {
		s.log.Warn(weakScheme, "merchant_no", m.No, "scheme", m.Sign.Scheme)
	}
	return s.shown(ctx, &m, false), created, nil
}

func (s merchants) Import(ctx context.Context, in []api.WantedMerchant, dry bool, by bellman.By) ([]api.MerchantResult, error) {
	all := make([]merchant.Wanted, len(in))
	for i := range in {
		all[i] = wanted(&in[i])
	}
	imported, err := s.merchants.Import(ctx, all, dry, by)
	results := make([]api.MerchantResult, len(imported))
	weak := 0
	for i, r := range imported {
		results[i] = api.MerchantResult{MerchantNo: r.No, Created: r.Created, Changed: r.Changed, Err: r.Err}
		if r.Changed && sign.Weak(all[i].Scheme) {
			weak++
		}
	}
	if weak > 0 && !dry && err == nil {
		s.log.Warn(weakScheme, "merchants", weak)
	}
	return results, err
}

func (s merchants) Get(ctx context.Context, no string) (client.Merchant, error) {
	m, err := s.merchants.Read(ctx, no)
	if err != nil {
		return client.Merchant{}, err
	}
	out := s.shown(ctx, &m, false)
	return out, s.lately(ctx, &out)
}

func (s merchants) Stats(ctx context.Context, no string) (client.MerchantStats, error) {
	if _, err := s.merchants.Read(ctx, no); err != nil {
		return client.MerchantStats{}, err
	}
	f, err := merchant.Look(ctx, s.store, no, time.Now(), isOrder)
	if err != nil {
		return client.MerchantStats{}, err
	}
	out := client.MerchantStats{
		MerchantNo: no, Tasks: f.Tasks, More: f.More, Since: at(f.Since),
		Pending: f.Pending, Succeeded: f.Succeeded, Failed: f.Failed, Cancelled: f.Cancelled,
		Overdue: f.Overdue, Retrying: f.Retrying, Oldest: at(f.OldestOverdue),
		Results: make(map[string]int, len(f.Results)), LastFailed: make([]client.Task, len(f.LastFailed)),
	}
	out.Failing = f.Recent.Failing()
	if rate, ok := f.SuccessRate(); ok {
		out.SuccessRate = &rate
	}
	if rate, ok := f.Recent.Rate(); ok {
		out.RecentRate = &rate
	}
	for result, n := range f.Results {
		out.Results[result.String()] = n
	}
	for i, t := range f.LastFailed {
		out.LastFailed[i] = s.api.Shown(t)
	}
	return out, nil
}

func isOrder(t *bellman.Task) bool { return (orders{}).Is(t) }

// lately fills in what a merchant's newest tasks say.
func (s merchants) lately(ctx context.Context, m *client.Merchant) error {
	recent, err := merchant.LookRecent(ctx, s.store, m.MerchantNo, time.Now(), isOrder)
	m.Failing = recent.Failing()
	return err
}

// at is a time that may be none.
func at(t time.Time) *client.Time {
	if t.IsZero() {
		return nil
	}
	shown := client.At(t)
	return &shown
}

func (s merchants) Delete(ctx context.Context, no string, by bellman.By) error {
	return s.merchants.Delete(ctx, no, by)
}

func (s merchants) List(ctx context.Context, q client.MerchantSearch, after string) ([]client.Merchant, string, error) {
	if q.Paused {
		return s.listPaused(ctx, &q, after)
	}
	page, next, err := s.merchants.List(ctx, merchant.Search{No: q.MerchantNo, Name: q.Name}, after, q.Limit)
	if err != nil {
		return nil, "", err
	}
	out := make([]client.Merchant, len(page))
	for i := range page {
		out[i] = s.shown(ctx, &page[i], q.Sealed)
		if q.Sealed {
			continue
		}
		if err := s.lately(ctx, &out[i]); err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}

// listPaused lists the merchants that are paused, by number. One that was deleted meanwhile
// has its number alone.
func (s merchants) listPaused(ctx context.Context, q *client.MerchantSearch, after string) (out []client.Merchant, next string, err error) {
	paused := s.engine.PausedMerchants()
	slices.SortFunc(paused, func(a, b figures.MerchantPause) int { return strings.Compare(a.MerchantNo, b.MerchantNo) })
	for _, p := range paused {
		if p.MerchantNo <= after || !strings.HasPrefix(p.MerchantNo, q.MerchantNo) {
			continue
		}
		m, err := s.merchants.Read(ctx, p.MerchantNo)
		switch {
		case errors.Is(err, bellman.ErrNotFound):
			m = merchant.Merchant{No: p.MerchantNo}
		case err != nil:
			return nil, "", err
		}
		if !strings.HasPrefix(strings.ToLower(m.Name), strings.ToLower(q.Name)) {
			continue
		}
		if len(out) == q.Limit {
			return out, out[len(out)-1].MerchantNo, nil
		}
		shown := s.shown(ctx, &m, q.Sealed)
		if err := s.lately(ctx, &shown); err != nil {
			return nil, "", err
		}
		out = append(out, shown)
	}
	return out, "", nil
}

const (
	pausedTasks = 2000 // tasks that wait for paused merchants are counted up to so many
	pausedPage  = 200
	pausedAge   = 30 * time.Second // of that count
)

// A pausedCount counts the tasks that wait for paused merchants.
type pausedCount struct {
	mu    sync.Mutex
	at    time.Time
	tasks int
}

// paused returns the merchants that are paused, and how many tasks wait for them.
func (s *Server) paused() ([]figures.MerchantPause, int) {
	paused := s.engine.PausedMerchants()
	c := &s.pausedCount
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(paused) == 0 {
		c.at, c.tasks = time.Time{}, 0
		return nil, 0
	}
	if now := time.Now(); now.Sub(c.at) >= pausedAge {
		ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
		defer cancel()
		n, err := s.countPaused(ctx, paused)
		if err != nil {
			s.log.Warn("tasks of paused merchants cannot be counted", "err", err)
			return paused, c.tasks
		}
		c.at, c.tasks = now, n
	}
	return paused, c.tasks
}

func (s *Server) countPaused(ctx context.Context, paused []figures.MerchantPause) (n int, err error) {
	pending := bellman.Pending
	for _, p := range paused {
		var before bellman.ID
		for read := 0; read < pausedTasks; read += pausedPage {
			page, next, err := s.store.List(ctx, store.Filter{MerchantNo: p.MerchantNo, State: &pending}, before, pausedPage)
			if err != nil {
				return n, err
			}
			for _, t := range page {
				if target, _ := s.engine.Held(t); target != "" {
					n++
				}
			}
			if n >= pausedTasks {
				return pausedTasks, nil
			}
			if before = next; next.IsZero() {
				break
			}
		}
	}
	return n, nil
}

func (s merchants) Rotate(ctx context.Context, no, secret string, overlap time.Duration, by bellman.By) (client.Merchant, error) {
	if overlap < 0 {
		overlap = merchant.DefaultOverlap
	}
	m, err := s.merchants.Rotate(ctx, no, secret, overlap, by)
	if err != nil {
		return client.Merchant{}, err
	}
	return s.shown(ctx, &m, false), nil
}

func (s merchants) Pause(ctx context.Context, no string, by bellman.By) error {
	if _, err := s.merchants.Read(ctx, no); err != nil {
		return err
	}
	return s.engine.PauseMerchant(ctx, no, by)
}

func (s merchants) Resume(ctx context.Context, no string, by bellman.By) error {
	if s.engine.MerchantPause(no) == nil { // one that is paused may be deleted by now
		if _, err := s.merchants.Read(ctx, no); err != nil {
			return err
		}
	}
	return s.engine.ResumeMerchant(ctx, no, by)
}

// The event and the schedule of a test.
const (
	testEvent    = "bellman.test"
	testSchedule = "0s"
)

func (s merchants) Test(ctx context.Context, no, queue string, by bellman.By) (*bellman.Task, error) {
	if _, err := s.merchants.Read(ctx, no); err != nil {
		return nil, err
	}
	if queue == "" {
		var err error
		if queue, err = s.onlyNotify(); err != nil {
			return nil, err
		}
	} else if (*s.kinds.Load())[queue] != "notify" {
		return nil, wrongQueue(coded.Errorf("test.queue", "%.128q is no queue of kind notify", queue))
	}
	body, err := json.Marshal(map[string]string{"event": testEvent, "merchant_no": no, "time": time.Now().UTC().Format("2006-01-02T15:04:05.000Z")})
	if err != nil {
		return nil, err
	}
	t := &bellman.Task{
		Queue: queue, MerchantNo: no, Event: testEvent, Schedule: testSchedule, Delay: -1,
		Header: map[string]string{"Content-Type": "application/json"}, Body: body,
	}
	t.SetCreatedBy(by.Who)
	added := s.engine.Add(ctx, t)[0]
	if added.Err != nil {
		return nil, added.Err
	}
	if err := s.merchants.Note(ctx, no, "test", by); err != nil {
		s.log.Warn("a test is on its way, and is in no audit record", "merchant_no", no, "task", t.ID, "err", err)
	}
	return t, nil
}

// onlyNotify is the one queue of kind notify that goes over HTTP.
func (s *Server) onlyNotify() (string, error) {
	var names []string
	for name, kind := range *s.kinds.Load() {
		if kind == "notify" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", wrongQueue(coded.Errorf("test.no_queue", "there is no queue of kind notify"))
	}
	return "", wrongQueue(coded.Errorf("test.queues", "is required, since there are several: want %s", strings.Join(names[:min(len(names), 10)], ", ")))
}

func wrongQueue(why error) error {
	bad := new(bellman.Invalid)
	bad.Note("queue", why)
	return bad
}

func (s merchants) Reseal(ctx context.Context, by bellman.By) (client.MerchantReseal, error) {
	done, err := s.merchants.Reseal(ctx, by)
	return client.MerchantReseal(done), err
}

// wanted is a merchant as the API asks for it.
func wanted(in *api.WantedMerchant) merchant.Wanted {
	bad := &bellman.Invalid{Fields: slices.Clip(in.Wrong)}
	unread := func(field string) bool {
		return slices.ContainsFunc(in.Wrong, func(f bellman.FieldError) bool { return f.Field == field })
	}
	w := merchant.Wanted{No: in.MerchantNo, Name: in.Name, NotifyURL: in.NotifyURL, Schedule: in.Schedule, Success: in.Success, Version: in.Version}
	if in.Sign != nil {
		w.Scheme, w.Serial, w.Secrets = in.Sign.Scheme, in.Sign.Serial, in.Sign.Secrets
		if w.Scheme == "" && !unread("sign.scheme") {
			bad.Note("sign.scheme", coded.Errorf("merchant.missing_scheme", "is missing: leave sign out to sign as the queue does"))
		}
	}
	if in.Timeout != "" {
		d, err := schedule.ParseDuration(in.Timeout)
		if err == nil && d <= 0 {
			err = coded.Errorf("merchant.timeout_none", "want 1ms to 10m")
		}
		if err != nil {
			bad.Note("timeout", err)
		}
		w.Timeout = d
	}
	if in.PerEndpoint != nil {
		w.Concurrency = in.PerEndpoint.Concurrency
		rate, ok := schedule.ParseRate(in.PerEndpoint.Rate)
		if !ok {
			bad.Note("per_endpoint.rate", coded.Errorf("merchant.no_rate", "want a rate such as 50/s, 30/m or 100/h, from 1/h to 1000000/s, or nothing for the queue's"))
		}
		w.Rate = rate
	}
	w.Wrong = bad.Fields
	return w
}

// shown is a merchant as the API answers it; sealed: as an export has it.
func (s merchants) shown(ctx context.Context, m *merchant.Merchant, sealed bool) client.Merchant {
	out := client.Merchant{
		MerchantNo: m.No, Name: m.Name, NotifyURL: m.NotifyURL, Schedule: m.Schedule, Success: m.Success,
		PerEndpoint: client.MerchantLimits{Concurrency: m.Concurrency},
		Created:     client.At(m.Created), Updated: client.At(m.Updated), Version: m.Version(),
	}
	if m.Timeout > 0 {
		out.Timeout = schedule.FormatDuration(m.Timeout)
	}
	out.PerEndpoint.Rate = schedule.FormatRate(m.Rate)
	if p := s.engine.MerchantPause(m.No); p != nil {
		out.Paused = &client.Pause{At: client.At(p.At), Who: p.Who, Reason: p.Reason}
	}
	if m.Sign.Scheme == "" {
		return out
	}
	out.Sign = &client.ShownMerchantSign{Scheme: m.Sign.Scheme, Serial: m.Sign.Serial, Secrets: []string{}, Keys: []client.MerchantKey{}}
	for _, secret := range m.Sign.Active(time.Now()) {
		text := secret.Shown()
		if sealed {
			text = secret.Exported()
		}
		out.Sign.Secrets = append(out.Sign.Secrets, text)
		id, _ := merchant.SealedUnder(secret.Sealed) // what is kept was looked at
		key := client.MerchantKey{LastFour: secret.Ending, MasterID: id, Added: client.At(secret.Added)}
		if !secret.Until.IsZero() {
			until := client.At(secret.Until)
			key.Until = &until
		}
		out.Sign.Keys = append(out.Sign.Keys, key)
	}
	if problem := s.merchants.Problem(m); problem != nil {
		out.Problem = problem.Error()
	}
	return out
}

// toMerchants reports whether a queue's tasks that name no address go to their
// merchants': not where the queue's own address is a broker's.
func toMerchants(url string) bool { return !sender.Is(url) }
