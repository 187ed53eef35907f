package sqlstore

import (
	"context"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// aliased returns the adds that have an alias, in the order of their aliases. Two commits with the
// same aliases lock in the same order, so they do not deadlock.
func aliased(adds []*store.Add) (list []*store.Add) {
	for _, a := range adds {
		if a.Task.Alias() != "" {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *store.Add) int { return strings.Compare(a.Task.Alias(), b.Task.Alias()) })
	return list
}

// aliasRows inserts the aliases of tasks. Each of them has one.
func aliasRows(adds []*store.Add, then Conflict) *Statement {
	aliases, ids := aliasesOf(adds)
	return &Statement{Name: "insert aliases", Insert: &Insert{Into: "bellman_alias", Key: []string{"alias"}, Then: then,
		Columns: []Column{{"alias", aliases}, {"id", ids}}}}
}

func aliasesOf(adds []*store.Add) (aliases [][]byte, ids []bellman.ID) {
	for _, a := range adds {
		aliases, ids = append(aliases, []byte(a.Task.Alias())), append(ids, a.Task.ID)
	}
	return aliases, ids
}

// claim inserts the aliases of the tasks that this round inserted. It deletes the cold row of a
// task whose alias another task has, and sets the task's outcome.
func (in *inserter) claim(ctx context.Context) error {
	fresh := slices.DeleteFunc(aliased(in.round), func(a *store.Add) bool { return !in.isNew(a) })
	if len(fresh) == 0 {
		return nil
	}
	own := map[string]bool{}
	insert, read := aliasRows(fresh, Keep), readOwn(fresh, own)
	first := []*Statement{insert}
	if !in.g.how.counts {
		first = append(first, read)
	}
	if err := in.g.tx.Send(ctx, first...); err != nil {
		return err
	}
	if in.g.how.counts {
		if insert.Affected == int64(len(fresh)) {
			return nil
		}
		if err := in.g.tx.Send(ctx, read); err != nil {
			return err
		}
	}
	taken := slices.DeleteFunc(fresh, func(a *store.Add) bool { return own[a.Task.Alias()] })
	if len(taken) == 0 {
		return nil
	}
	return in.refuse(ctx, taken)
}

// readOwn reads which aliases are those of these tasks. A transaction sees its own rows at any
// isolation. By the primary key it locks no other row, also where each read locks.
func readOwn(adds []*store.Add, own map[string]bool) *Statement {
	aliases, ids := aliasesOf(adds)
	return &Statement{Name: "read back aliases", Text: `SELECT alias FROM bellman_alias {by alias} WHERE (alias, id) IN (???)`, Args: []any{aliases, ids},
		Each: func(r Row) error {
			var alias []byte
			err := r.Scan(&alias)
			own[string(alias)] = true
			return err
		}}
}

// refuse deletes the cold rows of tasks whose aliases are taken, and reads by whom. If a snapshot
// may hide these rows, refuse locks them. The conflicting insert has locked them already.
func (in *inserter) refuse(ctx context.Context, taken []*store.Add) error {
	text := `SELECT id FROM bellman_alias WHERE alias = ?`
	if in.g.how.locks {
		text += ` FOR UPDATE`
	}
	var ids []bellman.ID
	var queues [][]byte
	holders := make([]bellman.ID, len(taken))
	statements := make([]*Statement, len(taken), len(taken)+1)
	for i, a := range taken {
		ids, queues = append(ids, a.Task.ID), append(queues, []byte(a.Task.Queue))
		statements[i] = &Statement{Name: "read alias", Text: text, Args: []any{[]byte(a.Task.Alias())}, Each: func(r Row) error { return r.Scan(&holders[i]) }}
	}
	statements = append(statements, &Statement{Name: "delete refused tasks", Text: deleteTasks, Args: []any{ids, queues}, Want: int64(len(ids))})
	if err := in.g.tx.Send(ctx, statements...); err != nil {
		return err
	}
	if slices.Contains(holders, bellman.ID{}) {
		return ErrRaced // a conflicting row is gone again
	}
	in.refused = make(map[*store.Add]bool, len(taken))
	for i, a := range taken {
		a.Existing, a.Err = holders[i], bellman.ErrAliasTaken
		in.refused[a] = true
	}
	return nil
}
