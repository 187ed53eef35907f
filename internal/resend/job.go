package resend

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
)

// A Job is a bulk resend: many tasks that are being sent again. As JSON it is
// what a store keeps.
type Job struct {
	ID     bellman.ID        `json:"id"`
	Filter Pick              `json:"filter"` // CreatedTo is never after Created: the job has an end
	Mode   engine.ResendMode `json:"mode"`
	Rate   float64           `json:"rate"` // tasks a second
	Who    string            `json:"who"`  // the key's name; empty: nobody had to say
	Reason string            `json:"reason"`
	From   string            `json:"from,omitempty"` // the address of who asked for it; empty: not known

	State    State     `json:"state"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`           // when it was saved
	Finished time.Time `json:"finished,omitzero"` // zero while running

	Cursor bellman.ID `json:"cursor,omitzero"` // all tasks from this one on are done; zero: none is
	Total  int64      `json:"total,omitempty"` // tasks that fitted when it was begun; 0: not counted yet
	More   bool       `json:"more,omitempty"`  // there were more than Total

	Examined  int64  `json:"examined"` // tasks that fitted: the sum of the next three
	Resent    int64  `json:"resent"`
	Skipped   int64  `json:"skipped"` // gone, superseded, or not chosen any more, by the time it was their turn
	Failed    int64  `json:"failed"`  // could not be resent
	LastError string `json:"last_error,omitempty"`
}

// A State says whether a bulk resend goes on.
type State string

// The states of a bulk resend.
const (
	Running   State = "running"
	Done      State = "done"
	Cancelled State = "cancelled"
)

// A Count says what a bulk resend would touch.
type Count struct {
	Tasks     int             // that fit, as far as they were counted
	More      bool            // there may be more than Tasks
	Merchants int             // distinct ones among Tasks; no merchant is one too
	Top       []MerchantCount // those with most tasks, ten at most; never nil
	Oldest    time.Time       // zero if there are no tasks
	Newest    time.Time
}

// A MerchantCount is a merchant's share of tasks.
type MerchantCount struct {
	MerchantNo string // empty: tasks that name no merchant
	Tasks      int
}
