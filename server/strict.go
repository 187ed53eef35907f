package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/order"
)

// checkMerchantURL returns an *bellman.Invalid if a new task names an address that is not its registered
// merchant's, and its queue has require_merchant_url. For an order, the queue is one that notifies the
// merchant. It compares scheme, host, port and path.
func (s *Server) checkMerchantURL(t *bellman.Task) error {
	in := s.facts.Load()
	queues, url, field := []string{t.Queue}, t.URL, "url"
	ofOrder := in.kinds[t.Queue] == "order"
	if ofOrder {
		queues = in.then[t.Queue]
	}
	i := slices.IndexFunc(queues, func(queue string) bool { return in.strict[queue] })
	if i < 0 {
		return nil
	}
	if ofOrder {
		ask, err := order.ParseAsk(t.Body)
		if err != nil {
			return nil // the queue's handler reports it
		}
		url, field = ask.Notify.URL, "notify.url"
	}
	if url == "" {
		return nil
	}
	queue := queues[i]
	m, err := s.merchants.Merchant(context.Background(), t.MerchantNo) // which bounds its time itself
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
