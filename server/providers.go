package server

import (
	"cmp"
	"net/url"
	"strings"

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

// providerAccount returns the name of an account at a provider. Both versions of WeChat Pay know an order by
// the same number. Stripe's numbers are unique over all accounts.
func providerAccount(o *gateway.ProviderOptions) string {
	name := o.Provider
	if name == gateway.WeChatV2 {
		name = "wechatpay"
	}
	return strings.TrimRight(name+":"+o.MerchantID+":"+o.SubMerchantID, ":")
}
