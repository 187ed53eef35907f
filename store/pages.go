package store

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
)

// Pages reads tasks, documents and audit records for people and jobs, a page at a time, and deletes
// old tasks. A limit of zero or less reads nothing.
type Pages interface {
	// Find returns the task of each key, in the order of keys. An element is zero if no task has
	// the key. A Key without a Queue is an alias.
	Find(ctx context.Context, keys []Key) ([]Found, error)

	// List reads tasks that f chooses, with Last, newest first, at most limit. It starts below the
	// id before; zero: at the newest. It looks at a bounded number of rows. So a page may be short,
	// even empty, although more follow. next is where the next page starts; zero: there is none.
	List(ctx context.Context, f Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error)

	// Docs reads documents that f chooses, in order of their names, at most limit.
	Docs(ctx context.Context, f DocFilter, limit int) ([]Doc, error)

	// Depths counts the tasks of each queue that has any, by state, in order of the queues' names.
	// It is exact: it counts every commit that has returned.
	Depths(ctx context.Context) ([]Depth, error)

	// Audits reads audit records that are older than before (zero: from the newest), newest first,
	// at most limit. All records of the last one's millisecond are in the same page, even above
	// limit.
	Audits(ctx context.Context, before time.Time, limit int) ([]Audit, error)

	// Prune deletes tasks, and their attempts, that ended in state and finished before a time, at
	// most limit. It returns how many it deleted. Fewer than limit: no more are left, except for up
	// to ten minutes tasks that finished before others that were deleted already. Pending is
	// an error. The keys and aliases of deleted tasks are free again.
	Prune(ctx context.Context, state bellman.State, before time.Time, limit int) (int, error)
}

// A Key names a task: it is unique in its queue. If Queue is empty, Key is the task's alias. An
// empty Key.Key names none.
type Key struct {
	Queue, Key string
}

// A Found is the task that has a key or an alias.
type Found struct {
	ID     bellman.ID     // zero: no task has the key
	Digest bellman.Digest // as it was given when the task was added; zero for an alias
}

// A Filter chooses tasks. Zero fields choose all.
type Filter struct {
	Queue      string         `json:"queue,omitempty"`
	Key        string         `json:"key,omitempty"`
	State      *bellman.State `json:"state,omitempty"`
	MerchantNo string         `json:"merchant_no,omitempty"`
	OrderNo    string         `json:"order_no,omitempty"`
	Event      string         `json:"event,omitempty"`
	URLHost    string         `json:"url_host,omitempty"` // host, or host:port, of the task's URL; upper and lower case are the same

	CreatedFrom time.Time `json:"created_from,omitzero"` // inclusive
	CreatedTo   time.Time `json:"created_to,omitzero"`   // exclusive

	// Brief chooses the same tasks, and asks for less of each: only ID, Queue and Status without
	// Data. The other fields may be missing.
	Brief bool `json:"-"`
}

// Fits reports whether f chooses a task.
func (f *Filter) Fits(t *bellman.Task) bool {
	same := func(want, have string) bool { return want == "" || want == have }
	return same(f.Queue, t.Queue) && same(f.Key, t.Key) && same(f.MerchantNo, t.MerchantNo) && same(f.OrderNo, t.OrderNo) && same(f.Event, t.Event) &&
		(f.State == nil || *f.State == t.State) && f.AtHost(t.URL) &&
		(f.CreatedFrom.IsZero() || t.ID.Compare(bellman.FirstID(f.CreatedFrom)) >= 0) &&
		(f.CreatedTo.IsZero() || t.ID.Compare(bellman.FirstID(f.CreatedTo)) < 0)
}

// LastID is above the ids of all tasks.
var LastID = bellman.ID(bytes.Repeat([]byte{0xff}, len(bellman.ID{})))

// IDs returns between which ids the tasks were created that f chooses: from low on, and below high.
// below is another bound; zero: there is none.
func (f *Filter) IDs(below bellman.ID) (low, high bellman.ID) {
	high = LastID
	if !below.IsZero() {
		high = below
	}
	if !f.CreatedFrom.IsZero() {
		low = bellman.FirstID(f.CreatedFrom)
	}
	if !f.CreatedTo.IsZero() {
		if to := bellman.FirstID(f.CreatedTo); to.Compare(high) < 0 {
			high = to
		}
	}
	return low, high
}

// AtHost reports whether f chooses tasks of this URL.
func (f *Filter) AtHost(address string) bool {
	if f.URLHost == "" {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && (strings.EqualFold(u.Host, f.URLHost) || strings.EqualFold(u.Hostname(), f.URLHost))
}

// A DocFilter chooses documents of one kind.
type DocFilter struct {
	Kind  string
	Name  string // of one document; empty: all
	After string // only names above this one
}

// A Depth counts the tasks of one queue.
type Depth struct {
	Queue                                 string
	Pending, Succeeded, Failed, Cancelled int64
}

// DocOf returns a document with v as its value, in JSON. It panics if v cannot be written as JSON.
func DocOf(kind, name string, v any) Doc {
	value, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return Doc{Kind: kind, Name: name, Value: value}
}

// A DocReader reads documents. Every [Store] is one.
type DocReader interface {
	Docs(ctx context.Context, f DocFilter, limit int) ([]Doc, error)
}

// ReadDoc reads one document. [bellman.ErrNotFound]: there is none of that kind and name.
func ReadDoc(ctx context.Context, r DocReader, kind, name string) (Doc, error) {
	if name == "" {
		return Doc{}, bellman.ErrNotFound
	}
	docs, err := r.Docs(ctx, DocFilter{Kind: kind, Name: name}, 1)
	if err != nil {
		return Doc{}, err
	}
	if len(docs) == 0 {
		return Doc{}, bellman.ErrNotFound
	}
	return docs[0], nil
}

// EachDoc yields the documents of a kind with names above after, in the order of their names. It
// reads them page by page, and ends after an error.
func EachDoc(ctx context.Context, r DocReader, kind, after string) iter.Seq2[Doc, error] {
	const page = 200
	return func(yield func(Doc, error) bool) {
		for {
			docs, err := r.Docs(ctx, DocFilter{Kind: kind, After: after}, page)
			if err != nil {
				yield(Doc{}, err)
				return
			}
			for _, doc := range docs {
				if !yield(doc, nil) {
					return
				}
			}
			if len(docs) < page {
				return
			}
			after = docs[len(docs)-1].Name
		}
	}
}

// A Finder finds tasks by their keys. Every [Store] is one.
type Finder interface {
	Find(ctx context.Context, keys []Key) ([]Found, error)
}

// Lookup finds the task of a queue that has a key. If queue is empty, key is an alias.
// [bellman.ErrNotFound]: there is none.
func Lookup(ctx context.Context, f Finder, queue, key string) (bellman.ID, error) {
	found, err := f.Find(ctx, []Key{{queue, key}})
	if err != nil {
		return bellman.ID{}, err
	}
	if found[0].ID.IsZero() {
		return bellman.ID{}, bellman.ErrNotFound
	}
	return found[0].ID, nil
}
