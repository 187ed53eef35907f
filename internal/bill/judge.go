package bill

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// A group is everything about one order: its key is the order's number, or what stands for it.
type group struct {
	party   *party // nil: the group is empty
	at      string // key in the spool
	key     string
	before  []Line
	lines   []Line
	decided []Decided
}

func (g *group) empty() bool { return len(g.before)+len(g.lines)+len(g.decided) == 0 }

// orderNo returns the order's number; empty: the bill does not say it.
func (g *group) orderNo() string {
	if g.key != "" && g.key[0] > 2 {
		return g.key
	}
	return ""
}

// add adds a record of the spool.
func (g *group) add(value []byte) (err error) {
	var l Line
	switch source := value[0]; source {
	case ofDecided:
		var d Decided
		d, err = decodeDecided(value[1:])
		d.Account = g.party.account
		g.decided = append(g.decided, d)
	default:
		l, err = decodeLine(value[1:])
		if source == ofBefore {
			g.before = append(g.before, l)
		} else {
			g.lines = append(g.lines, l)
		}
	}
	if err == nil && len(g.before)+len(g.lines)+len(g.decided) > maxGroup {
		err = fmt.Errorf("the order %.70q has more than %d lines: %w", g.key, maxGroup, ErrOneOrder)
	}
	return err
}

// A verdict is the result of comparing one order.
type verdict struct {
	account                    string
	differences                []Difference
	decided, matched, deferred int
	unexplained                bool // lines have no order or refund here: ask whether bellman has one
}

func (v *verdict) differ(kind DifferenceKind, there *Line, here *Decided) {
	d := Difference{Kind: kind, Account: v.account, There: there, Here: here}
	if here != nil {
		d.ChannelOrderNo = here.ChannelOrderNo
	} else {
		d.ChannelOrderNo = there.ChannelOrderNo
	}
	v.differences = append(v.differences, d)
}

// judge compares the two sides of one order.
func (g *group) judge(o *Options) verdict {
	v := verdict{account: g.party.account}
	slices.SortStableFunc(g.lines, func(a, b Line) int { return cmp.Compare(a.Number, b.Number) })
	g.decided = once(g.decided)
	var orders, refunds []*Decided
	for i := range g.decided {
		d := &g.decided[i]
		if d.RefundNo == "" {
			orders = append(orders, d)
			continue
		}
		switch at := slices.IndexFunc(refunds, func(r *Decided) bool { return r.RefundNo == d.RefundNo }); {
		case at < 0:
			refunds = append(refunds, d)
		case refunds[at].TaskID == "": // a notice told of it, too
			refunds[at] = d
		}
	}
	v.decided = len(orders) + len(refunds)
	var here *Decided // the order
	if len(orders) > 0 {
		here = orders[0]
		for _, again := range orders[1:] {
			v.differ(Duplicate, nil, again)
		}
	}
	if here != nil && g.reversed(here) {
		here.Paid, here.Refunded = true, math.MaxInt64
	}
	g.judgePayment(o, here, &v)
	g.judgeRefunds(o, here, refunds, &v)
	return v
}

// reversed reports whether the bill has the payment of an order that was reversed, and gives all of
// it back. WeChat Pay does not say to a reverse whether somebody had paid.
func (g *group) reversed(here *Decided) bool {
	paid, back := int64(0), int64(0)
	for i := range g.before {
		if l := &g.before[i]; l.Kind == Payment && !l.Failed {
			paid += l.Amount
		}
	}
	for i := range g.lines {
		if l := &g.lines[i]; !l.Failed {
			paid, back = paid+l.Amount, back+l.RefundAmount
		}
	}
	return here.State == "REVOKED" && !here.Paid && back > 0 && back == paid
}

// once keeps one of several items with the same task and refund: a paid one if there is any. It
// sorts paid items to the front. The result does not depend on the order of the input.
func once(items []Decided) []Decided {
	paidFirst := func(a, b Decided) int { return cmp.Compare(rank(a.Paid), rank(b.Paid)) }
	byID := func(a, b Decided) int {
		return cmp.Or(cmp.Compare(a.TaskID, b.TaskID), cmp.Compare(a.RefundNo, b.RefundNo))
	}
	slices.SortFunc(items, func(a, b Decided) int { return cmp.Or(byID(a, b), paidFirst(a, b)) })
	items = slices.CompactFunc(items, func(a, b Decided) bool { return byID(a, b) == 0 })
	slices.SortStableFunc(items, paidFirst)
	return items
}

// rank sorts what is true to the front.
func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// judgePayment compares the payment of an order; here is nil if bellman does not have the order.
func (g *group) judgePayment(o *Options, here *Decided, v *verdict) {
	paid, failed := g.payments(here)
	for _, again := range paid[min(1, len(paid)):] {
		v.differ(Duplicate, again, here)
	}
	switch {
	case len(paid) > 0 && here == nil:
		v.unexplained = true
		v.differ(MissingHere, paid[0], nil)
	case len(paid) > 0:
		g.comparePayment(o, paid[0], here, v)
	case here == nil || !here.Paid:
	case failed != nil:
		v.differ(StateDiffers, failed, here)
	default:
		stated := slices.ContainsFunc(g.before, func(l Line) bool { return l.Kind == Payment && !l.Failed })
		g.missing(MissingThere, o, here, stated, v)
	}
}

// payments returns the lines of payments. The first is the one that the order is compared with.
// failed is a payment that failed; nil: none.
func (g *group) payments(here *Decided) (paid []*Line, failed *Line) {
	for i := range g.lines {
		switch l := &g.lines[i]; {
		case l.Kind != Payment:
		case l.Failed:
			failed = l
		default:
			paid = append(paid, l)
		}
	}
	if here != nil && here.TransactionID != "" {
		slices.SortStableFunc(paid, func(a, b *Line) int {
			return cmp.Compare(rank(a.TransactionID == here.TransactionID), rank(b.TransactionID == here.TransactionID))
		})
	}
	return paid, failed
}

// differs reports whether an amount that bellman knows, or does not know, differs from the one of
// the bill.
func (o *Options) differs(here, there int64) bool {
	return here != 0 && here != there && (!o.Received || here < there)
}

func (g *group) comparePayment(o *Options, there *Line, here *Decided, v *verdict) {
	same := true
	if !here.Paid {
		same = false
		v.differ(StateDiffers, there, here)
	}
	if there.TransactionID != "" && here.TransactionID != "" && there.TransactionID != here.TransactionID {
		same = false
		v.differ(Duplicate, there, here) // the order has another payment here
	}
	if o.differs(here.Amount, there.Amount) || here.Currency != "" && there.Currency != "" && here.Currency != there.Currency {
		same = false
		v.differ(AmountDiffers, there, here)
	}
	if same {
		v.matched++
	}
}

// missing reports an item that the bill does not have, if it is this comparison's to report. stated
// says that the bill of the period before has it.
func (g *group) missing(kind DifferenceKind, o *Options, here *Decided, stated bool, v *verdict) {
	at := here.PaidAt
	if at.IsZero() || stated {
		return
	}
	from, to := o.From, o.To
	if g.party.before {
		from, to = from.Add(-o.Edge), to.Add(-o.Edge)
		if !at.Before(to) && at.Before(o.To) {
			v.deferred++
		}
	}
	if at.Before(from) || !at.Before(to) {
		return
	}
	v.differ(kind, nil, here)
	near := func(border time.Time) bool { return at.Sub(border).Abs() < o.Edge }
	v.differences[len(v.differences)-1].Edge = !g.party.before && (near(o.From) || near(o.To))
}

// judgeRefunds compares the refunds of an order. here is nil if bellman does not have the order.
func (g *group) judgeRefunds(o *Options, here *Decided, refunds []*Decided, v *verdict) {
	there := g.refunds(v, here)
	found := make(map[*Decided]bool, len(refunds))
	known := int64(0) // what the order says was refunded, less the refunds that explain it
	if here != nil {
		known = here.Refunded
		for _, r := range refunds {
			if r.Paid {
				known -= r.Amount
			}
		}
	}
	for _, l := range there {
		i := slices.IndexFunc(refunds, func(d *Decided) bool {
			return d.RefundNo == l.RefundNo || l.RefundNo == "" && !l.Failed && d.Paid && d.Amount == l.RefundAmount && !found[d]
		})
		switch {
		case i >= 0:
			r := refunds[i]
			found[r] = true
			open := !l.Failed && l.State == "PROCESSING" && r.State != "UNKNOWN" // it failed after the bill was made
			if l.Failed == r.Paid && !open || !l.Failed && o.differs(r.Amount, l.RefundAmount) {
				v.differ(RefundDiffers, l, r)
			} else if !l.Failed {
				v.matched++
			}
		case l.Failed:
		case l.RefundAmount <= known:
			known -= l.RefundAmount
			v.matched++
		case here == nil && len(refunds) == 0:
			v.unexplained = true
			v.differ(MissingHere, l, nil)
		default:
			v.unexplained = true
			v.differ(RefundDiffers, l, here)
		}
	}
	for _, r := range refunds {
		if r.Paid && !found[r] {
			stated := slices.ContainsFunc(g.before, func(l Line) bool { return l.Kind == Refund && l.RefundNo == r.RefundNo && !l.Failed })
			g.missing(RefundDiffers, o, r, stated, v)
		}
	}
}

// refunds returns the refunds of the bill, each once: with its last state if it has several lines
// with different states. A line that repeats another one is a duplicate.
func (g *group) refunds(v *verdict, here *Decided) (refunds []*Line) {
	for i := range g.lines {
		l := &g.lines[i]
		if l.Kind != Refund {
			continue
		}
		at := slices.IndexFunc(refunds, func(r *Line) bool { return sameRefund(r, l) })
		switch {
		case at < 0:
			refunds = append(refunds, l)
		case refunds[at].State == l.State:
			v.differ(Duplicate, l, here)
		case refunds[at].State == "PROCESSING" || l.State != "PROCESSING" && l.Time.After(refunds[at].Time):
			refunds[at] = l
		}
	}
	return refunds
}

// sameRefund reports whether two lines are about one refund: they have the same number of a refund
// or, if neither has one, the same time and content.
func sameRefund(a, b *Line) bool {
	if a.RefundNo != "" || b.RefundNo != "" {
		return a.RefundNo == b.RefundNo
	}
	return !a.Time.IsZero() && a.RefundAmount == b.RefundAmount && a.Time.Equal(b.Time) && a.TransactionID == b.TransactionID && a.State == b.State
}
