package server

import (
	"context"
	"net/http"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/console"
	"github.com/bellmanhq/bellman/order"
)

// console builds the pages for people.
func (s *Server) console(c *config.Config) (*console.Console, error) {
	return console.New(console.Options{
		Engine:    byHand{s.engine, s},
		Reader:    s.store,
		Records:   s.store,
		Schedules: &s.schedules,
		Refused:   func() { s.metrics.Refused("console") },
		Record:    s.record,
		Secret:    s.secret,
		Proxies:   c.TrustedProxies,
		Kinds:     func(queue string) string { return (*s.kinds.Load())[queue] },
		Queues:    s.queueNames,
		Nodes:     s.engine,
		Intake:    s.engine.Intake,
		Sources:   s.sourceInfos,
		Alarms:    s.alarms,
		Resends:   s.resends,
		Links:     s.links,
		PublicURL: c.PublicURL,
		Merchants: shownMerchants{merchants{s}},
		Tells:     s.tells,
		Orders:    shownOrders{},
		Keys:      signers(c),
		Version:   s.version,
		Log:       s.log,
	})
}

// signers are who may sign in, as the console wants them.
func signers(c *config.Config) []console.Key {
	held := make([]console.Key, len(c.Keys))
	for i, k := range keys(c) {
		held[i] = console.Key{Name: k.Name, Role: console.Role(k.Role), SHA256: k.SHA256}
	}
	return held
}

// beside serves what is the console's with the console, and all else with the API. A
// browser that looks for a page where there is nothing is told by a page.
func beside(pages *console.Console, calls *api.API, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if console.Serves(r) || console.Browses(r) && !calls.Serves(r) {
			pages.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// shownOrders shows orders to the console in its own words.
type shownOrders struct{}

func (shownOrders) Order(t *bellman.Task) (o console.Order, is bool) {
	if !(orders{}).Is(t) {
		return o, false
	}
	asked, standing := orders{}.Asked(t), orders{}.Standing(t)
	if l, err := order.ParseLife(t.Data); err == nil && l.DecidedAt != 0 {
		o.Decided = time.UnixMilli(l.DecidedAt).UTC()
	}
	return console.Order{
		State: standing.State, Late: standing.Late, Watch: standing.Watch, Decided: o.Decided,
		Expires: asked.Expires, CodeLife: asked.CodeLife, Vars: asked.Vars, NotifyURL: asked.NotifyURL, NotifyJSON: asked.NotifyJSON,
	}, true
}

// shownMerchants shows merchants to the console, whose forms and lines are read already.
type shownMerchants struct{ merchants }

func (s shownMerchants) Put(ctx context.Context, in client.PutMerchant, by bellman.By) (client.Merchant, bool, error) {
	return s.merchants.Put(ctx, api.WantedMerchant{PutMerchant: in}, by)
}

func (s shownMerchants) Import(ctx context.Context, in []client.PutMerchant, dry bool, by bellman.By) ([]console.ImportedMerchant, error) {
	wanted := make([]api.WantedMerchant, len(in))
	for i := range in {
		wanted[i].PutMerchant = in[i]
	}
	results, err := s.merchants.Import(ctx, wanted, dry, by)
	all := make([]console.ImportedMerchant, len(results))
	for i, r := range results {
		all[i] = console.ImportedMerchant(r)
	}
	return all, err
}
