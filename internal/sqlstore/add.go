package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// An inserter inserts the cold rows of new tasks, and finds out which tasks are new.
type inserter struct {
	g       *stage
	pending []*store.Add
	round   []*store.Add // tasks whose rows are sent: one per key and id
	insert  *Statement
	have    map[bellman.ID]int64 // the batch number that inserted each id
	holders map[named]holder
	refused map[*store.Add]bool // tasks of this round whose alias is taken
}

// named is a queue and a key.
type named struct{ queue, key string }

// holder is the task that holds a key.
type holder struct {
	id     bellman.ID
	digest string
}

// newInserter prepares adds, and rejects invalid adds at once.
func newInserter(g *stage, adds []*store.Add) *inserter {
	in := &inserter{g: g, holders: map[named]holder{}}
	for _, a := range adds {
		a.Existing, a.Err = bellman.ID{}, g.how.check(a.Task)
		if a.Err == nil {
			in.pending = append(in.pending, a)
		}
	}
	return in
}

// statements insert the pending adds. An add with the key, id or alias of an earlier add waits for
// the earlier outcome.
func (in *inserter) statements() []*Statement {
	in.round, in.have, in.refused = nil, nil, nil
	keys, ids, aliases := map[named]bool{}, map[bellman.ID]bool{}, map[string]bool{}
	for _, a := range in.pending {
		key, alias := named{a.Task.Queue, a.Task.Key}, a.Task.Alias()
		waits := ids[a.Task.ID] || key.key != "" && keys[key] || aliases[alias]
		keys[key], ids[a.Task.ID] = true, true
		if alias != "" {
			aliases[alias] = true
		}
		if !waits {
			in.round = append(in.round, a)
		}
	}
	if len(in.round) == 0 {
		return nil
	}
	slices.SortStableFunc(in.round, byKey)
	in.insert = coldRows(in.round, in.g.batch, Keep)
	if in.g.how.counts {
		return []*Statement{in.insert}
	}
	return []*Statement{in.insert, in.readBack()}
}

// byKey is the order of inserts. Two commits with the same keys lock in the same order, so they do
// not deadlock.
func byKey(a, b *store.Add) int {
	return cmp.Or(strings.Compare(a.Task.Queue, b.Task.Queue), strings.Compare(a.Task.Key, b.Task.Key))
}

// coldRows inserts the cold rows of tasks.
func coldRows(adds []*store.Add, batch int64, then Conflict) *Statement {
	n := len(adds)
	ids, by, rest := make([]bellman.ID, 0, n), make([]int64, 0, n), make([][]byte, 0, n)
	var texts [9][][]byte
	for i := range texts {
		texts[i] = make([][]byte, 0, n)
	}
	words := newWords(n)
	for _, a := range adds {
		t := a.Task
		ids, by, rest = append(ids, t.ID), append(by, batch), append(rest, packCold(t))
		for i, b := range [...][]byte{words.bytes(t.Queue), words.orNull(t.Key), a.Digest[:], words.orNull(t.MerchantNo), words.orNull(t.OrderNo),
			words.orNull(t.Event), words.orNull(hostOf(t.URL)), words.orNull(t.URL), t.Body} {
			texts[i] = append(texts[i], b)
		}
	}
	return &Statement{Name: "insert tasks", Insert: &Insert{Into: "bellman_task", Key: []string{"id"}, Then: then, Columns: []Column{
		{"id", ids}, {"added_by", by}, {"queue", texts[0]}, {"task_key", texts[1]}, {"digest", texts[2]}, {"merchant_no", texts[3]},
		{"order_no", texts[4]}, {"event", texts[5]}, {"url_host", texts[6]}, {"url", texts[7]}, {"body", texts[8]}, {"rest", rest}}}}
}

// readBack reads which batch inserted the rows of this round's ids. A transaction sees its own rows
// at any isolation.
func (in *inserter) readBack() *Statement {
	in.have = map[bellman.ID]int64{}
	ids := make([]bellman.ID, len(in.round))
	for i, a := range in.round {
		ids[i] = a.Task.ID
	}
	return &Statement{Name: "read back tasks", Text: `SELECT id, added_by FROM bellman_task WHERE id IN (??)`, Args: []any{ids},
		Each: func(r Row) error {
			var id bellman.ID
			var by int64
			if err := r.Scan(&id, &by); err != nil {
				return err
			}
			in.have[id] = by
			return nil
		}}
}

// readKeys reads the tasks that hold keys which other transactions inserted. If a snapshot may hide
// these tasks, readKeys locks their rows. The conflicting insert has locked them already.
func (in *inserter) readKeys(queues, keys [][]byte) *Statement {
	text := `SELECT queue, task_key, id, digest FROM bellman_task WHERE (queue, task_key) IN (???)`
	if in.g.how.locks {
		text = `SELECT queue, task_key, id, digest FROM bellman_task {by key} WHERE (queue, task_key) IN (???) FOR UPDATE`
	}
	return &Statement{Name: "read keys", Text: text, Args: []any{queues, keys}, Each: func(r Row) error {
		var queue, key, digest []byte
		var id bellman.ID
		if err := r.Scan(&queue, &key, &id, &digest); err != nil {
			return err
		}
		in.holders[named{string(queue), string(key)}] = holder{id, string(digest)}
		return nil
	}}
}

// finish settles all pending adds, after statements were sent.
func (in *inserter) finish(ctx context.Context) error {
	for len(in.pending) > 0 {
		if err := in.outcome(ctx); err != nil {
			return err
		}
		if err := in.claim(ctx); err != nil {
			return err
		}
		if err := in.settle(); err != nil {
			return err
		}
		if len(in.pending) == 0 {
			return nil
		}
		if err := in.g.tx.Send(ctx, in.statements()...); err != nil {
			return err
		}
	}
	return nil
}

// outcome determines which of this round's rows were inserted.
func (in *inserter) outcome(ctx context.Context) error {
	all := int64(len(in.round))
	if in.have == nil {
		if in.insert.Affected == all {
			in.have = map[bellman.ID]int64{}
			for _, a := range in.round {
				in.have[a.Task.ID] = in.g.batch
			}
			return nil
		}
		if err := in.g.tx.Send(ctx, in.readBack()); err != nil {
			return err
		}
	}
	var queues, keys [][]byte
	for _, a := range in.round {
		if a.Task.Key != "" && in.have[a.Task.ID] != in.g.batch {
			queues, keys = append(queues, []byte(a.Task.Queue)), append(keys, []byte(a.Task.Key))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return in.g.tx.Send(ctx, in.readKeys(queues, keys))
}

// settle sets the outcome of this round's adds, and of the adds that wait for the same keys.
func (in *inserter) settle() error {
	added := map[*store.Add]bool{}
	for _, a := range in.round {
		if in.isNew(a) && !in.refused[a] {
			added[a] = true
			in.g.added(a)
			if a.Task.Key != "" {
				in.holders[named{a.Task.Queue, a.Task.Key}] = holder{a.Task.ID, string(a.Digest[:])}
			}
		}
	}
	for a := range in.refused {
		delete(in.have, a.Task.ID)
	}
	var later []*store.Add
	for _, a := range in.pending {
		held, taken := in.holders[named{a.Task.Queue, a.Task.Key}]
		_, there := in.have[a.Task.ID]
		switch {
		case added[a], in.refused[a]:
		case taken && a.Task.Key != "":
			a.Existing = held.id
			if held.digest != string(a.Digest[:]) {
				a.Err = bellman.ErrKeyTaken
			}
		case there:
			a.Existing = a.Task.ID // the same id: the same task
		default:
			later = append(later, a)
		}
	}
	if len(later) == len(in.pending) {
		return ErrRaced // the conflicting row is gone again
	}
	in.pending = later
	return nil
}

// isNew reports whether this round inserted the cold row of a task.
func (in *inserter) isNew(a *store.Add) bool {
	by, there := in.have[a.Task.ID]
	return there && by == in.g.batch && in.g.current[a.Task.ID] == nil
}

// added records a task that this commit adds.
func (g *stage) added(a *store.Add) {
	t := a.Task
	if !a.Moved || t.Place == 0 {
		t.Place = g.places.take(t)
	}
	st := t.Status
	st.Version = max(st.Version, 1)
	g.order = append(g.order, t.ID)
	g.current[t.ID] = &current{queue: t.Queue, line: int64(store.LineOf(t.Queue, t.Endpoint)), status: &st, now: st.Version, in: st.State, order: t.Ordering()}
	g.count(t.Queue, st.State, 1)
}
