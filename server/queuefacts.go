package server

import (
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/config"
)

// queueFacts are what other parts ask about the queues of a configuration, by the name of the
// queue.
type queueFacts struct {
	kinds    map[string]string
	channels map[string]string   // of queues of kind order and poll, without those of request templates
	results  map[string]bool     // queues that get completion events or alarms
	home     map[string]bool     // queues with a url, for tasks that name none
	strict   map[string]bool     // queues with require_merchant_url
	then     map[string][]string // of order queues: the queues that notify the merchant at the order's address
}

func factsOf(c *config.Config) *queueFacts {
	in := &queueFacts{kinds: map[string]string{}, channels: map[string]string{}, results: map[string]bool{}, home: map[string]bool{}, strict: map[string]bool{}, then: map[string][]string{}}
	for i := range c.Queues {
		q := &c.Queues[i]
		in.kinds[q.Name], in.home[q.Name] = q.Kind, q.URL != ""
		if kind := q.Order.Channel.Kind; kind != "" {
			in.channels[q.Name] = kind
		}
		in.strict[q.Name] = q.RequireMerchantURL
		for _, name := range q.OnEnd.Each() {
			in.results[name] = true
		}
	}
	for i := range c.Queues {
		q := &c.Queues[i]
		all := q.Order.Then.Queues()
		for _, told := range all {
			if refunds := queueNamed(c, told.Queue); told.Refund && refunds != nil { // the refund notifies the merchant at the order's address
				all = append(all, refunds.Order.Then.Queues()...)
			}
		}
		for _, told := range all {
			if !told.Refund && !(told.Own && in.home[told.Queue]) {
				in.then[q.Name] = append(in.then[q.Name], told.Queue)
			}
		}
		if r := c.Queues[i].Order.Reconcile; r != nil && r.Alarm != "" {
			in.results[r.Alarm] = true
		}
	}
	for _, a := range c.Alarms {
		in.results[a.To] = true
	}
	return in
}

// tells reports whether a task notifies the merchant that it names: it goes to a host, by an
// address of its own or to the merchant's registered address.
func (s *Server) tells(t *bellman.Task) bool {
	in := s.facts.Load()
	if in.results[t.Queue] {
		return false
	}
	if t.URL == "" {
		return !in.home[t.Queue]
	}
	scheme, _, _ := strings.Cut(strings.ToLower(t.URL), ":")
	return deliver.DefaultPort(scheme) != ""
}
