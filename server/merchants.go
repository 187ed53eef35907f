package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/brokers"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store"
)

// openRegistries makes the registries of merchants and accounts, with the configured master keys.
func (s *Server) openRegistries(c *config.Config) (wrong config.Problems) {
	held, field := c.Masters(), "master_key"
	if len(c.MasterKeys) > 0 {
		field = "master_keys"
	}
	keys := make([][]byte, len(held))
	for i, k := range held {
		var err error
		keys[i], err = k.Resolve()
		wrong = append(wrong, c.Refused(registry.Place(field, i), err)...)
	}
	var masters *registry.Masters
	if len(wrong) == 0 {
		var err error
		masters, err = registry.NewMasters(keys...)
		wrong = c.Refused(field, err)
	}
	o := registry.Options{Store: s.store, Masters: masters, Alone: store.UseOf(s.store).Exclusive, Logger: s.log}
	s.openAccounts(o)
	o.Changed = func(no string) { s.engine.Rerouted(no) } // the engine is set before the first merchant changes
	o.Tell = func() { s.engine.Tell(merchant.Kind) }
	s.merchants = merchant.New(merchant.Options{Options: o, CheckURL: s.client.CheckURL})
	return wrong
}

// merchants is the registry of a server, together with the pauses and the tasks of its engine.
type merchants struct {
	*merchant.Registry
	*Server
}

func (s merchants) Put(ctx context.Context, in merchant.Wanted, by bellman.By) (client.Merchant, bool, error) {
	m, created, err := s.Registry.Put(ctx, in, by)
	if err != nil {
		return client.Merchant{}, false, err
	}
	if sign.Weak(m.Scheme) {
		s.log.Warn(weakScheme, "merchant_no", m.ID, "scheme", m.Scheme)
	}
	return s.shown(&m, false), created, nil
}

func (s merchants) Import(ctx context.Context, in []merchant.Wanted, dry bool, by bellman.By) ([]registry.Imported, error) {
	results, err := s.Registry.Import(ctx, in, dry, by)
	weak := 0
	for i, r := range results {
		if r.Changed && in[i].Sign != nil && sign.Weak(in[i].Sign.Scheme) {
			weak++
		}
	}
	if weak > 0 && !dry && err == nil {
		s.log.Warn(weakScheme, "merchants", weak)
	}
	return results, err
}

func (s merchants) Get(ctx context.Context, no string) (client.Merchant, error) {
	m, err := s.Read(ctx, no)
	if err != nil {
		return client.Merchant{}, err
	}
	out := s.shown(&m, false)
	return out, s.readHealth(ctx, &out, time.Time{})
}

func (s merchants) Stats(ctx context.Context, no string) (client.MerchantStats, error) {
	if _, err := s.Read(ctx, no); err != nil {
		return client.MerchantStats{}, err
	}
	return merchant.Look(ctx, s.store, no, time.Now(), s.api.Shown)
}

func (s merchants) List(ctx context.Context, q client.MerchantSearch, after string) ([]client.Merchant, string, error) {
	var names []string
	switch {
	case q.Paused, q.State == "paused":
		for _, p := range s.engine.PausedMerchants() {
			names = append(names, p.MerchantNo)
		}
		return s.listNamed(ctx, names, &q, after)
	case q.State == "failing":
		f, err := s.engine.Figures(ctx, figures.Ask{Gauges: true})
		if err != nil {
			return nil, "", err
		}
		for _, one := range f.Failing {
			names = append(names, one.MerchantNo)
		}
		return s.listNamed(ctx, names, &q, after)
	case q.State == "late":
		names, err := s.attention.Late(ctx)
		if err != nil {
			return nil, "", err
		}
		return s.listNamed(ctx, names, &q, after)
	}
	out, next, err := s.registered(ctx, q, after)
	if err != nil || q.Sealed {
		return out, next, err
	}
	return out, next, s.readAllHealth(ctx, out, healthTime)
}

// registered lists merchants without their health.
func (s merchants) registered(ctx context.Context, q client.MerchantSearch, after string) ([]client.Merchant, string, error) {
	page, next, err := s.Registry.List(ctx, q, after)
	if err != nil {
		return nil, "", err
	}
	out := make([]client.Merchant, len(page))
	for i := range page {
		out[i] = s.shown(&page[i], q.Sealed)
	}
	return out, next, nil
}

func (s merchants) Named(ctx context.Context, begin string, limit int) ([]client.Merchant, error) {
	out, _, err := s.registered(ctx, client.MerchantSearch{MerchantNo: begin, Limit: limit}, "")
	return out, err
}

// listNamed lists merchants by number. A merchant that is not registered has only its number if it
// is paused, and is left out otherwise.
func (s merchants) listNamed(ctx context.Context, names []string, q *client.MerchantSearch, after string) (out []client.Merchant, next string, err error) {
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(no string) bool { return no <= after || !strings.HasPrefix(no, q.MerchantNo) })
	for some := range slices.Chunk(names, healthAtOnce) {
		found, err := s.readSome(ctx, some)
		if err != nil {
			return nil, "", err
		}
		for _, m := range found {
			if !strings.HasPrefix(strings.ToLower(m.Name), strings.ToLower(q.Name)) {
				continue
			}
			if len(out) == q.Limit {
				return out, out[len(out)-1].MerchantNo, s.readAllHealth(ctx, out, healthTime)
			}
			out = append(out, s.shown(&m, q.Sealed))
		}
	}
	return out, "", s.readAllHealth(ctx, out, healthTime)
}

// readSome reads a few merchants at once, in the order of names. One that is neither registered nor
// paused is left out.
func (s merchants) readSome(ctx context.Context, names []string) ([]merchant.Merchant, error) {
	found := make([]merchant.Merchant, len(names))
	g, of := errgroup.WithContext(ctx)
	for i, no := range names {
		g.Go(func() error {
			cached, err := s.Registry.Merchant(of, no) // most of those that are late may be unknown, which is cached too
			if cached.Known {
				found[i], err = s.Read(of, no)
			}
			switch {
			case err != nil && !errors.Is(err, bellman.ErrNotFound):
				return err
			case !cached.Known || err != nil:
				if found[i] = (merchant.Merchant{}); s.engine.MerchantPause(no) != nil {
					found[i].ID = no
				}
			}
			return nil
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(found, func(m merchant.Merchant) bool { return m.ID == "" }), err
}

func (s merchants) Rotate(ctx context.Context, no, secret string, overlap time.Duration, by bellman.By) (client.Merchant, error) {
	if overlap < 0 {
		overlap = registry.DefaultOverlap
	}
	m, err := s.Registry.Rotate(ctx, no, secret, overlap, by)
	if err != nil {
		return client.Merchant{}, err
	}
	return s.shown(&m, false), nil
}

// Reseal seals the secrets of merchants and accounts again.
func (s merchants) Reseal(ctx context.Context, by bellman.By) (done client.MerchantReseal, err error) {
	for _, reseal := range []func(context.Context, bellman.By) (registry.Resealed, error){s.Registry.Reseal, s.accounts.Reseal} {
		more, err := reseal(ctx, by)
		done.Examined += more.Examined
		done.Resealed += more.Resealed
		done.Unreadable += more.Unreadable
		done.FirstError = cmp.Or(done.FirstError, more.FirstError)
		if errors.Is(err, registry.ErrNoMaster) {
			err = bellman.InvalidField("master_key", err.Error())
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func (s merchants) Pause(ctx context.Context, no string, by bellman.By) error {
	if _, err := s.Read(ctx, no); err != nil {
		return err
	}
	return s.engine.PauseMerchant(ctx, no, by)
}

func (s merchants) Resume(ctx context.Context, no string, by bellman.By) error {
	if s.engine.MerchantPause(no) == nil { // a paused merchant may have been deleted
		if _, err := s.Read(ctx, no); err != nil {
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
	if _, err := s.Read(ctx, no); err != nil {
		return nil, err
	}
	if queue == "" {
		var err error
		if queue, err = s.onlyNotify(); err != nil {
			return nil, err
		}
	} else if s.kind(queue) != "notify" {
		return nil, invalid("queue", coded.Errorf("test.queue", "%.128q is no queue of kind notify", queue))
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
	if err := s.Note(ctx, no, "test", by); err != nil {
		s.log.Warn("a test request was sent without an audit record", "merchant_no", no, "task", t.ID, "err", err)
	}
	return t, nil
}

// onlyNotify returns the only queue of kind notify. It is an error if there are none or several.
func (s *Server) onlyNotify() (string, error) {
	var names []string
	for name, kind := range s.facts.Load().kinds {
		if kind == "notify" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", invalid("queue", coded.Errorf("test.no_queue", "there is no queue of kind notify"))
	}
	return "", invalid("queue", coded.Errorf("test.queues", "is required, since there are several: want %s", strings.Join(names[:min(len(names), 10)], ", ")))
}

// shown returns a merchant as the API answers it, or with sealed as an export contains it.
func (s merchants) shown(m *merchant.Merchant, sealed bool) client.Merchant {
	out := s.Shown(m, sealed)
	if p := s.engine.MerchantPause(m.ID); p != nil {
		out.Paused = &client.Pause{At: client.At(p.At), Who: p.Who, Reason: p.Reason}
	}
	return out
}

// toMerchants reports whether tasks without an address go to the address of their merchant. They do
// unless the url of their queue is of a broker.
func toMerchants(url string) bool { return !brokers.Schemes.Has(url) }
