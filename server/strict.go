package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// checkMerchantURL returns an *bellman.Invalid if a new task names an address that is not its
// registered merchant's, and its queue has require_merchant_url. For an order, refund or transfer,
// the queue is one that notifies the merchant. It compares scheme, host, port and path.
func (s *Server) checkMerchantURL(t *bellman.Task) error {
	in := s.facts.Load()
	queues, url, field := []string{t.Queue}, t.URL, "url"
	kind := in.kinds[t.Queue]
	tells := kind == "order" || kind == "poll"
	if tells {
		queues = in.then[t.Queue]
	}
	i := slices.IndexFunc(queues, func(queue string) bool { return in.strict[queue] })
	if i < 0 {
		return nil
	}
	if tells {
		var to order.Notify
		var err error
		if kind == "poll" {
			var ask poll.Ask
			ask, err = poll.ParseAsk(t.Body)
			to = ask.Notify
		} else {
			var ask order.Ask
			ask, err = order.ParseAsk(t.Body)
			to = ask.Notify
		}
		if err != nil {
			return nil // the queue's handler reports it
		}
		url, field = to.URL, "notify.url"
	}
	if url == "" {
		return nil
	}
	queue := queues[i]
	m, err := s.merchants.Merchant(context.Background(), t.MerchantNo) // it bounds its own time
	if err != nil {
		return err
	}
	bad := new(bellman.Invalid)
	switch {
	case m.URL == "":
		bad.Add(field, fmt.Sprintf("queue %s sends only to the notify_url of a registered merchant, and merchant_no names none that has one", queue))
	case !deliver.SameAddress(url, m.URL):
		bad.Add(field, fmt.Sprintf("queue %s sends only to the notify_url of the registered merchant, and this is another scheme, host or path: leave it out", queue))
	}
	return bad.Err()
}
