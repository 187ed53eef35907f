package server

import (
	"net/http"

	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/console"
)

// console makes the console.
func (s *Server) console(c *config.Config, engine front) (*console.Console, error) {
	return console.New(console.Options{
		Engine:    engine,
		Reader:    s.store,
		Records:   s.store,
		Schedules: &s.schedules,
		Refused:   func() { s.metrics.Refused("console") },
		Record:    s.record,
		Secret:    s.secret,
		Proxies:   c.TrustedProxies,
		Kinds:     s.kind,
		Queues:    s.queueNames,
		Channels:  s.channelKind,
		Nodes:     s.engine.Nodes,
		Intake:    s.engine.Intake,
		Sources:   s.sourceInfos,
		Attention: s.attention,
		Resends:   s.resends,
		Links:     s.links,
		PublicURL: c.PublicURL,
		Name:      c.Console.Name,
		Colour:    c.Console.Colour,
		Merchants: merchants{s.merchants, s},
		Accounts:  accounts{s.accounts, s},
		Tells:     s.tells,
		Sent:      s.sent,
		Keys:      c.Keys,
		Version:   s.version,
		Log:       s.log,

		Reconciliations: s.reconciles,
	})
}

// beside serves the console's paths with the console, and all others with the API. A browser that
// requests an unknown page gets a page that says so.
func beside(pages *console.Console, calls *api.API, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if console.Serves(r) || console.Browses(r) && !calls.Serves(r) {
			pages.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}
