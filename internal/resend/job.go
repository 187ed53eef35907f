package resend

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
)

// A Job is a bulk resend. Its JSON is the stored document.
type Job struct {
	ID     bellman.ID        `json:"id"`
	Filter Pick              `json:"filter"` // CreatedTo is never after Created, so the job has an end
	Mode   engine.ResendMode `json:"mode"`
	Rate   float64           `json:"rate"` // tasks per second
	Who    string            `json:"who"`  // the name of the API key; empty: authentication is off
	Reason string            `json:"reason"`
	From   string            `json:"from,omitempty"` // the address of the caller; empty: unknown

	State    State     `json:"state"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`           // when it was saved
	Since    time.Time `json:"since,omitzero"`    // from then on tasks beyond Cursor may have been resent; zero: from Updated on
	Finished time.Time `json:"finished,omitzero"` // zero while running

	Cursor bellman.ID `json:"cursor,omitzero"` // all tasks from this one on are done; zero: none is
	Total  int64      `json:"total,omitempty"` // tasks that matched at the start; 0: not counted yet
	More   bool       `json:"more,omitempty"`  // there were more than Total

	Examined  int64  `json:"examined"` // tasks that matched so far: the sum of the next three
	Resent    int64  `json:"resent"`
	Skipped   int64  `json:"skipped"` // deleted, superseded, or no longer matching when their turn came
	Failed    int64  `json:"failed"`  // could not be resent
	LastError string `json:"last_error,omitempty"`
}

// A State is the state of a bulk resend.
type State string

// The states of a bulk resend.
const (
	Running   State = "running"
	Done      State = "done"
	Cancelled State = "cancelled"
)

// A Count says what a bulk resend would touch.
type Count struct {
	Tasks     int             // matching tasks, as far as they were counted
	More      bool            // there may be more than Tasks
	Merchants int             // distinct merchants among Tasks; tasks without a merchant count as one more
	Top       []MerchantCount // the merchants with the most tasks, at most ten; never nil
	Oldest    time.Time       // zero if there are no tasks
	Newest    time.Time
}

// A MerchantCount is the number of tasks of one merchant.
type MerchantCount struct {
	MerchantNo string // empty: tasks without a merchant
	Tasks      int
}
