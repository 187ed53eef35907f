package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/alipay"
	"github.com/bellmanhq/bellman/order/wechatpay"
)

// setBilled replaces the queues that can be reconciled.
func (s *Server) setBilled(queues []engine.Queue, c *config.Config) {
	var all []reconcile.Queue
	for i := range queues {
		if h, is := queues[i].Handler.(*order.Handler); is {
			all = append(all, s.billedQueue(h, &c.Queues[i], c))
		}
	}
	s.billed.Store(&all)
}

// billedQueue returns a queue of orders as reconciliations need it.
func (s *Server) billedQueue(h *order.Handler, of *config.Queue, c *config.Config) reconcile.Queue {
	o := &of.Order
	kind := o.Channel.Kind
	no, sub := o.Channel.Owner()
	// A payment comes before the order expires, or late: within the watch, or while the code can be
	// paid.
	q := reconcile.Queue{
		Name: of.Name, Account: reconcile.Account{Name: o.Channel.Account, Identity: h.Identity(of.Name), Owner: bill.Owner{No: no, Sub: sub}},
		Window: max(o.Expires+o.Grace+max(o.LateWatch, o.CodeLife), 24*time.Hour),
	}
	if kind == "wechatpay" || kind == "alipay" || kind == "" && o.Channel.Account != "" {
		q.Registry = billedAccounts{s, s.orderAccounts(of)}
	}
	for k := range c.Queues {
		other := &c.Queues[k].Order.Channel
		registered := q.Registry != nil && (other.Account != "" || other.Kind == "wechatpay" || other.Kind == "alipay")
		if c.Queues[k].Kind == "poll" && other.Of == string(order.OfRefund) && (registered || other.Identity() == q.Identity) {
			q.Refunds = append(q.Refunds, c.Queues[k].Name)
		}
	}
	setBills(&q.Account, h.Channel())
	if r := o.Reconcile; r != nil {
		q.Daily = &reconcile.Daily{At: r.At, Zone: r.Zone, Alarm: r.Alarm, NoRefunds: !r.Refunds, FundFlow: r.FundFlow}
	}
	return q
}

// billedAccounts are the registered accounts of a queue as reconciliations need them.
type billedAccounts struct {
	*Server
	of order.Accounts[order.Channel]
}

// Any implements [reconcile.Registry].
func (b billedAccounts) Any(ctx context.Context) (bool, error) {
	some, _, err := b.accounts.List(ctx, client.AccountSearch{Limit: 1}, "")
	return len(some) > 0, err
}

// Get implements [reconcile.Registry].
func (b billedAccounts) Get(ctx context.Context, name string) (reconcile.Account, error) {
	at, err := b.of(ctx, name)
	if err != nil {
		return reconcile.Account{}, err
	}
	k, err := b.accounts.Get(ctx, name)
	switch {
	case err != nil:
		return reconcile.Account{}, err
	case k == nil: // deleted meanwhile
		return reconcile.Account{}, fmt.Errorf("account %s: %w", name, bellman.ErrNotFound)
	case k.Unable != nil:
		return reconcile.Account{}, k.Unable
	}
	rate, err := b.accounts.RateOf(ctx, at.Endpoint)
	if err != nil {
		return reconcile.Account{}, err
	}
	a := reconcile.Account{Name: name, Identity: at.Identity, Owner: bill.Owner{No: k.Owner, Sub: k.Sub}}
	if setBills(&a, at.Channel); rate > 0 {
		a.Pace = time.Duration(billRequests / rate * float64(time.Second))
	}
	return a, nil
}

// billRequests is the number of requests that a bill costs: one asks where it is, and one downloads
// it.
const billRequests = 2

// setBills sets how the bills of an account's channel are asked for, and how they are read from
// files.
func setBills(a *reconcile.Account, channel order.Channel) {
	switch c := channel.(type) {
	case interface {
		DownloadBill(context.Context, wechatpay.Bill, string, io.Writer) error
		HasBill(wechatpay.Bill) bool
	}:
		of := func(kind wechatpay.Bill, read func(io.Reader) iter.Seq2[bill.Line, error]) reconcile.Statement {
			return statement(read, func(ctx context.Context, date string, w io.Writer) error { return c.DownloadBill(ctx, kind, date, w) })
		}
		a.Statement, a.FundFlow = of(wechatpay.TradeBill, bill.ReadWeChatTrade), of(wechatpay.FundFlowBill, bill.ReadWeChatFundFlow)
		if !c.HasBill(wechatpay.FundFlowBill) {
			a.FundFlow.Lines = nil
		}
	case *alipay.Channel:
		a.Statement = statement(func(r io.Reader) iter.Seq2[bill.Line, error] { return bill.ReadAlipay(r, "") }, c.DownloadBill)
	}
}

func statement(read func(io.Reader) iter.Seq2[bill.Line, error], download func(context.Context, string, io.Writer) error) reconcile.Statement {
	return reconcile.Statement{Read: read, Lines: func(ctx context.Context, date string) iter.Seq2[bill.Line, error] {
		return bill.Downloaded("", func(w io.Writer) error {
			err := download(ctx, date, w)
			if errors.Is(err, order.ErrNoBill) {
				return nil // a bill without lines
			}
			return err
		}, read)
	}}
}

// reconciled returns the differences of the newest results, for the metrics; nil if the store does
// not answer.
func (s *Server) reconciled(ctx context.Context) []metrics.Reconciled {
	runs, err := s.reconciles.List(ctx, 1000)
	if err != nil {
		s.log.Error("reconciliations cannot be read", "err", err)
		return nil
	}
	var all []metrics.Reconciled
	seen := map[string]bool{}
	for _, r := range runs {
		if r.Finished.IsZero() || r.Account != "" || r.Bill == reconcile.FundFlow || seen[r.Queue] {
			continue
		}
		seen[r.Queue] = true
		for _, kind := range bill.Kinds() {
			all = append(all, metrics.Reconciled{Queue: r.Queue, Kind: string(kind), Differences: r.Counts.Differences[kind]})
		}
	}
	return all
}
