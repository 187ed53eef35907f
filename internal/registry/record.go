package registry

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// record returns the audit record of a change. was is nil if the entry was created, is is nil if it
// was deleted.
func (r *Registry[T, P, K]) record(by bellman.By, at time.Time, action string, was, is *T) store.Audit {
	id := ""
	for _, e := range [...]*T{was, is} {
		if e != nil {
			id = P(e).head().ID
		}
	}
	a := store.AuditOf(by, at, action, r.target(id))
	before, after := r.recorded(was), r.recorded(is)
	for i := range before {
		if before[i][1] != after[i][1] {
			a.Changes = append(a.Changes, store.Changed{Field: before[i][0], Before: before[i][1], After: after[i][1]})
		}
	}
	return a
}

func (r *Registry[T, P, K]) recorded(e *T) [][2]string {
	if e == nil {
		e = new(T)
	}
	return r.kind.Recorded(e)
}

// target returns the name of an entry in audit records.
func (r *Registry[T, P, K]) target(id string) string { return r.kind.Name + "/" + id }
