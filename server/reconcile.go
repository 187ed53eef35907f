package server

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

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
	all := billed(queues, c)
	s.billed.Store(&all)
}

// billed returns the queues of orders as reconciliations need them.
func billed(queues []engine.Queue, c *config.Config) []reconcile.Queue {
	var all []reconcile.Queue
	for i := range queues {
		h, is := queues[i].Handler.(*order.Handler)
		if !is {
			continue
		}
		o := &c.Queues[i].Order
		// A payment comes before the order expires, or late: within the watch, or while the code can be paid.
		q := reconcile.Queue{
			Name: queues[i].Name, Account: h.Account(queues[i].Name),
			Window: max(o.Expires+o.Grace+max(o.LateWatch, o.CodeLife), 24*time.Hour),
		}
		for k := range c.Queues {
			of := &c.Queues[k]
			if of.Kind == "poll" && of.Order.Channel.Of == string(order.OfRefund) && of.Order.Channel.Identity() == q.Account {
				q.Refunds = append(q.Refunds, of.Name)
			}
		}
		q.Lines, q.Read = linesOf(h.Channel())
		if r := o.Reconcile; r != nil {
			q.Daily = &reconcile.Daily{At: r.At, Zone: r.Zone, Alarm: r.Alarm, NoRefunds: !r.Refunds}
		}
		all = append(all, q)
	}
	return all
}

// linesOf returns how the bill of a channel is asked for, and how it is read from a file; nil: it has none.
func linesOf(channel order.Channel) (lines func(context.Context, string) iter.Seq2[bill.Line, error], read func(io.Reader) iter.Seq2[bill.Line, error]) {
	var download func(ctx context.Context, date string, w io.Writer) error
	switch c := channel.(type) {
	case interface {
		DownloadBill(context.Context, wechatpay.Bill, string, io.Writer) error
	}:
		read = bill.ReadWeChatTrade
		download = func(ctx context.Context, date string, w io.Writer) error {
			return c.DownloadBill(ctx, wechatpay.TradeBill, date, w)
		}
	case *alipay.Channel:
		read = func(r io.Reader) iter.Seq2[bill.Line, error] { return bill.ReadAlipay(r, "") }
		download = c.DownloadBill
	default:
		return nil, nil
	}
	return func(ctx context.Context, date string) iter.Seq2[bill.Line, error] {
		return bill.Downloaded("", func(w io.Writer) error {
			err := download(ctx, date, w)
			if errors.Is(err, order.ErrNoBill) {
				return nil // a bill without lines
			}
			return err
		}, read)
	}, read
}

// reconciled returns the differences of the newest results, for the metrics; nil if the store does not
// answer.
func (s *Server) reconciled(ctx context.Context) []metrics.Reconciled {
	runs, err := s.reconciles.List(ctx, 1000)
	if err != nil {
		s.log.Error("reconciliations cannot be read", "err", err)
		return nil
	}
	var all []metrics.Reconciled
	seen := map[string]bool{}
	for _, r := range runs {
		if r.Finished.IsZero() || seen[r.Queue] {
			continue
		}
		seen[r.Queue] = true
		for _, kind := range bill.Kinds() {
			all = append(all, metrics.Reconciled{Queue: r.Queue, Kind: string(kind), Differences: r.Counts.Differences[kind]})
		}
	}
	return all
}
