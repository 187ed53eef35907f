package reconcile

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/nearest"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// A Store is the part of a store.Store that runs need.
type Store interface {
	// Commit is only called with Docs and Audits.
	Commit(ctx context.Context, b *store.Batch) error
	Task(ctx context.Context, id bellman.ID) (*bellman.Task, error)
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error)
	store.Finder
	store.DocReader
}

// Tasks asks the channel about orders; the engine implements it.
type Tasks interface {
	// Settle attempts tasks of any state now, within every limit, and returns each after its
	// outcome is recorded, in order. It returns ErrWaiting for a task if ctx ends first.
	Settle(ctx context.Context, by bellman.By, ids ...bellman.ID) ([]engine.Settled, error)
}

// Alarms reports the results of runs with an Alarm; package alarm implements it.
type Alarms interface {
	// Report reports an alarm once: the same ID and Since again are no error, and report nothing.
	Report(ctx context.Context, a alarm.Alarm) error
}

// Options of Runs. Store, Tasks, Alarms and Queues are required.
type Options struct {
	Store  Store
	Tasks  Tasks
	Alarms Alarms
	Queues func() []Queue // the configured queues of kind order
	Logger *slog.Logger   // nil: slog.Default()
	Leads  func() bool    // whether this process works on runs of channels now; nil: always
	Dir    string         // for temporary files; empty: the system's
}

// A Queue is a queue of orders.
type Queue struct {
	Name    string
	Account               // of orders that name none; its Name is empty if it is the queue's own channel
	Refunds []string      // queues of kind poll that ask about refunds of accounts of the queue
	Window  time.Duration // how long before its payment an order of the queue is created, at most

	Registry Registry // has the accounts that orders of the queue may name; nil: they can name none
	Daily    *Daily   // nil: the queue has no daily job
}

// An Account is an account at a channel.
type Account struct {
	Name     string // under which it is registered; empty: the queue's own
	Identity string // by which the channel knows it, as in package order
	Owner    bill.Owner

	Statement           // the bill of payments and refunds
	FundFlow  Statement // the bill of what reached and left the account; its functions are nil if there is none

	// Pace is the shortest time between two bills that are asked for, because of the account's
	// rate; 0: none.
	Pace time.Duration
}

// A Statement is a kind of bill.
type Statement struct {
	// Lines yields the bill of a date that the channel makes. An error may be an
	// order.ErrBillNotReady. nil: the channel has no bills that can be asked for.
	Lines func(ctx context.Context, date string) iter.Seq2[bill.Line, error]

	// Read reads a bill of the channel that was saved to a file. nil: only files with a mapping can
	// be read.
	Read func(r io.Reader) iter.Seq2[bill.Line, error]
}

// of returns a kind of bill of an account.
func (a *Account) of(kind BillKind) *Statement {
	if kind == FundFlow {
		return &a.FundFlow
	}
	return &a.Statement
}

// A Registry has the accounts of a queue. Its methods may be called concurrently.
type Registry interface {
	// Any reports whether an account is registered at all.
	Any(ctx context.Context) (bool, error)

	// Get returns an account by its name. It returns bellman.ErrNotFound if there is none, and
	// *bellman.Invalid if it is no account for the queue.
	Get(ctx context.Context, name string) (Account, error)
}

// Daily is the daily job of a queue: it reconciles the day before, in UTC+8, and the days that were
// missed since its last job.
type Daily struct {
	At        time.Duration // since midnight
	Zone      *time.Location
	Alarm     string // the queue whose tasks report differences, and orders that could not be compared; empty: none
	NoRefunds bool   // refunds are not compared
	FundFlow  bool   // the fund flow bill is compared, too
}

// Runs keeps the runs of a store, and works on them while Run runs. All methods are safe for
// concurrent use.
type Runs struct {
	store  Store
	tasks  Tasks
	alarms Alarms
	queues func() []Queue
	log    *slog.Logger
	leads  func() bool // this process works on runs of channels
	dir    string
	wake   sleep.Waker // makes Run look for work
}

// New returns the runs of a store.
func New(o Options) (*Runs, error) {
	if o.Store == nil || o.Tasks == nil || o.Alarms == nil || o.Queues == nil {
		return nil, errors.New("reconcile: want Store, Tasks, Alarms and Queues in the options")
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Leads == nil {
		o.Leads = func() bool { return true }
	}
	return &Runs{store: o.Store, tasks: o.Tasks, alarms: o.Alarms, queues: o.Queues, log: o.Logger, leads: o.Leads, dir: o.Dir, wake: sleep.NewWaker()}, nil
}

// A Request says what is compared.
type Request struct {
	Queue     string
	Account   string // a registered one; empty: all accounts of the queue, and for a file that of orders that name none
	Bill      BillKind
	Date      string // such as 2026-11-21
	NoRefunds bool
	Unknown   bool // a file is compared even if nothing in it is known here
	By        bellman.By
}

// Start requests a comparison with the bills of the queue's accounts. It is durable when Start
// returns. If the same is waiting or running, Start returns that. Errors: *bellman.Invalid, or the
// store's.
func (r *Runs) Start(ctx context.Context, in Request) (Run, error) {
	q, at, err := r.check(ctx, &in)
	if err != nil {
		return Run{}, err
	}
	if in.Bill == FundFlow && at.FundFlow.Lines == nil && (q.Registry == nil || at.Lines != nil || in.Account != "") {
		return Run{}, invalid("bill", coded.Errorf("reconcile.no_fund_flow", "fund_flow cannot be asked for: only WeChat Pay makes this bill, and bellman does not download that of a service provider's sub-merchant"))
	}
	if at.of(in.Bill).Lines == nil && (q.Registry == nil || in.Account != "") {
		return Run{}, invalid("queue", coded.Errorf("reconcile.no_bill", "the channel of %.60q has no bill that can be asked for: upload a file", in.Queue))
	}
	return r.start(ctx, in, nil)
}

// start is Start for a request that was checked. If another process changes the run meanwhile,
// start looks again: both may have requested the same.
func (r *Runs) start(ctx context.Context, in Request, daily *Daily) (run Run, err error) {
	const tries = 3
	for range tries {
		if run, err = r.startOnce(ctx, in, daily); !errors.Is(err, bellman.ErrConflict) {
			break
		}
	}
	return run, err
}

func (r *Runs) startOnce(ctx context.Context, in Request, daily *Daily) (Run, error) {
	h, run, err := r.begin(ctx, in, FromChannel)
	if err != nil {
		return Run{}, err
	}
	if h.State == Waiting || h.State == Running {
		if h.Tries == 0 || daily != nil { // otherwise a person wants it now
			return h.Run, nil
		}
	}
	if daily != nil {
		run.Daily, run.Alarm = true, daily.Alarm
	}
	err = r.save(ctx, h, run, store.AuditOf(in.By, run.Created, "reconcile", target(run.ID)))
	if err != nil {
		return Run{}, err
	}
	r.wake.Wake()
	return h.Run, nil
}

// begin returns the stored run of a request, which is zero if there is none, and the run as the
// request changes it. The result before it stays.
func (r *Runs) begin(ctx context.Context, in Request, source string) (*head, Run, error) {
	id := runID(&in, source)
	h, err := r.read(ctx, id)
	if errors.Is(err, bellman.ErrNotFound) {
		h, err = &head{}, nil
	}
	if err != nil {
		return nil, Run{}, err
	}
	run := h.Run
	run.ID, run.Queue, run.Account, run.Bill, run.Date, run.Source, run.NoRefunds = id, in.Queue, in.Account, in.Bill, in.Date, source, in.NoRefunds
	run.Who, run.Reason, run.From = in.By.Who, in.By.Reason, in.By.From
	run.State, run.Created, run.Next, run.Tries, run.Error, run.Left, run.Partial = Waiting, now(), time.Time{}, 0, "", nil, false
	if h.State == Done { // otherwise the daily job still owes its report
		run.Alarm = ""
	}
	return h, run, nil
}

// check returns the queue of a request and its account, or its mistakes. Without an account in the
// request it is that of orders that name none.
func (r *Runs) check(ctx context.Context, in *Request) (q Queue, at Account, err error) {
	var wrong bellman.Invalid
	in.Bill = cmp.Or(in.Bill, TradeBill)
	all := r.queues()
	i := slices.IndexFunc(all, func(q Queue) bool { return q.Name == in.Queue })
	if len(all) == 0 {
		wrong.Note("queue", coded.Errorf("reconcile.no_queues", "no queue of kind order is configured: add one"))
	} else if i < 0 {
		names := make([]string, 0, len(all))
		for _, q := range all {
			names = append(names, q.Name)
		}
		wrong.Note("queue", coded.Errorf("reconcile.no_queue", "no queue %.60q of kind order is configured: want one of %s", in.Queue, nearest.Some(names)))
	} else {
		q = all[i]
		if at, err = q.account(ctx, in.Account); err != nil {
			problem := new(bellman.Invalid)
			switch {
			case errors.As(err, &problem):
				wrong.Fields = append(wrong.Fields, problem.Fields...)
			case errors.Is(err, bellman.ErrNotFound):
				wrong.Note("account", coded.Errorf("order.no_account", "%.128q is not registered: want the name of an account", in.Account))
			default:
				return q, at, err
			}
		}
	}
	if in.Bill != TradeBill && in.Bill != FundFlow {
		wrong.Note("bill", coded.Errorf("reconcile.bill", "%.40q is no kind of bill: want trade or fund_flow", in.Bill))
	}
	switch from, to, err := bill.Day(in.Date); {
	case err != nil || from.Year() < 2000:
		wrong.Note("date", coded.Errorf("reconcile.date", "%.40q is no date: want one such as 2026-11-21", in.Date))
	case to.After(time.Now()):
		wrong.Note("date", coded.Errorf("reconcile.future", "%s is not over in the channel's time zone, UTC+8: want a day before %s", in.Date, time.Now().In(bill.Zone).Format(time.DateOnly)))
	}
	return q, at, wrong.Err()
}

// account returns an account of the queue by its name; an empty name is the one of orders that name
// none.
func (q *Queue) account(ctx context.Context, name string) (Account, error) {
	switch {
	case name == "" && q.Account.Name == "":
		return q.Account, nil
	case q.Registry == nil:
		return Account{}, invalid("account", coded.Errorf("reconcile.no_accounts", "is given, but queue %.60q has no registered accounts: leave it out", q.Name))
	}
	return q.Registry.Get(ctx, cmp.Or(name, q.Account.Name))
}

func invalid(field string, err error) error {
	var wrong bellman.Invalid
	wrong.Note(field, err)
	return wrong.Err()
}

// File compares a file with the orders of a queue, and returns when the result is stored. A nil
// mapping means that the file is a bill of the queue's channel. An error of the file is a
// *bellman.Invalid of the field file: a file that is not the account's is one.
func (r *Runs) File(ctx context.Context, in Request, m *bill.Mapping, file io.Reader) (Run, error) {
	q, at, err := r.check(ctx, &in)
	if err != nil {
		return Run{}, err
	}
	if m == nil && at.of(in.Bill).Read == nil {
		return Run{}, invalid("map", coded.Errorf("reconcile.no_reader", "is missing: the channel of %.60q has no bill that is known; say which columns the file has", in.Queue))
	}
	if m != nil && m.MchID != "" && at.Owner.No == "" {
		return Run{}, invalid("map", coded.Errorf("reconcile.map_mch_id", "names a column of mch_id, and no number of the account is known: leave it out, or give the account one (seller_id at Alipay)"))
	}
	read := at.of(in.Bill).Read
	if m != nil {
		columns := *m
		columns.RefundNoAlone = in.NoRefunds || in.Bill == FundFlow
		read = func(r io.Reader) iter.Seq2[bill.Line, error] { return bill.ReadCSV(r, columns) }
	}
	text := bufio.NewReader(file)
	if magic, _ := text.Peek(2); string(magic) == "\x1f\x8b" {
		return Run{}, invalid("file", coded.Errorf("reconcile.gzip", "is compressed with gzip: unpack it, and give the text"))
	}
	h, run, err := r.begin(ctx, in, FromFile)
	if err != nil {
		return Run{}, err
	}
	w := r.writer(&run, func() bool { return true })
	failed, err := w.compare(ctx, &q, []bill.Bill{{Account: at.Identity, Owner: at.Owner, Lines: read(text)}})
	switch {
	case err == nil && ctx.Err() != nil:
		err = ctx.Err()
	case err == nil && len(failed) > 0:
		err = invalid("file", failed[0].Err)
	case errors.Is(err, bill.ErrOneOrder):
		err = invalid("file", err)
	case err == nil && !in.Unknown && strange(&w.counts, in.NoRefunds):
		err = invalid("file", coded.Errorf("reconcile.unknown", "does not say whose bill it is, and none of its lines agrees with an order: %d of %d are missing here. If it is the bill of this account, compare it with unknown=true (--unknown)", w.counts.Differences[bill.MissingHere], w.counts.Payments+w.counts.Refunds))
	case err == nil:
		err = w.finish(ctx)
	}
	if err != nil {
		w.discard(ctx)
		return Run{}, err
	}
	run.State = Done
	if err := r.save(ctx, h, run, store.AuditOf(in.By, run.Created, "reconcile", target(run.ID))); err != nil {
		return Run{}, err
	}
	r.swept(ctx, &h.Run)
	return h.Run, nil
}

// fewLines is the number of lines below which a bill may have nothing that is known here.
const fewLines = 100

// strange reports whether a bill is probably another account's: it does not say whose it is, none
// of its lines agrees, and most are missing here.
func strange(n *bill.Counts, noRefunds bool) bool {
	lines := n.Payments
	if !noRefunds {
		lines += n.Refunds
	}
	return n.Owned == 0 && n.Matched == 0 && lines >= fewLines && 2*n.Differences[bill.MissingHere] > lines
}

// Get returns a run. It returns bellman.ErrNotFound if there is none.
func (r *Runs) Get(ctx context.Context, id string) (Run, error) {
	h, err := r.read(ctx, id)
	if err != nil {
		return Run{}, err
	}
	return h.Run, nil
}

// List returns up to limit runs, those of the newest days first.
func (r *Runs) List(ctx context.Context, limit int) ([]Run, error) {
	heads, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	runs := make([]Run, 0, min(len(heads), limit))
	for _, h := range slices.Backward(heads) {
		if len(runs) == limit {
			break
		}
		runs = append(runs, h.Run)
	}
	return runs, nil
}

// Settle requests one query about each order that differs. It returns bellman.ErrConflict if the
// run has no result yet, or is being compared again. A second request asks about what was not asked
// about before.
func (r *Runs) Settle(ctx context.Context, id string, by bellman.By) (Run, error) {
	h, err := r.read(ctx, id)
	if err != nil {
		return Run{}, err
	}
	if !h.current() || h.State != Done && h.State != Failed {
		return Run{}, coded.Errorf("reconcile.unfinished", "%w: the reconciliation is %s: settle it when it is done", bellman.ErrConflict, h.State)
	}
	if h.Settling.State == Running {
		return h.Run, nil
	}
	run := h.Run
	run.Settling.State, run.Settling.Created, run.Settling.Finished = Running, now(), time.Time{}
	run.Settling.Who, run.Settling.Reason, run.Settling.From = by.Who, by.Reason, by.From
	if err := r.save(ctx, h, run, store.AuditOf(by, run.Settling.Created, "settle", target(id))); err != nil {
		return Run{}, err
	}
	r.wake.Wake()
	return h.Run, nil
}

// errLost ends the work on a run because another process leads now.
var errLost = fmt.Errorf("another node leads: %w", bellman.ErrFenced)
