package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// ask makes a call that reads. If the key does not exist, it returns ErrNotFound.
func ask[T any](ctx context.Context, s *Store, what string, f func(*client.Client) (T, error)) (found T, err error) {
	if err := s.enter(); err != nil {
		return found, err
	}
	defer s.leave()
	reply, err := s.do(ctx, false, func(c *client.Client) (any, error) {
		v, err := f(c)
		if errors.Is(err, client.Nil) {
			return nil, nil
		}
		return v, err
	})
	if err != nil {
		return found, fmt.Errorf("%s: %w", what, err)
	}
	found, is := reply.(T)
	if !is {
		return found, bellman.ErrNotFound
	}
	return found, nil
}

// Task reads a task.
func (s *Store) Task(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	row, err := ask(ctx, s, "read task", func(c *client.Client) (string, error) { return c.Get(ctx, s.row(id)).Result() })
	if err != nil {
		return nil, err
	}
	return parseRow(id, row)
}

// Find returns the tasks that have keys or aliases. The digest of a key's content is in the row of
// its task.
func (s *Store) Find(ctx context.Context, keys []store.Key) ([]store.Found, error) {
	all := make([]store.Found, len(keys))
	fields := make([]string, len(keys))
	for i, k := range keys {
		fields[i] = keyOf(k.Queue, k.Key)
	}
	if len(keys) == 0 {
		return all, nil
	}
	ids, err := ask(ctx, s, "find keys", func(c *client.Client) ([]any, error) { return c.HMGet(ctx, s.prefix+"k", fields...).Result() })
	if err != nil {
		return nil, err
	}
	for i := range ids {
		switch id := text(ids, i); {
		case fields[i] == "" || id == "":
		case len(id) != 16:
			return nil, pack.ErrCorrupt
		default:
			all[i].ID = bellman.ID([]byte(id))
		}
	}
	return ask(ctx, s, "read digests", func(c *client.Client) ([]store.Found, error) {
		p := c.Pipeline()
		digests := make([]*client.StringCmd, len(all))
		for i := range all {
			if !all[i].ID.IsZero() {
				digests[i] = p.GetRange(ctx, s.row(all[i].ID), int64(digestAt), headSize-1)
			}
		}
		if p.Len() == 0 {
			return all, nil
		}
		if _, err := p.Exec(ctx); err != nil {
			return nil, err
		}
		for i, d := range digests {
			switch {
			case d == nil:
			case len(d.Val()) == len(all[i].Digest) && keys[i].Queue == "": // an alias has no digest
			case len(d.Val()) == len(all[i].Digest):
				all[i].Digest = bellman.Digest([]byte(d.Val()))
			default:
				all[i] = store.Found{} // deleted meanwhile
			}
		}
		return all, nil
	})
}

// Attempts reads a task's attempts. The newest one is in the task's row, the others are in a log.
// One transaction reads both.
func (s *Store) Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error) {
	if limit <= 0 {
		return nil, nil
	}
	type both struct {
		row string
		log []string
	}
	found, err := ask(ctx, s, "read attempts", func(c *client.Client) (both, error) {
		p := c.TxPipeline()
		row := p.Get(ctx, s.row(id))
		log := p.ZRangeArgs(ctx, client.ZRangeArgs{Key: s.prefix + "l" + string(id[:]), Start: "(" + strconv.Itoa(after), Stop: "+inf", ByScore: true, Count: int64(limit)})
		_, err := p.Exec(ctx)
		return both{row.Val(), log.Val()}, err
	})
	if errors.Is(err, bellman.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var log []bellman.Attempt
	for _, text := range found.log {
		var a bellman.Attempt
		if err := parseAttempt([]byte(text), id, &a); err != nil {
			return nil, fmt.Errorf("an attempt of task %s: %w", id, err)
		}
		log = append(log, a)
	}
	t, err := parseRow(id, found.row)
	if err != nil {
		return nil, err
	}
	if t.Last != nil && t.Last.Number > after {
		log = append(log, *t.Last)
	}
	slices.SortStableFunc(log, func(a, b bellman.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	return log[:min(len(log), limit)], nil
}

// Depths counts tasks. The counts are exact.
func (s *Store) Depths(ctx context.Context) (depths []store.Depth, err error) {
	counts, err := ask(ctx, s, "count tasks", func(c *client.Client) (map[string]string, error) { return c.HGetAll(ctx, s.prefix+"n").Result() })
	if err != nil {
		return nil, err
	}
	byQueue := map[string]*store.Depth{}
	for field, number := range counts {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || field == "" || field[0] < '0' || field[0] > '3' {
			return nil, fmt.Errorf("count tasks: %w", pack.ErrCorrupt)
		}
		d := byQueue[field[1:]]
		if d == nil {
			d = &store.Depth{Queue: field[1:]}
			byQueue[d.Queue] = d
		}
		*[...]*int64{&d.Pending, &d.Succeeded, &d.Failed, &d.Cancelled}[field[0]-'0'] = n
	}
	for _, d := range byQueue {
		depths = append(depths, *d)
	}
	slices.SortFunc(depths, func(a, b store.Depth) int { return strings.Compare(a.Queue, b.Queue) })
	return depths, nil
}

// Docs reads the documents that f selects, ordered by name.
func (s *Store) Docs(ctx context.Context, f store.DocFilter, limit int) (docs []store.Doc, err error) {
	if f.Name != "" {
		return s.oneDoc(ctx, f, limit)
	}
	from := "(" + f.After
	if f.After == "" {
		from = "-"
	}
	for limit > 0 {
		names, err := ask(ctx, s, "read documents", func(c *client.Client) ([]string, error) {
			return c.ZRangeArgs(ctx, client.ZRangeArgs{Key: s.prefix + "N" + f.Kind, Start: from, Stop: "+", ByLex: true, Count: int64(limit - len(docs))}).Result()
		})
		if err != nil || len(names) == 0 {
			return docs, err
		}
		values, err := ask(ctx, s, "read documents", func(c *client.Client) ([]any, error) { return c.HMGet(ctx, s.prefix+"D"+f.Kind, names...).Result() })
		if err != nil {
			return docs, err
		}
		for i, name := range names {
			if value, is := values[i].(string); is { // it may have been deleted meanwhile
				docs = append(docs, store.Doc{Kind: f.Kind, Name: name, Value: []byte(value)})
			}
		}
		if len(docs) == limit {
			break
		}
		from = "(" + names[len(names)-1]
	}
	return docs, nil
}

// oneDoc reads the document that f names.
func (s *Store) oneDoc(ctx context.Context, f store.DocFilter, limit int) ([]store.Doc, error) {
	if limit <= 0 || f.Name <= f.After {
		return nil, nil
	}
	value, err := ask(ctx, s, "read document", func(c *client.Client) (string, error) { return c.HGet(ctx, s.prefix+"D"+f.Kind, f.Name).Result() })
	if errors.Is(err, bellman.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []store.Doc{{Kind: f.Kind, Name: f.Name, Value: []byte(value)}}, nil
}

// sequence is the length of the number at the start of each audit record. The number makes each
// record unique.
const sequence = 16

// Audits reads the newest audit records.
func (s *Store) Audits(ctx context.Context, before time.Time, limit int) (found []store.Audit, err error) {
	if limit <= 0 {
		return nil, nil
	}
	below := "+inf"
	if !before.IsZero() {
		below = "(" + strconv.FormatInt(before.UnixMilli(), 10)
	}
	read := func(from, to string, count int) error {
		page, err := ask(ctx, s, "read audit records", func(c *client.Client) ([]string, error) {
			return c.ZRangeArgs(ctx, client.ZRangeArgs{Key: s.prefix + "A", Start: to, Stop: from, ByScore: true, Rev: true, Count: int64(count)}).Result()
		})
		if err != nil {
			return err
		}
		for _, record := range page {
			var a store.Audit
			if len(record) < sequence {
				return pack.ErrCorrupt
			}
			if err := json.Unmarshal([]byte(record[sequence:]), &a); err != nil {
				return fmt.Errorf("an audit record: %w", err)
			}
			found = append(found, a)
		}
		return nil
	}
	if err := read("-inf", below, limit); err != nil || len(found) < limit {
		return found, err
	}
	// All of the last one's millisecond belong to this page.
	last := found[limit-1].At
	found = slices.DeleteFunc(found, func(a store.Audit) bool { return a.At.Equal(last) })
	at := strconv.FormatInt(last.UnixMilli(), 10)
	return found, read(at, at, -1)
}
