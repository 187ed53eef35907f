package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/schedule"
)

// openAccounts makes the registry of accounts.
func (s *Server) openAccounts(o registry.Options) {
	o.Tell = func() { s.engine.Tell(account.Kind) }
	s.accounts = account.New(account.Options{
		Options: o, CheckURL: s.client.CheckURL,
		Check: func(c *config.Channel) (map[string]time.Time, error) {
			made, err := s.channel(registered(new(config.Queue), "", c))
			if err != nil {
				return nil, err
			}
			return made.(interface{ Certificates() map[string]time.Time }).Certificates(), nil
		},
		Limited: func(endpoint string) { s.engine.Relimited(endpoint) }, // the engine is set before the first rate is asked for
	})
}

// expiringAge is how long the list of accounts' certificates that expire is reused.
const expiringAge = time.Minute

// expiring returns the accounts' certificates that expire within the longest time of warnings.
// While the store does not answer, it returns the last result.
func (s *Server) expiring() []alarm.Credential {
	all, err := s.expiringSeen.get(expiringAge, func() (all []alarm.Credential, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
		defer cancel()
		certificates, err := s.accounts.Certificates(ctx, time.Now().Add(slices.Max(warnings)))
		for _, c := range certificates {
			all = append(all, alarm.Credential{Name: "accounts." + c.Account + "." + c.Name, Expires: c.Expires})
		}
		return all, err
	})
	if err != nil {
		s.log.Warn("it is not known which certificates of accounts expire", "err", err)
	}
	return all
}

// registered returns a queue whose channel is a registered account.
func registered(q *config.Queue, name string, c *config.Channel) *config.Queue {
	of, what := *q, q.Order.Channel.Of
	of.Order.Channel = *c
	of.Order.Channel.Account, of.Order.Channel.Of = name, what
	return &of
}

// A use is the part of a queue's settings that the channel of an account depends on. Queues with
// equal uses share the channel.
type use struct {
	of      string // refund, transfer or profitsharing; empty: orders
	reverse bool
	trace   bool
}

// accountsOf returns the accounts that the tasks of a queue may name. unavailable makes a channel
// that says why it cannot be asked, and channel the one of a queue with an account.
func accountsOf[C any](s *Server, q *config.Queue, unavailable func(error) C, channel func(*config.Queue) (C, error)) order.Accounts[C] {
	kind, how := q.Order.Channel.Kind, use{q.Order.Channel.Of, q.Order.OnExhausted == "reverse", q.PropagateTrace}
	return func(ctx context.Context, name string) (at order.Account[C], err error) {
		if kind == "" && q.Order.Channel.Account == "" || kind == programChannel {
			return at, invalid("account", coded.Errorf("account.no_queue", "is given, but queue %s asks a gateway of its own: leave it out", q.Name))
		}
		k, err := s.accounts.Get(ctx, name)
		switch {
		case err != nil:
			return at, err
		case k == nil:
			return at, fmt.Errorf("account %s: %w", name, bellman.ErrNotFound)
		case kind != "" && kind != k.Kind:
			return at, invalid("account", coded.Errorf("account.other_kind", "%.128q is an account of %s: queue %s is for accounts of %s", name, k.Kind, q.Name, kind))
		}
		at = order.Account[C]{Identity: k.Identity, Endpoint: k.Endpoint}
		if k.Unable != nil { // for now: its orders wait
			at.Channel = unavailable(k.Unable)
			return at, nil
		}
		at.Channel, err = account.Make(k, how, func(c *config.Channel) (C, error) { return channel(registered(q, name, c)) })
		if err != nil {
			return at, invalid("account", coded.Errorf("account.unfit", "%.128q cannot be used by queue %s: %w", name, q.Name, err))
		}
		return at, nil
	}
}

// orderAccounts returns the accounts of a queue of orders; nil: a program's channel knows them by
// itself.
func (s *Server) orderAccounts(q *config.Queue) order.Accounts[order.Channel] {
	if q.Order.Channel.Kind == programChannel {
		return nil
	}
	return accountsOf(s, q, order.Unavailable, s.channel)
}

// pollAccounts returns the accounts of a queue of kind poll.
func (s *Server) pollAccounts(q *config.Queue) order.Accounts[poll.Channel] {
	return accountsOf(s, q, poll.Unavailable, s.pollChannel)
}

// ratesOf returns the rates of the endpoints of a queue's accounts; nil: it has no accounts.
func (s *Server) ratesOf(q *config.Queue) func(context.Context, string) (float64, error) {
	if !q.Order.Channel.HasAccount() {
		return nil
	}
	return s.accounts.RateOf
}

// accounts is the registry of a server, as the API and the console have it.
type accounts struct {
	*account.Registry
	*Server
}

// shown returns an account as the API answers it, or with sealed as an export contains it.
func (s accounts) shown(ctx context.Context, a *account.Account, sealed bool) (client.Account, error) {
	out := s.Shown(a, sealed)
	if sealed {
		return out, nil
	}
	rate, err := s.RateOf(ctx, out.Endpoint)
	if rate > 0 {
		out.Shared = schedule.FormatRate(rate)
	}
	return out, err
}

func (s accounts) Put(ctx context.Context, in account.Wanted, by bellman.By) (client.Account, bool, error) {
	a, created, err := s.Registry.Put(ctx, in, by)
	if err != nil {
		return client.Account{}, false, err
	}
	out, err := s.shown(ctx, &a, false)
	return out, created, err
}

func (s accounts) Get(ctx context.Context, name string) (client.Account, error) {
	a, err := s.Read(ctx, name)
	if err != nil {
		return client.Account{}, err
	}
	return s.shown(ctx, &a, false)
}

func (s accounts) List(ctx context.Context, q client.AccountSearch, after string) ([]client.Account, string, error) {
	page, next, err := s.Registry.List(ctx, q, after)
	if err != nil {
		return nil, "", err
	}
	out := make([]client.Account, len(page))
	for i := range page {
		if out[i], err = s.shown(ctx, &page[i], q.Sealed); err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}

func (s accounts) Rotate(ctx context.Context, name string, in client.RotateAccount, overlap time.Duration, by bellman.By) (client.Account, error) {
	if overlap < 0 {
		overlap = registry.DefaultOverlap
	}
	a, err := s.Registry.Rotate(ctx, name, &in, overlap, by)
	if err != nil {
		return client.Account{}, err
	}
	return s.shown(ctx, &a, false)
}
