package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// Only the database's clock decides which nodes are alive.

// given returns the owner of a shard that this node released. No node may have such a name. The
// fence still compares the owner. If two nodes reached one epoch, only the later node can commit.
func given(node string) string { return "\x00" + node }

// forgotten is the number of ttls that an expired node stays in the list.
const forgotten = 100

// unbroken checks for deleted rows of bellman_shard. A shard without a row cannot be owned, so its
// tasks are never attempted.
func (s *Store) unbroken(shards []store.Shard) error {
	at := 0
	var gone []string
	for n := range max(s.shards, len(shards)) {
		if at < len(shards) && int(shards[at].Shard) == n {
			at++
			continue
		}
		gone = append(gone, strconv.Itoa(n))
	}
	if len(gone) == 0 {
		return nil
	}
	return fmt.Errorf("rows of bellman_shard were deleted: those of shard %s, whose tasks nobody can attempt: stop all nodes, and for each INSERT INTO bellman_shard (shard, epoch, fence, owner) VALUES (N, %d, 1, '')",
		strings.Join(gone, ", "), epochAnew)
}

// epochAnew is larger than the epoch of any shard.
const epochAnew = 1 << 40

// State reads nodes, shards and documents in one statement, because idle nodes call State again and
// again. It reads each node once: a join would pass the old versions of a node's row for each
// shard.
func (s *Store) State(ctx context.Context, kind string) (st store.State, err error) {
	if err := s.enter(); err != nil {
		return st, err
	}
	defer s.leave()
	const aNode, aShard, aDoc = 0, 1, 2
	text, args := `SELECT 0 AS what, name, addr AS body, version, joined AS n1, beat AS n2, CASE WHEN expires > {now} THEN 1 ELSE 0 END AS n3 FROM bellman_node
			UNION ALL SELECT 1, owner, NULL, NULL, shard, epoch, 0 FROM bellman_shard`, []any(nil)
	if kind != "" {
		text += `
			UNION ALL SELECT 2, name, value, NULL, 0, 0, 0 FROM bellman_doc WHERE kind = ?`
		args = []any{[]byte(kind)}
	}
	var alive map[string]bool
	err = s.read(ctx, func() []*Statement {
		st, alive = store.State{}, map[string]bool{}
		return []*Statement{{Name: "read state", Text: text, Args: args, Each: func(r Row) error {
			var what, n1, n2, n3 int64
			var name, body, version []byte
			if err := r.Scan(&what, &name, &body, &version, &n1, &n2, &n3); err != nil {
				return err
			}
			switch what {
			case aNode:
				alive[string(name)] = n3 == 1
				st.Nodes = append(st.Nodes, store.Node{Name: string(name), Addr: string(body), Version: string(version), Joined: pack.FromMilli(n1), Beat: pack.FromMilli(n2)})
			case aShard:
				mark, free := strings.CutPrefix(string(name), given(""))
				shard := store.Shard{Lease: store.Lease{Shard: uint16(n1), Epoch: n2, Mark: mark}, Owner: mark}
				if free {
					shard.Owner = ""
				}
				st.Shards = append(st.Shards, shard)
			case aDoc:
				st.Docs = append(st.Docs, store.Doc{Kind: kind, Name: string(name), Value: append([]byte{}, body...)})
			}
			return nil
		}}}
	})
	for i := range st.Shards {
		st.Shards[i].Alive = alive[st.Shards[i].Owner]
	}
	slices.SortFunc(st.Nodes, func(a, b store.Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(st.Shards, func(a, b store.Shard) int { return cmp.Compare(a.Shard, b.Shard) })
	slices.SortFunc(st.Docs, func(a, b store.Doc) int { return strings.Compare(a.Name, b.Name) })
	if err == nil {
		err = s.unbroken(st.Shards)
	}
	return st, err
}

// Join registers a node. The registration expires unless the node beats at least every ttl.
// ErrConflict: a node of that name is registered and has not expired.
func (s *Store) Join(ctx context.Context, n store.Node, ttl time.Duration) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	ms := ttl.Milliseconds()
	if n.Name == "" || len(given(n.Name)) > bellman.MaxStoredName || n.Name[0] == 0 || ms <= 0 {
		return fmt.Errorf("join: node %.40q with ttl %v: want a name of at most %d bytes, the first of them not zero, and a ttl of a millisecond or more", n.Name, ttl, bellman.MaxStoredName-1)
	}
	name := []byte(n.Name)
	err := s.writeBy(ctx, s.beats, func(tx Tx) ([]*Statement, error) {
		insert := &Statement{Name: "insert node", Text: `INSERT INTO bellman_node (name, addr, version, joined, beat, beats, ttl_ms, expires)
			VALUES (?, ?, ?, {now}, {now}, 0, ?, {now} + ?)`, Args: []any{name, []byte(n.Addr), []byte(n.Version), ms, ms}}
		err := tx.Send(ctx,
			&Statement{Name: "delete node", Text: `DELETE FROM bellman_node WHERE name = ? AND expires <= {now}`, Args: []any{name}},
			&Statement{Name: "forget nodes", Text: `DELETE FROM bellman_node WHERE expires + ? * ttl_ms < {now}`, Args: []any{int64(forgotten)}},
			insert)
		if err != nil && s.d.Kind(err) == Duplicate {
			err = fmt.Errorf("%w: a node named %q is registered already", bellman.ErrConflict, n.Name)
		}
		return nil, err
	})
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	return nil
}

// Beat extends the node's registration by ttl. ErrFenced: the registration had expired.
func (s *Store) Beat(ctx context.Context, name string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	// A single statement is a transaction, and is safe to send twice.
	beat := &Statement{Name: "beat", Text: `UPDATE bellman_node SET beat = {now}, beats = beats + 1, expires = {now} + ttl_ms WHERE name = ? AND expires > {now}`,
		Args: []any{[]byte(name)}}
	if err := s.readBy(ctx, s.beats, func() []*Statement { return []*Statement{beat} }); err != nil {
		return err
	}
	if beat.Affected == 0 {
		return fmt.Errorf("%w: node %q is not registered, or expired", bellman.ErrFenced, name)
	}
	return nil
}

// Leave removes a node's registration and releases its shards.
func (s *Store) Leave(ctx context.Context, name string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	owner := []byte(name)
	err := s.write(ctx, func(Tx) ([]*Statement, error) {
		return []*Statement{
			{Name: "free shards", Text: `UPDATE bellman_shard SET owner = ? WHERE owner = ?`, Args: []any{[]byte(given(name)), owner}},
			{Name: "delete node", Text: `DELETE FROM bellman_node WHERE name = ?`, Args: []any{owner}},
		}, nil
	})
	if err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}

// Release releases one shard. ErrFenced: the lease is not the newest, or the node does not own the
// shard. Release waits for commits in flight under that lease, because their fence holds the
// shard's row.
func (s *Store) Release(ctx context.Context, name string, l store.Lease) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	release := &Statement{Name: "release", Text: `UPDATE bellman_shard SET owner = ? WHERE shard = ? AND epoch = ? AND owner = ? AND owner <> ?`,
		Args: []any{[]byte(given(name)), int64(l.Shard), l.Epoch, []byte(name), []byte{}}}
	if err := s.write(ctx, func(tx Tx) ([]*Statement, error) { return nil, tx.Send(ctx, release) }); err != nil {
		return fmt.Errorf("release shard %d: %w", l.Shard, err)
	}
	if release.Affected == 0 {
		return fmt.Errorf("%w: shard %d is not at epoch %d, or not of node %q", bellman.ErrFenced, l.Shard, l.Epoch, name)
	}
	return nil
}

// Claim assigns a shard to a node if the shard's epoch is still seen, and the owner is the node
// itself, gone or expired. Otherwise, or if the node is not registered, Claim returns ErrFenced.
func (s *Store) Claim(ctx context.Context, name string, shard uint16, seen int64) (store.Lease, error) {
	if err := s.enter(); err != nil {
		return store.Lease{}, err
	}
	defer s.leave()
	if int(shard) >= s.shards {
		return store.Lease{}, fmt.Errorf("claim shard %d: there are %d", shard, s.shards)
	}
	node := []byte(name)
	claim := &Statement{Name: "claim", Text: `UPDATE bellman_shard SET owner = ?, epoch = epoch + 1 WHERE shard = ? AND epoch = ?
			AND EXISTS (SELECT 1 FROM bellman_node n WHERE n.name = ? AND n.expires > {now})
			AND (owner = ? OR NOT EXISTS (SELECT 1 FROM bellman_node o WHERE o.name = bellman_shard.owner AND o.expires > {now}))`,
		Args: []any{node, int64(shard), seen, node, node}}
	if err := s.write(ctx, func(tx Tx) ([]*Statement, error) { return nil, tx.Send(ctx, claim) }); err != nil {
		return store.Lease{}, fmt.Errorf("claim shard %d: %w", shard, err)
	}
	if claim.Affected == 0 {
		return store.Lease{}, fmt.Errorf("%w: shard %d is not at epoch %d, or has an owner, or node %q is not registered", bellman.ErrFenced, shard, seen, name)
	}
	return store.Lease{Shard: shard, Epoch: seen + 1, Mark: name}, nil
}
