package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/internal/bill"
)

// A Run is the comparison of a queue's orders with the bills of one day. Its JSON is the stored
// document.
type Run struct {
	ID      string `json:"id"` // the date and a hash of the queue, account, date and source
	Queue   string `json:"queue"`
	Account string `json:"account,omitempty"` // the registered account that is compared; empty: all of the queue, or those of a file
	Date    string `json:"date"`              // such as 2026-11-21, UTC+8
	Source  string `json:"source"`

	Bill BillKind `json:"bill"`

	NoRefunds bool   `json:"no_refunds,omitempty"` // refunds are not compared
	Daily     bool   `json:"daily,omitempty"`      // the queue's daily job started it
	Alarm     string `json:"alarm,omitempty"`      // the queue whose task reports the result; empty: none
	Who       string `json:"who,omitempty"`
	Reason    string `json:"reason,omitempty"`
	From      string `json:"from,omitempty"` // the address of the caller; empty: unknown

	State    State     `json:"state"`
	Created  time.Time `json:"created"`           // of the newest request
	Finished time.Time `json:"finished,omitzero"` // of the newest result; zero: there is none
	Next     time.Time `json:"next,omitzero"`     // of a waiting run: when the bill is asked for again
	Tries    int       `json:"tries,omitempty"`   // in vain, since Created
	Error    string    `json:"error,omitempty"`   // of the last try; empty: none

	Bills int    `json:"bills,omitempty"` // that were compared for the newest result
	Left  []Left `json:"left,omitempty"`  // accounts that were not compared, or not in full, since Created

	// Partial says that the newest result is of the newest request, and lacks what Left says.
	Partial bool `json:"partial,omitempty"`

	Counts bill.Counts `json:"counts"`         // of the newest result
	Edge   int         `json:"edge,omitempty"` // differences that may be in the neighbouring bill
	Kept   int         `json:"kept"`           // differences that are kept; Counts is exact beyond maxKept

	Token string `json:"token,omitempty"` // of the pages of the newest result
	Pages int    `json:"pages,omitempty"`

	Settling Settling `json:"settling,omitzero"`
}

// Total returns the number of differences.
func (r *Run) Total() (n int) {
	for _, of := range r.Counts.Differences {
		n += of
	}
	return n
}

// A Left is an account whose orders a result lacks, or some of them.
type Left struct {
	Account string `json:"account"` // its name; empty: the queue's own
	Error   string `json:"error"`

	// Identity is the account that the orders have; its name may be another one's since. Empty: not
	// known.
	Identity string `json:"identity,omitempty"`

	// Compared says that its bill was compared, but without the bill of the day before: the result
	// lacks what that bill left to this day. Another request compares the day again.
	Compared bool `json:"compared,omitempty"`

	// Gone says that no name leads to the account any more: only a person can help, and another
	// request compares the day again.
	Gone bool `json:"gone,omitempty"`
}

// over reports whether nothing that is left can be asked for again.
func (r *Run) over() bool {
	return len(r.Left) > 0 && !slices.ContainsFunc(r.Left, func(l Left) bool { return !l.Compared && !l.Gone })
}

// gone reports whether all accounts that are left are gone.
func (r *Run) gone() bool {
	return len(r.Left) > 0 && !slices.ContainsFunc(r.Left, func(l Left) bool { return !l.Gone })
}

// current reports whether the result is of the newest request.
func (r *Run) current() bool { return r.State == Done || r.Partial }

// A BillKind is a kind of bill. Empty is TradeBill in a request.
type BillKind string

// The kinds of bills.
const (
	TradeBill BillKind = "trade"     // payments and refunds
	FundFlow  BillKind = "fund_flow" // what reached and left the account: WeChat Pay alone has it
)

// The sources of bills.
const (
	FromChannel = "channel"
	FromFile    = "file"
)

// A State is the state of a run.
type State string

// The states of a run.
const (
	Waiting State = "waiting" // for its turn, or for the bill
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed" // a bill could not be had within 10 hours, or that of the day before in several tries
)

// Settling is the progress of asking about each order that differs. The zero Settling was not
// requested.
type Settling struct {
	State    State     `json:"state,omitempty"` // running or done
	Who      string    `json:"who,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	From     string    `json:"from,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	Finished time.Time `json:"finished,omitzero"`

	Asked   int `json:"asked,omitempty"`   // orders that the channel was asked about
	Settled int `json:"settled,omitempty"` // differences that are none any more
	Failed  int `json:"failed,omitempty"`  // orders without a usable answer
}

// An Item is one difference, as it is kept.
type Item struct {
	Number int `json:"number"` // from 1
	bill.Difference
	Asked *Asked `json:"asked,omitempty"` // nil: the channel was not asked about the order since
}

// Asked is what the query about an order of a difference found.
type Asked struct {
	At      time.Time `json:"at"`
	State   string    `json:"state,omitempty"`   // of the order after it
	Reading string    `json:"reading,omitempty"` // of the channel's answer; empty: it cannot be read
	Settled bool      `json:"settled,omitempty"` // the order agrees with the bill now
	Error   string    `json:"error,omitempty"`
}

const (
	// maxKept is the number of differences that a run keeps. All are counted.
	maxKept = 100_000

	// Keep is how long a run is kept after its newest request.
	Keep = 90 * 24 * time.Hour

	// After is how long after the day an order may be created to be looked for in the bill.
	After = 24 * time.Hour

	// patience is how long a bill is asked for again.
	patience = 10 * time.Hour

	pageSize = 100 // differences of one document, and orders of one read
)

// runID returns the id of a run.
func runID(in *Request, source string) string {
	text := in.Queue + "\x00" + in.Date + "\x00" + source
	if in.Account != "" {
		text += "\x00" + in.Account
	}
	if in.Bill == FundFlow {
		text += "\x00\x00" + string(FundFlow) // no account has this name
	}
	sum := sha256.Sum256([]byte(text))
	return in.Date + "-" + hex.EncodeToString(sum[:8])
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// target returns the name of a run in audit records.
func target(id string) string { return "reconciliation/" + id }
