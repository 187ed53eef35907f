package storetest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var shardings = []promise{
	{"shards are numbered from 0, and have no owner at first", func(t *suite) {
		list := t.state("").Shards
		if len(list) < 2 {
			t.Fatalf("%d shards; want at least 2", len(list))
		}
		for i, shard := range list {
			if int(shard.Shard) != i || shard.Owner != "" || shard.Alive {
				t.Errorf("shard %d = %+v, want it without an owner", i, shard)
			}
		}
	}},
	{"a claim increases the epoch by one", func(t *suite) {
		t.join("a", time.Hour)
		epoch := t.shard(0).Epoch
		for range 3 { // a node may claim its own shard again
			lease, err := t.s.Claim(t.Context(), "a", 0, epoch)
			if err != nil || lease != (store.Lease{Shard: 0, Epoch: epoch + 1, Mark: lease.Mark}) {
				t.Fatalf("Claim() = %+v, %v; want epoch %d", lease, err, epoch+1)
			}
			epoch++
		}
		if shard := t.shard(0); shard.Owner != "a" || !shard.Alive || shard.Epoch != epoch {
			t.Errorf("shard = %+v, want a's, alive, epoch %d", shard, epoch)
		}
	}},
	{"a claim with an older epoch, or of a shard whose owner is alive, is fenced off", func(t *suite) {
		t.join("a", time.Hour)
		t.join("b", time.Hour)
		lease := t.claim("a", 0)
		_, err := t.s.Claim(t.Context(), "a", 0, lease.Epoch-1)
		t.wantErr("Claim(older epoch)", err, bellman.ErrFenced)
		_, err = t.s.Claim(t.Context(), "b", 0, lease.Epoch)
		t.wantErr("Claim(another's shard)", err, bellman.ErrFenced)
		_, err = t.s.Claim(t.Context(), "nobody", 1, t.shard(1).Epoch)
		t.wantErr("Claim(by nobody)", err, bellman.ErrFenced)
	}},
	{"an expired node's shards may be claimed, and it cannot beat again", func(t *suite) {
		t.join("b", time.Hour)
		var lease store.Lease
		for ttl := 200 * time.Millisecond; ; ttl *= 2 { // on a slow machine a short registration may expire before the claim
			t.join("a", ttl)
			var err error
			if lease, err = t.s.Claim(t.Context(), "a", 0, t.shard(0).Epoch); err == nil {
				break
			}
			if ttl > time.Minute {
				t.Fatalf("Claim() = %v of a node that joined for %v", err, ttl)
			}
			t.must(t.s.Leave(t.Context(), "a"))
		}
		for joined := time.Now(); ; <-time.After(10 * time.Millisecond) {
			_, err := t.s.Claim(t.Context(), "b", 0, lease.Epoch)
			if err == nil {
				break
			}
			t.wantErr("Claim()", err, bellman.ErrFenced)
			if late := time.Since(joined); late > 5*time.Minute {
				t.Fatalf("node a still owns its shard %v after its last heartbeat", late)
			}
		}
		if shard := t.shard(0); shard.Owner != "b" || shard.Epoch != lease.Epoch+1 {
			t.Errorf("shard = %+v, want b's, epoch %d", shard, lease.Epoch+1)
		}
		t.wantErr("Beat() of the expired", t.s.Beat(t.Context(), "a"), bellman.ErrFenced)
		_, err := t.s.Claim(t.Context(), "a", 1, t.shard(1).Epoch)
		t.wantErr("Claim() by the expired", err, bellman.ErrFenced)
		t.must(t.s.Beat(t.Context(), "b"))
	}},
	{"a node that is alive cannot join again; one that left can", func(t *suite) {
		t.join("a", time.Hour)
		lease := t.claim("a", 0)
		t.wantErr("Join() under a name that is alive", t.s.Join(t.Context(), store.Node{Name: "a"}, time.Hour), bellman.ErrConflict)
		if shard := t.shard(0); shard.Owner != "a" || !shard.Alive || shard.Lease != lease {
			t.Errorf("shard = %+v, want it still owned by a, epoch %d", shard, lease.Epoch)
		}
		t.must(t.s.Leave(t.Context(), "a"))
		t.join("a", time.Hour)
	}},
	{"a node that leaves frees its shards at once", func(t *suite) {
		t.join("a", time.Hour)
		t.join("b", time.Hour)
		t.claim("a", 0)
		t.claim("a", 1)
		t.must(t.s.Leave(t.Context(), "a"))
		if shard := t.shard(0); shard.Owner != "" || shard.Alive {
			t.Errorf("shard = %+v, want it without an owner", shard)
		}
		t.claim("b", 0)
		t.wantErr("Beat() of one who left", t.s.Beat(t.Context(), "a"), bellman.ErrFenced)
		t.must(t.s.Leave(t.Context(), "a")) // leaving again does nothing
	}},
	{"a node that releases a shard keeps the others, and the next claim fences it off", func(t *suite) {
		t.join("a", time.Hour)
		t.join("b", time.Hour)
		given, kept := t.claim("a", 0), t.claim("a", 1)
		t.must(t.s.Release(t.Context(), "a", given))
		if shard := t.shard(0); shard.Owner != "" || shard.Alive || shard.Epoch != given.Epoch {
			t.Errorf("shard = %+v, want it without an owner, still at epoch %d", shard, given.Epoch)
		}
		if shard := t.shard(1); shard.Owner != "a" || !shard.Alive || shard.Lease != kept {
			t.Errorf("shard = %+v, want it still owned by a, epoch %d", shard, kept.Epoch)
		}
		t.must(t.s.Beat(t.Context(), "a"))
		commit := func(l store.Lease) error {
			return t.s.Commit(t.Context(), &store.Batch{Leases: []store.Lease{l}, Adds: []store.Add{{Task: t.task(t0)}}})
		}
		t.must(commit(given)) // no other node has claimed it yet
		if lease := t.claim("b", 0); lease.Epoch != given.Epoch+1 {
			t.Errorf("b has epoch %d, want %d", lease.Epoch, given.Epoch+1)
		}
		t.wantErr("Commit(given back)", commit(given), bellman.ErrFenced)
		t.must(commit(kept))
	}},
	{"only the owner can release a shard, and only with its newest lease", func(t *suite) {
		t.join("a", time.Hour)
		t.join("b", time.Hour)
		old := t.claim("a", 0)
		lease := t.claim("a", 0)
		t.wantErr("Release(older epoch)", t.s.Release(t.Context(), "a", old), bellman.ErrFenced)
		t.wantErr("Release(another's)", t.s.Release(t.Context(), "b", lease), bellman.ErrFenced)
		t.wantErr("Release(epoch to come)", t.s.Release(t.Context(), "a", store.Lease{Epoch: lease.Epoch + 1}), bellman.ErrFenced)
		t.wantErr("Release(no such shard)", t.s.Release(t.Context(), "a", store.Lease{Shard: 65535, Epoch: 1}), bellman.ErrFenced)
		if shard := t.shard(0); shard.Owner != "a" || shard.Lease != lease {
			t.Errorf("shard = %+v, want it still owned by a, epoch %d", shard, lease.Epoch)
		}
		t.must(t.s.Release(t.Context(), "a", lease))
		t.wantErr("Release() again", t.s.Release(t.Context(), "a", lease), bellman.ErrFenced)
		t.wantErr("Release() of nobody's", t.s.Release(t.Context(), "", lease), bellman.ErrFenced)
	}},
	{"of two holders of one epoch, the one whose claim was lost is fenced off", func(t *suite) {
		t.join("a", time.Hour)
		t.join("b", time.Hour)
		var leases [2]store.Lease
		for shard, name := range []string{"a", "b"} {
			leases[shard] = t.claim(name, uint16(shard))
			if have := t.shard(uint16(shard)).Lease; have != leases[shard] {
				t.Errorf("State() has lease %+v, Claim() returned %+v", have, leases[shard])
			}
		}
		if leases[0].Mark == leases[1].Mark {
			t.Errorf("two nodes' claims have the same mark %q", leases[0].Mark)
		}
		commit := func(l ...store.Lease) error {
			return t.s.Commit(t.Context(), &store.Batch{Leases: l, Adds: []store.Add{{Task: t.task(t0)}}})
		}
		lost := leases[0] // as if the database had lost a claim, and b had claimed the same epoch
		lost.Mark = leases[1].Mark
		t.wantErr("Commit(lost claim)", commit(lost), bellman.ErrFenced)
		t.wantErr("Commit(lost claim, good one)", commit(lost, leases[1]), bellman.ErrFenced)
		lost.Mark = ""
		t.wantErr("Commit(no mark)", commit(lost), bellman.ErrFenced)
		t.must(commit(leases[:]...))
		// The lost claim is not valid either after the other node has released the shard. Commits
		// of that node are still accepted.
		lost.Mark = leases[1].Mark
		t.must(t.s.Release(t.Context(), "a", leases[0]))
		if have := t.shard(0); have.Lease != leases[0] || have.Owner != "" || have.Alive {
			t.Errorf("State() after the release has %+v; want lease %+v without an owner", have, leases[0])
		}
		t.wantErr("Commit(lost claim of a shard given back)", commit(lost), bellman.ErrFenced)
		t.must(commit(leases[:]...))
		t.must(t.s.Leave(t.Context(), "b"))
		other := leases[1]
		other.Mark = leases[0].Mark
		t.wantErr("Commit(lost claim of a node that left)", commit(other), bellman.ErrFenced)
		if lease := t.claim("a", 1); lease.Epoch != leases[1].Epoch+1 {
			t.Errorf("the next claim has epoch %d, want %d", lease.Epoch, leases[1].Epoch+1)
		}
	}},
	{"an old lease stays fenced off after its shard was released and claimed", func(t *suite) {
		t.join("a", time.Hour)
		old := t.claim("a", 0)
		t.must(t.s.Leave(t.Context(), "a"))
		t.join("b", time.Hour)
		t.claim("b", 0)
		task := t.task(t0)
		err := t.s.Commit(t.Context(), &store.Batch{Leases: []store.Lease{old}, Adds: []store.Add{{Task: task}}})
		t.wantErr("Commit(old lease)", err, bellman.ErrFenced)
	}},
	{"a batch with a stale lease writes nothing at all", func(t *suite) {
		t.join("a", time.Hour)
		stale, good := t.claim("a", 0), t.claim("a", 1)
		current := t.claim("a", 0)
		task, added := t.task(t0), t.task(t0)
		t.add(task)
		b := &store.Batch{
			Leases:  []store.Lease{good, stale},
			Adds:    []store.Add{{Task: added}},
			Changes: []store.Change{{ID: task.ID, Version: 1, To: ended(bellman.Failed, t0)}},
			Docs:    []store.Doc{{Kind: "pause", Name: "q", Value: []byte(`{}`)}},
			Audits:  []store.Audit{{At: t0, Who: "w"}},
		}
		t.wantErr("Commit()", t.s.Commit(t.Context(), b), bellman.ErrFenced)
		t.missing(added.ID)
		t.same(t.get(task.ID), task)
		if docs, err := t.s.Docs(t.Context(), store.DocFilter{Kind: "pause"}, 10); len(docs) != 0 || err != nil {
			t.Errorf("Docs() = %v, %v; want none", docs, err)
		}
		if records, err := t.s.Audits(t.Context(), time.Time{}, 10); len(records) != 0 || err != nil {
			t.Errorf("Audits() = %v, %v; want none", records, err)
		}
		b.Leases[1] = current
		t.commit(b)
		t.must(b.Changes[0].Err)
		t.get(added.ID)
	}},
	{"leases of shards that do not exist, or from the future, are fenced off", func(t *suite) {
		for _, lease := range []store.Lease{{Shard: 65535, Epoch: 1}, {Shard: 0, Epoch: t.shard(0).Epoch + 1}} {
			err := t.s.Commit(t.Context(), &store.Batch{Leases: []store.Lease{lease}, Adds: []store.Add{{Task: t.task(t0)}}})
			t.wantErr("Commit()", err, bellman.ErrFenced)
		}
	}},
	{"if many claim one shard at once, one of them gets it", func(t *suite) {
		const n = 8
		for i := range n {
			t.join(keyed(i), time.Hour)
		}
		epoch := t.shard(1).Epoch
		t.race(n, func(i int) bool {
			lease, err := t.s.Claim(t.Context(), keyed(i), 1, epoch)
			won := err == nil && lease.Epoch == epoch+1
			if !won && !errors.Is(err, bellman.ErrFenced) {
				t.Errorf("Claim() = %+v, %v; want epoch %d or ErrFenced", lease, err, epoch+1)
			}
			return won
		})
	}},
	{"nodes are listed with the times of their registration and heartbeat", func(t *suite) {
		start := time.Now().Add(-time.Second)
		t.must(t.s.Join(t.Context(), store.Node{Name: "b", Addr: "10.0.0.2:2355", Version: "1.2"}, time.Hour))
		t.join("a", time.Hour)
		nodes := t.state("").Nodes
		if len(nodes) != 2 || nodes[0].Name != "a" || nodes[1].Name != "b" || nodes[1].Addr != "10.0.0.2:2355" || nodes[1].Version != "1.2" {
			t.Fatalf("State() has nodes %+v, want a and b", nodes)
		}
		for _, n := range nodes {
			if n.Joined.Before(start) || n.Beat.Before(n.Joined) {
				t.Errorf("node %s joined at %v and beat at %v", n.Name, n.Joined, n.Beat)
			}
		}
		t.must(t.s.Leave(t.Context(), "b"))
		if nodes := t.state("").Nodes; len(nodes) != 1 {
			t.Errorf("State() has nodes %+v; want a only", nodes)
		}
	}},
	{"State returns all documents of a kind with nodes and shards", func(t *suite) {
		t.join("a", time.Hour)
		lease := t.claim("a", 1)
		b := &store.Batch{}
		var want []string
		for i := range 1200 { // more than a page
			name := keyed(1000 + i)
			want = append(want, name)
			b.Docs = append(b.Docs, store.Doc{Kind: "pause", Name: name, Value: []byte(name)}, store.Doc{Kind: "other", Name: name, Value: []byte("other")})
		}
		slices.SortFunc(b.Docs, func(x, y store.Doc) int { return strings.Compare(y.Name, x.Name) })
		t.commit(b)
		state := t.state("pause")
		var got []string
		for _, d := range state.Docs {
			if d.Kind != "pause" || string(d.Value) != d.Name || d.Was != nil {
				t.Fatalf("State() has the document %+v", d)
			}
			got = append(got, d.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("State() has %d documents, want %d in order of their names", len(got), len(want))
		}
		if len(state.Nodes) != 1 || state.Nodes[0].Name != "a" || state.Shards[1].Lease != lease || !state.Shards[1].Alive {
			t.Errorf("State() = nodes %+v, shard %+v; want a, and its lease %+v", state.Nodes, state.Shards[1], lease)
		}
		for i, shard := range state.Shards {
			if int(shard.Shard) != i {
				t.Fatalf("State() has shard %d at %d", shard.Shard, i)
			}
		}
		if docs := t.state("").Docs; len(docs) != 0 {
			t.Errorf("State() without a kind has %d documents; want none", len(docs))
		}
	}},
}

func (t *suite) join(name string, ttl time.Duration) {
	t.Helper()
	t.must(t.s.Join(t.Context(), store.Node{Name: name}, ttl))
}

// claim claims a shard that may be claimed, and returns the lease.
func (t *suite) claim(name string, shard uint16) store.Lease {
	t.Helper()
	lease, err := t.s.Claim(t.Context(), name, shard, t.shard(shard).Epoch)
	t.must(err)
	return lease
}

func (t *suite) shard(n uint16) store.Shard {
	t.Helper()
	return t.state("").Shards[n]
}

func (t *suite) state(kind string) store.State {
	t.Helper()
	state, err := t.s.State(t.Context(), kind)
	t.must(err)
	return state
}
