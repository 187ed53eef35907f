package registry

import (
	"context"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/store"
)

// An Imported is the result for one entry of an import.
type Imported struct {
	ID      string
	Created bool
	Changed bool  // created or changed
	Err     error // *bellman.Invalid, or *ChangedError
}

// Import registers or changes entries. All valid ones are written in one transaction; invalid ones
// do not stop the others. Repeating an import changes nothing. With dry it only reports what it
// would do. The results are in the order of wanted.
func (r *Registry[T, P, K]) Import(ctx context.Context, wanted []Request[T], dry bool, by bellman.By) (results []Imported, err error) {
	err = r.retry(func() error {
		results, err = r.take(ctx, wanted, dry, by)
		return err
	})
	return results, err
}

func (r *Registry[T, P, K]) take(ctx context.Context, wanted []Request[T], dry bool, by bellman.By) ([]Imported, error) {
	now := moment()
	results := make([]Imported, len(wanted))
	b := &store.Batch{}
	before := make(map[string]int, len(wanted))
	by.Job = "batch/" + bellman.NewID().String()
	for i := range wanted {
		w, result := wanted[i], &results[i]
		id, _, _ := w.Names()
		result.ID = id
		if at, twice := before[id]; twice && id != "" {
			bad := new(bellman.Invalid)
			bad.Note(r.kind.IDField, coded.Errorf("registry.twice", "stands in this batch already, as number %d: want each once", at+1))
			result.Err = bad
			continue
		}
		before[id] = i
		e, was, changed, err := r.made(ctx, w, now)
		switch err.(type) {
		case nil, *bellman.Invalid, *ChangedError:
		default:
			return nil, err
		}
		if result.Err = err; err != nil {
			continue
		}
		result.Created = was == nil
		result.Changed = changed
		if !result.Changed {
			continue
		}
		r.write(b, &e, was)
		b.Audits = append(b.Audits, r.record(by, now, actionImport, was, &e))
	}
	if dry || len(b.Audits) == 0 {
		return results, nil
	}
	return results, r.commit(ctx, b, "keep "+r.kind.Name+"s")
}
