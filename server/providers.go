package server

import (
	"cmp"
	"net/url"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order/gateway"
)

// provider returns the options of a queue whose channel is one of gateway.Providers.
func (s *Server) provider(q *config.Queue) gateway.ProviderOptions {
	o := q.Order.Channel.Provider
	o.BaseURL, o.Transport = q.Order.Channel.URL, s.transport(q)
	o.NoticePath = cmp.Or(o.NoticePath, "/notices/"+url.PathEscape(q.Name))
	return o
}
