package redis

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// Commit writes b as one transaction.
func (s *Store) Commit(ctx context.Context, b *store.Batch) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(b.Leases)+len(b.Adds)+len(b.Changes)+len(b.Docs)+len(b.Audits) == 0 {
		return nil
	}
	err := s.commit(ctx, b, takeIn, b.Adds)
	if errors.Is(err, bellman.ErrFull) && !b.Whole() {
		// Outcomes are recorded all the same: the memory above maxmemory is for them.
		full := err
		if err = nil; len(b.Changes)+len(b.Docs)+len(b.Audits) > 0 {
			err = s.commit(ctx, b, commit, nil)
		}
		if err == nil {
			for i := range b.Adds {
				b.Adds[i].Existing, b.Adds[i].Err = bellman.ID{}, full
			}
		}
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	s.count.commits.Add(1)
	return nil
}

// commit writes b with some of its adds, and records the result of each.
func (s *Store) commit(ctx context.Context, b *store.Batch, sc script, adds []store.Add) error {
	if len(adds) == 0 {
		sc = commit
	}
	c := call{args: make([]any, 0, 8+3*len(b.Leases)+9*len(adds)+11*len(b.Changes)), s: s}
	if err := s.readPlaces(ctx, b, &c.places); err != nil {
		return err
	}
	c.leases(b.Leases)
	c.docsWere(b.Docs)
	c.adds(adds)
	c.changes(b.Changes)
	c.docs(b.Docs)
	c.put(len(b.Audits))
	for i := range b.Audits {
		if err := c.audit(&b.Audits[i]); err != nil {
			return err
		}
	}
	if c.err != nil {
		return c.err
	}
	reply, err := s.run(ctx, sc, c.args...)
	if err != nil {
		return err
	}
	said, is := reply.([]any)
	if !is || len(said) != c.results {
		return fmt.Errorf("%w: redis answered %d results of %d", bellman.ErrUnknown, len(said), c.results)
	}
	note(b, adds, said)
	return nil
}

// note sets the outcome of each add and change from the reply of the script.
func note(b *store.Batch, adds []store.Add, said []any) {
	next := 0
	take := func() string {
		next++
		return text(said, next-1)
	}
	for i := range adds {
		if adds[i].Err == nil {
			added(&adds[i], take())
		}
	}
	for i := range b.Changes {
		ch := &b.Changes[i]
		switch take() {
		case "":
			ch.Err = nil
			ch.To.Version = ch.Version + 1
		case "N":
			ch.Err = bellman.ErrNotFound
		default:
			ch.Err = bellman.ErrConflict
		}
		for j := range ch.Follow {
			if ch.Follow[j].Err != nil {
				continue // it was not sent
			}
			if told := take(); ch.Err == nil {
				added(&ch.Follow[j], told)
			}
		}
	}
}

// added sets the outcome of an add from its part of the reply.
func added(a *store.Add, said string) {
	a.Existing = bellman.ID{}
	if len(said) == 17 {
		a.Existing = bellman.ID([]byte(said[1:]))
	}
	switch {
	case strings.HasPrefix(said, "K"):
		a.Err = bellman.ErrKeyTaken
	case strings.HasPrefix(said, "A"):
		a.Err = bellman.ErrAliasTaken
	}
}

// A call holds the arguments of a commit's script.
type call struct {
	s       *Store
	args    []any
	results int // number of results in the reply
	places  places
	err     error
}

func (c *call) put(args ...any) { c.args = append(c.args, args...) }

func (c *call) leases(list []store.Lease) {
	c.put(len(list))
	for _, l := range list {
		c.put(int(l.Shard), l.Epoch, l.Mark)
	}
}

// docsWere appends the expected values of documents.
func (c *call) docsWere(docs []store.Doc) {
	at := len(c.args)
	c.put(0)
	n := 0
	for _, d := range docs {
		if d.Was != nil {
			c.put(d.Kind, d.Name, d.Was)
			n++
		}
	}
	c.args[at] = n
}

func (c *call) docs(docs []store.Doc) {
	c.put(len(docs))
	for _, d := range docs {
		gone := ""
		if d.Value == nil {
			gone = "x"
		}
		c.put(d.Kind, d.Name, gone, d.Value)
	}
}

// adds appends the valid adds, and sets the error of the others.
func (c *call) adds(list []store.Add) {
	at := len(c.args)
	c.put(0)
	n := 0
	for i := range list {
		a := &list[i]
		a.Existing = bellman.ID{}
		if a.Err = check(a.Task); a.Err != nil {
			continue
		}
		if !a.Moved || a.Task.Place == 0 {
			a.Task.Place = c.places.take(a.Task)
		}
		c.put(a.Task.ID[:], keyOf(a.Task.Queue, a.Task.Key), keyOf("", a.Task.Alias()), score(&a.Task.Status), packRow(a.Task, a.Digest), listOf(a.Task.MerchantNo), listOf(a.Task.OrderNo))
		c.chain(a.Task.Ordering(), a.Task.Place)
		c.results++
		n++
	}
	c.args[at] = n
}

func (c *call) changes(list []store.Change) {
	c.put(len(list))
	for i := range list {
		ch := &list[i]
		to := ch.To
		to.Version = ch.Version + 1
		var last []byte
		if ch.Attempt != nil {
			last = packAttempt(ch.ID, ch.Attempt)
		}
		c.put(ch.ID[:], binary.BigEndian.AppendUint32(nil, ch.Version), appendHead(nil, &to), score(&to),
			packStatus(nil, &to, pack.Created(ch.ID)), last)
		c.chain(ch.Ordering, to.Place)
		if ch.Audit == nil {
			c.put("", "")
		} else if err := c.audit(ch.Audit); err != nil {
			c.err = err
		}
		c.results++
		c.adds(ch.Follow)
	}
}

func (c *call) audit(a *store.Audit) error {
	kept := *a
	kept.At = pack.FromMilli(a.At.UnixMilli())
	record, err := json.Marshal(&kept)
	if err != nil {
		return fmt.Errorf("audit record: %w", err)
	}
	c.put(a.At.UnixMilli(), record)
	return nil
}

// score orders a task among those of its state: by VisibleAt while it is pending, then by its end.
func score(st *bellman.Status) string {
	if st.State.Ended() {
		return strconv.FormatInt(st.Finished.UnixMilli(), 10)
	}
	return strconv.FormatInt(st.VisibleAt.UnixMilli(), 10)
}
