package resend

import (
	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Pick chooses tasks by what a store looks up, and by what each task that it finds
// is looked at for. Zero fields choose all.
type Pick struct {
	store.Filter
	Kind   string          `json:"kind,omitempty"`   // notify or order
	Result *bellman.Result `json:"result,omitempty"` // of the last attempt
	Status int             `json:"status,omitempty"` // HTTP status of the last attempt's answer
}

// Empty reports whether p chooses all tasks.
func (p *Pick) Empty() bool { return *p == Pick{} }

// Picky reports whether tasks that fit the Filter have to be looked at one by one.
func (p *Pick) Picky() bool { return p.Kind != "" || p.Result != nil || p.Status != 0 }

// Backwards reports whether p chooses tasks that were created from a time on and before
// an earlier one: there are none, and something else was meant.
func (p *Pick) Backwards() bool {
	return !p.CreatedTo.IsZero() && p.CreatedFrom.After(p.CreatedTo)
}

// Takes reports whether p chooses a task that fits its Filter, and has Last as
// [store.Pages] says it.
func (p *Pick) Takes(t *bellman.Task) bool {
	switch {
	case p.Kind != "" && p.Kind != t.Kind.String(),
		p.Result != nil && (t.Last == nil || t.Last.Result != *p.Result),
		p.Status != 0 && (t.Last == nil || t.Last.Status != p.Status):
		return false
	}
	return true
}
