package bill

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// A DifferenceKind says how the bill and bellman differ.
type DifferenceKind string

// The kinds of differences.
const (
	MissingHere   DifferenceKind = "missing_here"  // the bill has a payment or refund of an order that bellman does not have
	MissingThere  DifferenceKind = "missing_there" // bellman has an order as paid, and the bill does not have it
	AmountDiffers DifferenceKind = "amount"        // of the payment, or its currency
	StateDiffers  DifferenceKind = "state"         // paid there and not here, or failed there and paid here
	RefundDiffers DifferenceKind = "refund"        // a refund is on one side only, failed on one side only, or has another amount
	Duplicate     DifferenceKind = "duplicate"     // a second payment of an order, or a line or order a second time
)

// Kinds returns all kinds of differences.
func Kinds() []DifferenceKind {
	return []DifferenceKind{MissingHere, MissingThere, AmountDiffers, StateDiffers, RefundDiffers, Duplicate}
}

// A Difference is one fact about which the bill and bellman differ. An order can have several.
type Difference struct {
	Kind           DifferenceKind
	ChannelOrderNo string   // empty: the bill does not say
	There          *Line    // nil: the bill has none
	Here           *Decided // nil: bellman has none

	// Edge says that the order or refund is missing in the bill and was paid within Options.Edge of
	// the period's border: it may be in the neighbouring bill. A query settles it.
	Edge bool
}

// Counts is the result of a comparison.
type Counts struct {
	Payments int // lines of payments, without failed ones
	Refunds  int // lines of refunds, without failed ones
	Decided  int // items of bellman that were compared, each once
	Matched  int // lines that agree with bellman
	Outside  int // lines whose time is outside the period
	Deferred int // missing orders and refunds that were left to the comparison of the next period

	Differences map[DifferenceKind]int // without kinds of which there are none
}

// Options of Compare. From and To are required.
type Options struct {
	From, To time.Time // the period of the bill, without To; see Day

	// Edge is how far the times of the channel and of bellman may differ; default 1h.
	Edge time.Duration

	// Before is the bill of the period before; nil: none. A sequence without lines says that the
	// channel had none. With it, the comparison is one of a series: it reports missing orders that were
	// paid in the period [From-Edge, To-Edge).
	Before iter.Seq2[Line, error]

	// Find returns the items of orders by their channel_order_no: each order, whatever its state, and
	// its refunds. It is asked about orders of the bill that the sequence does not contain, or does not
	// explain, at most 500 in one call, and each once. nil: the sequence contains everything.
	Find func(ctx context.Context, channelOrderNos []string) ([]Decided, error)

	NoRefunds bool // refunds are not compared, because bellman does not know of them

	Dir    string // for temporary files, about 200 bytes a line and order; empty: the system's
	Memory int    // bytes of the sort buffer; default 16 MiB, at most 1 GiB
}

const (
	findBatch = 500    // orders in one call of Find
	maxGroup  = 10_000 // lines and items of one order
)

// ErrOtherDay says that a bill has lines, and none of them is of the period.
var ErrOtherDay = errors.New("is it the bill of another day?")

// Compare compares a bill with decided orders, and calls report for each difference, in no particular
// order. Both sequences may be in any order. They are read to their ends before the first call of
// report, so that an incomplete bill reports nothing. The comparison stops at the first error of a
// sequence, of Find or of report, or when ctx is cancelled; the temporary file is removed in any case.
func Compare(ctx context.Context, lines iter.Seq2[Line, error], decided iter.Seq2[Decided, error], o Options, report func(Difference) error) (Counts, error) {
	if o.Edge == 0 {
		o.Edge = time.Hour
	}
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	if !o.From.Before(o.To) || o.Edge < 0 || o.Memory < 0 {
		return Counts{}, errors.New("bill: From is not before To, or Edge or Memory is negative")
	}
	c := &comparison{ctx: ctx, Options: o, report: report, spool: newSpool(o.Dir, min(o.Memory, 1<<30))}
	c.Differences = make(map[DifferenceKind]int)
	defer c.spool.close()
	if err := c.collect(lines, decided); err != nil {
		return c.Counts, fmt.Errorf("bill: %w", err)
	}
	if err := c.judgeAll(); err != nil {
		return c.Counts, fmt.Errorf("bill: %w", err)
	}
	return c.Counts, nil
}

// A comparison is one call of Compare.
type comparison struct {
	ctx context.Context
	Options
	Counts
	report func(Difference) error
	spool  *spool
	steps  int
	near   bool     // a line outside the period is within Edge of it
	asked  []*group // orders that wait for Find
}

// step returns the error of ctx now and then.
func (c *comparison) step() error {
	if c.steps++; c.steps%1024 == 0 {
		return c.ctx.Err()
	}
	return nil
}

// collect puts both sides into the spool.
func (c *comparison) collect(lines iter.Seq2[Line, error], decided iter.Seq2[Decided, error]) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if err := c.collectLines(lines, ofBill); err != nil {
		return err
	}
	if n := c.Payments + c.Refunds; n > 0 && c.Outside == n && !c.near {
		return fmt.Errorf("none of its %d lines is of the period from %s to %s: %w",
			n, c.From.Format(time.RFC3339), c.To.Format(time.RFC3339), ErrOtherDay)
	}
	if c.Before != nil {
		if err := c.collectLines(c.Before, ofBefore); err != nil {
			return fmt.Errorf("the period before: %w", err)
		}
	}
	var value coder
	for d, err := range decided {
		if err == nil {
			err = c.step()
		}
		if err != nil {
			return err
		}
		if d.RefundNo != "" && c.NoRefunds {
			continue
		}
		value = d.encode(value[:0])
		if err := c.spool.add(d.key(), value); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) collectLines(lines iter.Seq2[Line, error], source byte) error {
	var value coder
	for l, err := range lines {
		if err == nil {
			err = c.step()
		}
		if err != nil {
			return err
		}
		if source == ofBill {
			c.count(&l)
		} else if !l.Time.IsZero() && l.Time.Before(c.From.Add(-2*c.Edge)) {
			continue // too early for any order that this comparison reports
		}
		if l.Kind == Refund && c.NoRefunds {
			continue
		}
		value = l.encode(source, value[:0])
		if err := c.spool.add(l.key(), value); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) count(l *Line) {
	if !l.Failed && l.Kind == Payment {
		c.Payments++
	}
	if !l.Failed && l.Kind == Refund {
		c.Refunds++
	}
	if !l.Failed && !l.Time.IsZero() && (l.Time.Before(c.From) || !l.Time.Before(c.To)) {
		c.Outside++
		c.near = c.near || !l.Time.Before(c.From.Add(-c.Edge)) && l.Time.Before(c.To.Add(c.Edge))
	}
}

// judgeAll reads the spool and judges order after order.
func (c *comparison) judgeAll() error {
	g := &group{}
	for r, err := range c.spool.all() {
		if err == nil {
			err = c.step()
		}
		if err != nil {
			return err
		}
		if string(r.key) != g.key {
			if err := c.finish(g); err != nil {
				return err
			}
			g = &group{key: string(r.key)}
		}
		if err := g.add(r.value); err != nil {
			return err
		}
	}
	if err := c.finish(g); err != nil {
		return err
	}
	return c.find()
}

// finish judges an order, or puts it off until Find was asked about it.
func (c *comparison) finish(g *group) error {
	if g.empty() {
		return nil
	}
	verdict := g.judge(&c.Options)
	if name := g.orderNo(); verdict.unexplained && c.Find != nil && name != "" {
		if c.asked = append(c.asked, g); len(c.asked) >= findBatch {
			return c.find()
		}
		return nil
	}
	return c.conclude(verdict)
}

// find asks about the orders that wait, and judges them.
func (c *comparison) find() error {
	if len(c.asked) == 0 {
		return nil
	}
	groups := make(map[string]*group, len(c.asked))
	names := make([]string, 0, len(c.asked))
	for _, g := range c.asked {
		groups[g.orderNo()] = g
		names = append(names, g.orderNo())
	}
	found, err := c.Find(c.ctx, names)
	if err != nil {
		return fmt.Errorf("find orders of the bill: %w", err)
	}
	for _, d := range found {
		g := groups[d.ChannelOrderNo]
		if g == nil || d.RefundNo != "" && c.NoRefunds {
			continue
		}
		g.decided = append(g.decided, d)
	}
	for _, g := range c.asked {
		if err := c.conclude(g.judge(&c.Options)); err != nil {
			return err
		}
	}
	c.asked = c.asked[:0]
	return c.ctx.Err()
}

// conclude counts and reports.
func (c *comparison) conclude(v verdict) error {
	c.Decided += v.decided
	c.Matched += v.matched
	c.Deferred += v.deferred
	for _, d := range v.differences {
		c.Differences[d.Kind]++
		if err := c.report(d); err != nil {
			return err
		}
	}
	return nil
}
