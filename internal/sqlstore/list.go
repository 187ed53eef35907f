package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Limits of one call of List: up to listMost rows within listTime. Steps grow to listStep and
// shrink to fit the remaining time. A queue or an event has no index, so rare values are searched
// among all tasks.
const (
	listMost  = 50_000
	listStep  = 1024
	listLeast = 64
	listTime  = 25 * time.Millisecond
)

// List reads the tasks that match f, newest first. It scans the narrowest index that f allows: a
// key, an order, a merchant, a host, a state, or all tasks.
func (s *Store) List(ctx context.Context, f store.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	if err := s.enter(); err != nil {
		return nil, next, err
	}
	defer s.leave()
	if limit <= 0 {
		return nil, before, nil
	}
	low, high := f.IDs(before)
	by, err := s.narrowest(ctx, f, low, high)
	if err != nil {
		return nil, next, err
	}
	seen, step, began := 0, min(max(limit, 64), listStep), time.Now()
	for low.Compare(high) < 0 {
		n, stepped := step, time.Now()
		ids, err := s.candidates(ctx, f, by, low, high, n)
		if err != nil {
			return nil, next, err
		}
		chosen, err := s.choose(ctx, f, by, ids)
		if err != nil {
			return nil, next, err
		}
		for len(chosen) > 0 {
			part, read := chosen, s.brief
			if !f.Brief {
				part, read = chosen[:min(len(chosen), limit-len(tasks))], s.whole
			}
			chosen = chosen[len(part):]
			page, err := read(ctx, part, f.State)
			if err != nil {
				return nil, next, err
			}
			for _, t := range page {
				if t != nil && len(tasks) < limit { // its state may have changed since
					tasks = append(tasks, t)
				}
			}
			if len(tasks) == limit {
				if last := tasks[limit-1].ID; len(ids) == n || last != ids[len(ids)-1] {
					next = last
				}
				return tasks, next, nil
			}
		}
		if len(ids) < n {
			return tasks, bellman.ID{}, nil
		}
		high = ids[len(ids)-1]
		took, left := time.Since(stepped), listTime-time.Since(began)
		if seen += len(ids); seen >= listMost || left <= 0 {
			return tasks, high, nil
		}
		step = min(2*step, listStep, max(listLeast, int(float64(step)*float64(left)/float64(max(took, 1)))))
	}
	return tasks, bellman.ID{}, nil
}

// An index is the one that a list scans.
type index int

const (
	byID index = iota
	byState
	byHost
	byMerchant
	byOrder
	byTaskKey
)

// fewPending is the number of pending tasks below which a list reads them all, instead of all tasks
// of a merchant or a host.
const fewPending = listStep

// manyAge is how long narrowest relies on its count if that was fewPending. A list of merchants
// asks for each of them.
const manyAge = 10 * time.Second

// narrowest returns the narrowest index for f. Of a merchant's or a host's many tasks few may be
// pending, and no index has both. If few tasks are pending at all, their index is the narrowest.
func (s *Store) narrowest(ctx context.Context, f store.Filter, low, high bellman.ID) (index, error) {
	switch {
	case f.Key != "":
		return byTaskKey, nil
	case f.OrderNo != "":
		return byOrder, nil
	case f.MerchantNo == "" && f.URLHost == "" && f.State == nil:
		return byID, nil
	case f.MerchantNo == "" && f.URLHost == "":
		return byState, nil
	}
	every := low.IsZero() && high == store.LastID
	if f.State != nil && !f.State.Ended() && !(every && time.Since(time.Unix(0, s.many.Load())) < manyAge) {
		var pending int64
		err := s.read(ctx, func() []*Statement {
			return []*Statement{{Name: "count pending tasks", Args: []any{low, high, int64(fewPending)},
				Text: `SELECT COUNT(*) FROM (SELECT 1 FROM bellman_live WHERE id >= ? AND id < ? LIMIT ?) l`,
				Each: func(r Row) error { return r.Scan(&pending) }}}
		})
		if err != nil || pending < fewPending {
			return byState, err
		}
		if every {
			s.many.Store(time.Now().UnixNano())
		}
	}
	if f.MerchantNo != "" {
		return byMerchant, nil
	}
	return byHost, nil
}

// candidates returns the ids from an index, newest first.
func (s *Store) candidates(ctx context.Context, f store.Filter, by index, low, high bellman.ID, limit int) (ids []bellman.ID, err error) {
	if by == byTaskKey {
		return s.keyed(ctx, f, low, high)
	}
	text, args := `SELECT id FROM bellman_task WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ?`, []any{low, high}
	of := func(column, value string) {
		text = `SELECT id FROM bellman_task {by ` + column + `} WHERE {within ` + column + `} ORDER BY ` + column + ` DESC, id DESC LIMIT ?`
		args = []any{[]byte(value), low, []byte(value), high}
	}
	switch by {
	case byOrder:
		of("order_no", f.OrderNo)
	case byMerchant:
		of("merchant_no", f.MerchantNo)
	case byHost:
		// The index has host names only, so the port is removed.
		of("url_host", cmp.Or(hostOf("//"+f.URLHost), f.URLHost))
	case byState:
		if f.State.Ended() {
			text = `SELECT id FROM bellman_ended WHERE state = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?`
			args = []any{int64(*f.State), low, high}
		} else {
			text = `SELECT id FROM bellman_live WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ?`
		}
	}
	args = append(args, int64(limit))
	err = s.read(ctx, func() []*Statement {
		ids = nil
		return []*Statement{{Name: "list tasks", Text: text, Args: args,
			Each: func(r Row) error {
				var id bellman.ID
				err := r.Scan(&id)
				ids = append(ids, id)
				return err
			}}}
	})
	return ids, err
}

// keyed returns the ids of the tasks with the key, one per queue, newest first.
func (s *Store) keyed(ctx context.Context, f store.Filter, low, high bellman.ID) (ids []bellman.ID, err error) {
	queues := [][]byte{[]byte(f.Queue)}
	if f.Queue == "" {
		if queues, err = s.queues(ctx); err != nil || len(queues) == 0 {
			return nil, err
		}
	}
	keys := make([][]byte, len(queues))
	for i := range keys {
		keys[i] = []byte(f.Key)
	}
	err = s.read(ctx, func() []*Statement {
		ids = nil
		return []*Statement{{Name: "list tasks of a key", Text: `SELECT id FROM bellman_task WHERE (queue, task_key) IN (???)`, Args: []any{queues, keys},
			Each: func(r Row) error {
				var id bellman.ID
				err := r.Scan(&id)
				if id.Compare(low) >= 0 && id.Compare(high) < 0 {
					ids = append(ids, id)
				}
				return err
			}}}
	})
	slices.SortFunc(ids, func(a, b bellman.ID) int { return b.Compare(a) })
	return ids, err
}

// queues returns the names of all queues that have, or had, tasks.
func (s *Store) queues(ctx context.Context) (names [][]byte, err error) {
	err = s.read(ctx, func() []*Statement {
		names = nil
		return []*Statement{{Name: "read queues", Text: `SELECT queue FROM bellman_depth UNION SELECT queue FROM bellman_count`, Each: func(r Row) error {
			var name []byte
			err := r.Scan(&name)
			names = append(names, bytes.Clone(name))
			return err
		}}}
	})
	return names, err
}

// choose returns the ids whose tasks match f, in the same order. It skips conditions that the index
// has checked.
func (s *Store) choose(ctx context.Context, f store.Filter, by index, ids []bellman.ID) ([]bellman.ID, error) {
	var err error
	if f.State != nil && by != byState && !f.Brief && len(ids) > 0 {
		// Checked first, because an index answers it. A brief list checks it when it reads the
		// status, which is all that it reads.
		inState := &Statement{Name: "filter tasks by state", Text: `SELECT id FROM bellman_live WHERE id IN (??)`, Args: []any{ids}}
		if f.State.Ended() {
			inState.Text, inState.Args = `SELECT id FROM bellman_ended WHERE state = ? AND id IN (??)`, []any{int64(*f.State), ids}
		}
		if ids, err = s.among(ctx, ids, inState, func(r Row, id *bellman.ID) (bool, error) { return true, r.Scan(id) }); err != nil {
			return nil, err
		}
	}
	fits := &Statement{Name: "filter tasks", Text: `SELECT id, url FROM bellman_task WHERE id IN (??)`, Args: []any{ids}}
	and := func(column, want string) {
		if want != "" {
			fits.Text += ` AND ` + column + ` = ?`
			fits.Args = append(fits.Args, []byte(want))
		}
	}
	if by != byTaskKey {
		and("queue", f.Queue)
	}
	if by != byMerchant {
		and("merchant_no", f.MerchantNo)
	}
	if by != byOrder {
		and("order_no", f.OrderNo)
	}
	and("event", f.Event)
	if len(ids) == 0 || len(fits.Args) == 1 && f.URLHost == "" {
		return ids, nil
	}
	return s.among(ctx, ids, fits, func(r Row, id *bellman.ID) (bool, error) {
		var address []byte
		err := r.Scan(id, &address)
		return f.AtHost(string(address)), err
	})
}

// among returns the ids that the statement finds and take accepts, in the same order.
func (s *Store) among(ctx context.Context, ids []bellman.ID, found *Statement, take func(Row, *bellman.ID) (bool, error)) ([]bellman.ID, error) {
	var taken map[bellman.ID]bool
	err := s.read(ctx, func() []*Statement {
		taken = map[bellman.ID]bool{}
		found.Each = func(r Row) error {
			var id bellman.ID
			takes, err := take(r, &id)
			if takes {
				taken[id] = true
			}
			return err
		}
		return []*Statement{found}
	})
	return slices.DeleteFunc(slices.Clone(ids), func(id bellman.ID) bool { return !taken[id] }), err // the caller goes on from the last of ids
}
