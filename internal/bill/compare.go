package bill

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/bellmanhq/bellman/internal/coded"
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
	Duplicate     DifferenceKind = "duplicate"     // a payment of an order that has another one here or in the bill, or a line or order a second time
)

// Kinds returns all kinds of differences.
func Kinds() []DifferenceKind {
	return []DifferenceKind{MissingHere, MissingThere, AmountDiffers, StateDiffers, RefundDiffers, Duplicate}
}

// A Difference is one fact about which the bill and bellman differ. An order can have several.
type Difference struct {
	Kind           DifferenceKind
	Account        string   `json:",omitempty"` // whose bill it is, as [Bill] says
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
	Owned    int // lines that name the account as owner
	Others   int // lines that name another owner, which were left out

	Differences map[DifferenceKind]int // kinds without differences are missing
}

// Add adds the counts of another comparison. n.Differences must not be nil.
func (n *Counts) Add(more *Counts) {
	n.Payments += more.Payments
	n.Refunds += more.Refunds
	n.Decided += more.Decided
	n.Matched += more.Matched
	n.Outside += more.Outside
	n.Deferred += more.Deferred
	n.Owned += more.Owned
	n.Others += more.Others
	for kind, of := range more.Differences {
		n.Differences[kind] += of
	}
}

// A Bill is the bill of one account at a channel.
type Bill struct {
	Account string // as in [Decided]
	Owner   Owner  // whose lines are compared; those of others are left out, and a bill of another merchant fails
	Lines   iter.Seq2[Line, error]

	// Before is the bill of the period before; nil: none. A sequence without lines says that the
	// channel had none. With it, the comparison is one of a series: it reports missing orders that
	// were paid in the period [From-Edge, To-Edge).
	Before iter.Seq2[Line, error]
}

// Options of Compare. From and To are required.
type Options struct {
	From, To time.Time // the period of the bills, without To; see Day

	// Edge is how far the times of the channel and of bellman may differ; default 1h.
	Edge time.Duration

	// Find returns the items of orders of an account by their channel_order_no: each order,
	// whatever its state, and its refunds. It is asked about orders of the bill that the sequence
	// does not contain, or does not explain, at most 500 in one call, and each once. nil: the
	// sequence contains everything.
	Find func(ctx context.Context, account string, channelOrderNos []string) ([]Decided, error)

	NoRefunds bool // refunds are not compared, because bellman does not know of them

	// Received says that the bills state what reached the account, as [ReadWeChatFundFlow] yields
	// it. A payment or refund of less than bellman knows is then no difference: a coupon was taken
	// off. Refunds are compared by their own numbers alone.
	Received bool

	Dir    string // for temporary files, about 200 bytes a line and order; empty: the system's
	Memory int    // bytes of the sort buffer; default 8 MiB, at most 1 GiB
}

const (
	findBatch = 500    // orders in one call of Find
	maxGroup  = 10_000 // lines and items of one order
)

// ErrOtherDay says that a bill has lines, and none of them is of the period.
var ErrOtherDay = errors.New("is it the bill of another day?")

// ErrOneOrder says that too many lines of the bills name one order.
var ErrOneOrder = errors.New("is the column right?")

// A Failure says why the bill of an account could not be read.
type Failure struct {
	Account string
	Err     error
}

// Compare compares bills with decided orders, and calls report for each difference, in no
// particular order. Orders of an account without a bill are left out. All sequences may be in any
// order. They are read to their ends, the bills first, before the first call of report. An account
// whose bill cannot be read is in failed, and is left out; if no bill can be read, decided is not
// read. The comparison stops at the first error of decided, of Find or of report, or when ctx is
// cancelled. The temporary file is removed in any case.
func Compare(ctx context.Context, bills []Bill, decided iter.Seq2[Decided, error], o Options, report func(Difference) error) (counts Counts, failed []Failure, err error) {
	o.Edge = cmp.Or(o.Edge, time.Hour)
	o.Memory = cmp.Or(o.Memory, 8<<20)
	if !o.From.Before(o.To) || o.Edge < 0 || o.Memory < 0 {
		return Counts{}, nil, errors.New("bill: From is not before To, or Edge or Memory is negative")
	}
	c := &comparison{ctx: ctx, Options: o, report: report, spool: newSpool(o.Dir, min(o.Memory, 1<<30)), parties: map[string]*party{}}
	c.counts.Differences = make(map[DifferenceKind]int)
	defer c.spool.close()
	if failed, err = c.readBills(bills); err == nil && len(failed) < len(bills) {
		if err = c.readDecided(decided); err == nil {
			err = c.judgeAll()
		}
	}
	if err != nil {
		return Counts{}, failed, fmt.Errorf("bill: %w", err)
	}
	return c.counts, failed, nil
}

// A comparison is one call of Compare.
type comparison struct {
	ctx context.Context
	Options
	counts  Counts
	report  func(Difference) error
	spool   *spool
	steps   int
	parties map[string]*party // those whose bills were read, by account
	byOrder []*party          // by their numbers
	asked   []*group          // orders of one party that wait for Find
}

// A party is an account whose bill is compared.
type party struct {
	account string
	key     string // that all its records begin with
	before  bool   // the bill of the period before was read
	failed  bool
	counts  Counts
	near    bool  // a line outside the period is within Edge of it
	other   Owner // of the first line that was left out
}

// step returns the error of ctx now and then.
func (c *comparison) step() error {
	if c.steps++; c.steps%1024 == 0 {
		return c.ctx.Err()
	}
	return nil
}

// readBills puts the lines of all bills into the spool.
func (c *comparison) readBills(bills []Bill) (failed []Failure, err error) {
	for i, b := range bills {
		if err := c.ctx.Err(); err != nil {
			return failed, err
		}
		p := &party{account: b.Account, before: b.Before != nil}
		if len(bills) > 1 {
			p.key = string(binary.BigEndian.AppendUint32(nil, uint32(i)))
		}
		c.byOrder = append(c.byOrder, p)
		wrong, err := c.readBill(p, &b)
		if err == nil && wrong != nil {
			err = c.ctx.Err()
		}
		if err != nil {
			return failed, err
		}
		if p.failed = wrong != nil; p.failed {
			failed = append(failed, Failure{b.Account, fmt.Errorf("bill: %w", wrong)})
			continue
		}
		c.parties[b.Account] = p
		c.counts.Payments += p.counts.Payments
		c.counts.Refunds += p.counts.Refunds
		c.counts.Outside += p.counts.Outside
		c.counts.Owned += p.counts.Owned
		c.counts.Others += p.counts.Others
	}
	return failed, nil
}

// readBill reads a bill. wrong is what is wrong with the bill; err ends the comparison.
func (c *comparison) readBill(p *party, b *Bill) (wrong, err error) {
	if wrong, err = c.readLines(p, b.Owner, b.Lines, ofBill); wrong != nil || err != nil {
		return wrong, err
	}
	if n := &p.counts; n.Others > 0 && n.Owned == 0 && (p.other.No != b.Owner.No || b.Owner.Sub != "") {
		return coded.Errorf("reconcile.other_merchant", "none of its %d lines is of %s: the first is of %.60s. Is it the bill of another merchant?", n.Others, b.Owner, p.other), nil
	}
	if n := p.counts.Payments + p.counts.Refunds; n > 0 && p.counts.Outside == n && !p.near {
		return fmt.Errorf("none of its %d lines is of the period from %s to %s: %w",
			n, c.From.Format(time.RFC3339), c.To.Format(time.RFC3339), ErrOtherDay), nil
	}
	if b.Before == nil {
		return nil, nil
	}
	if wrong, err = c.readLines(p, b.Owner, b.Before, ofBefore); wrong != nil {
		wrong = fmt.Errorf("the period before: %w", wrong)
	}
	return wrong, err
}

func (c *comparison) readLines(p *party, owner Owner, lines iter.Seq2[Line, error], source byte) (wrong, err error) {
	var value []byte
	for l, err := range lines {
		if err != nil {
			return err, nil
		}
		if err := c.step(); err != nil {
			return nil, err
		}
		if !owner.owns(l.Owner) {
			if source == ofBill {
				p.other = cmp.Or(p.other, l.Owner)
				p.counts.Others++
			}
			continue
		}
		if source == ofBill {
			c.count(p, &l, owner)
		}
		if l.Kind == Refund && c.NoRefunds {
			continue
		}
		value = l.encode(source, value[:0])
		if err := c.spool.add(p.key, l.key(), value); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (c *comparison) count(p *party, l *Line, owner Owner) {
	n := &p.counts
	if owner.No != "" && l.Owner.No != "" {
		n.Owned++
	}
	if !l.Failed && l.Kind == Payment {
		n.Payments++
	}
	if !l.Failed && l.Kind == Refund {
		n.Refunds++
	}
	if !l.Failed && !l.Time.IsZero() && (l.Time.Before(c.From) || !l.Time.Before(c.To)) {
		n.Outside++
		p.near = p.near || !l.Time.Before(c.From.Add(-c.Edge)) && l.Time.Before(c.To.Add(c.Edge))
	}
}

// readDecided puts the items of the accounts into the spool whose bills were read.
func (c *comparison) readDecided(decided iter.Seq2[Decided, error]) error {
	var value []byte
	for d, err := range decided {
		if err == nil {
			err = c.step()
		}
		if err != nil {
			return err
		}
		p := c.parties[d.Account]
		if p == nil || d.RefundNo != "" && c.NoRefunds {
			continue
		}
		if c.Received && d.RefundNo != "" {
			d.ChannelOrderNo = "" // a fund flow bill names a refund by its own number alone
		}
		value = d.encode(value[:0])
		if err := c.spool.add(p.key, d.key(), value); err != nil {
			return err
		}
	}
	return nil
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
		if g.party == nil || string(r.key) != g.at {
			if err := c.finish(g); err != nil {
				return err
			}
			g = c.group(string(r.key))
		}
		if g.party.failed {
			continue
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

// group begins the group of the records that have a key.
func (c *comparison) group(at string) *group {
	if len(c.byOrder) == 1 {
		return &group{party: c.byOrder[0], at: at, key: at}
	}
	return &group{party: c.byOrder[binary.BigEndian.Uint32([]byte(at))], at: at, key: at[4:]}
}

// finish judges an order, or puts it off until Find was asked about it.
func (c *comparison) finish(g *group) error {
	if g.empty() {
		return nil
	}
	verdict := g.judge(&c.Options)
	if name := g.orderNo(); verdict.unexplained && c.Find != nil && name != "" {
		if len(c.asked) > 0 && c.asked[0].party != g.party {
			if err := c.find(); err != nil {
				return err
			}
		}
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
	account := c.asked[0].party.account
	groups := make(map[string]*group, len(c.asked))
	names := make([]string, 0, len(c.asked))
	for _, g := range c.asked {
		groups[g.orderNo()] = g
		names = append(names, g.orderNo())
	}
	found, err := c.Find(c.ctx, account, names)
	if err != nil {
		return fmt.Errorf("find orders of the bill: %w", err)
	}
	for _, d := range found {
		g := groups[d.ChannelOrderNo]
		if g == nil || d.Account != account || d.RefundNo != "" && (c.NoRefunds || c.Received) {
			continue // a fund flow bill has refunds apart from their orders
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
	c.counts.Decided += v.decided
	c.counts.Matched += v.matched
	c.counts.Deferred += v.deferred
	for _, d := range v.differences {
		c.counts.Differences[d.Kind]++
		if err := c.report(d); err != nil {
			return err
		}
	}
	return nil
}
