package server

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/api"
	"github.com/bellmanhq/bellman/config"
	"github.com/bellmanhq/bellman/console"
)

// console builds the pages for people.
func (s *Server) console(c *config.Config) (*console.Console, error) {
	held := make([]console.Key, len(c.Keys))
	for i, k := range keys(c) {
		held[i] = console.Key{Name: k.Name, Role: console.Role(k.Role), SHA256: k.SHA256}
	}
	return console.New(console.Options{
		Engine:  s.engine,
		Reader:  s.store,
		Kinds:   func(queue string) string { return (*s.kinds.Load())[queue] },
		Queues:  func() []string { return slices.Sorted(maps.Keys(*s.kinds.Load())) },
		Nodes:   s.engine,
		Resends: shownResends{resends{s.resends}},
		Orders:  shownOrders{},
		Keys:    held,
		Version: s.version,
		Log:     s.log,
	})
}

// beside serves what is the console's with the console, and all else with the API.
func beside(pages *console.Console, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if console.Serves(r) {
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
	return console.Order{
		State: standing.State, Late: standing.Late, Watch: standing.Watch,
		Expires: asked.Expires, Vars: asked.Vars, NotifyURL: asked.NotifyURL, NotifyJSON: asked.NotifyJSON,
	}, true
}

// countedResends is how many tasks a page counts: more would make it slow.
const countedResends = 20_000

// shownResends shows bulk resends to the console in its own words.
type shownResends struct{ resends }

func (r shownResends) Count(ctx context.Context, f bellman.Filter) (console.ResendCount, error) {
	d, err := r.jobs.Count(ctx, f, countedResends)
	c := console.ResendCount{Tasks: d.Tasks, More: d.More, Merchants: d.Merchants, Oldest: d.Oldest, Newest: d.Newest}
	for _, m := range d.Top {
		c.Top = append(c.Top, console.MerchantCount(m))
	}
	return c, err
}

func (r shownResends) Start(ctx context.Context, in console.ResendJob) (console.ResendJob, error) {
	j, err := r.resends.Start(ctx, api.ResendJob(in))
	return console.ResendJob(j), err
}

func (r shownResends) Get(ctx context.Context, id bellman.ID) (console.ResendJob, error) {
	j, err := r.resends.Get(ctx, id)
	return console.ResendJob(j), err
}

func (r shownResends) List(ctx context.Context, limit int) ([]console.ResendJob, error) {
	jobs, err := r.resends.List(ctx, limit)
	all := make([]console.ResendJob, len(jobs))
	for i, j := range jobs {
		all[i] = console.ResendJob(j)
	}
	return all, err
}

func (r shownResends) Cancel(ctx context.Context, id bellman.ID, by bellman.By) (console.ResendJob, error) {
	j, err := r.resends.Cancel(ctx, id, by)
	return console.ResendJob(j), err
}
