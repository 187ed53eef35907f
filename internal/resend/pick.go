package resend

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Pick selects tasks: by a Filter, which the store applies, and by properties that are checked
// for each task. Zero fields select all.
type Pick struct {
	store.Filter
	Kind   string          `json:"kind,omitempty"`   // notify or order
	Result *bellman.Result `json:"result,omitempty"` // of the last attempt
	Status int             `json:"status,omitempty"` // HTTP status of the last attempt's answer

	FinishedFrom time.Time `json:"finished_from,omitzero"` // ended at this time or later
}

// Empty reports whether p selects all tasks.
func (p *Pick) Empty() bool { return *p == Pick{} }

// Picky reports whether each task that matches the Filter must be checked too.
func (p *Pick) Picky() bool {
	return p.Kind != "" || p.Result != nil || p.Status != 0 || !p.FinishedFrom.IsZero()
}

// Backwards reports whether CreatedFrom is not before CreatedTo: such a range is empty, and surely
// a mistake.
func (p *Pick) Backwards() bool {
	return !p.CreatedTo.IsZero() && p.CreatedFrom.After(p.CreatedTo)
}

// Takes reports whether p selects a task that matches its Filter. Task.Last must be set as by
// [store.Pages].
func (p *Pick) Takes(t *bellman.Task) bool {
	switch {
	case p.Kind != "" && p.Kind != t.Kind.String(),
		p.Result != nil && (t.Last == nil || t.Last.Result != *p.Result),
		p.Status != 0 && (t.Last == nil || t.Last.Status != p.Status),
		t.Finished.Before(p.FinishedFrom): // zero Finished: it has not ended
		return false
	}
	return true
}
