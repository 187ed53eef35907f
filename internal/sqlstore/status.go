package sqlstore

import (
	"cmp"
	"slices"

	"github.com/bellmanhq/bellman"
)

// A statusTable collects rows of bellman_live or bellman_ended.
type statusTable struct {
	ids                                                              []bellman.ID
	states, shards, looks, dues, finished, versions, lines, attempts []int64
	queues, reasons, rests, last                                     [][]byte

	words words
}

// grow makes room for n rows.
func (t *statusTable) grow(n int) {
	t.ids = make([]bellman.ID, 0, n)
	for _, numbers := range [...]*[]int64{&t.states, &t.shards, &t.looks, &t.dues, &t.finished, &t.versions, &t.lines, &t.attempts} {
		*numbers = make([]int64, 0, n)
	}
	for _, texts := range [...]*[][]byte{&t.queues, &t.reasons, &t.rests, &t.last} {
		*texts = make([][]byte, 0, n)
	}
	t.words = newWords(n)
}

func (t *statusTable) add(id bellman.ID, c *current) {
	st := c.status
	t.ids = append(t.ids, id)
	t.states = append(t.states, int64(st.State))
	t.shards = append(t.shards, int64(st.Shard))
	t.looks = append(t.looks, st.VisibleAt.UnixMilli())
	t.dues = append(t.dues, st.Due.UnixMilli())
	t.finished = append(t.finished, st.Finished.UnixMilli())
	t.versions = append(t.versions, int64(c.now))
	t.lines = append(t.lines, c.line)
	t.attempts = append(t.attempts, int64(st.Attempts))
	t.queues = append(t.queues, t.words.bytes(c.queue))
	t.reasons = append(t.reasons, t.words.orNull(st.Reason))
	t.rests = append(t.rests, packStatus(st))
	if c.last == nil {
		t.last = append(t.last, nil)
	} else {
		t.last = append(t.last, packAttempt(id, c.last))
	}
}

func (t *statusTable) live() *Statement {
	return &Statement{Name: "insert statuses", Insert: &Insert{Into: "bellman_live", Columns: []Column{
		{"id", t.ids}, {"shard", t.shards}, {"look", t.looks}, {"version", t.versions}, {"due", t.dues}, {"line", t.lines},
		{"attempts", t.attempts}, {"queue", t.queues}, {"rest", t.rests}}}}
}

func (t *statusTable) ended() *Statement {
	return &Statement{Name: "insert statuses of ended tasks", Insert: &Insert{Into: "bellman_ended", Columns: []Column{
		{"state", t.states}, {"id", t.ids}, {"finished", t.finished}, {"reason", t.reasons}, {"shard", t.shards}, {"version", t.versions},
		{"line", t.lines}, {"attempts", t.attempts}, {"queue", t.queues}, {"rest", t.rests}, {"attempt", t.last}}}}
}

// statusWrites deletes the status rows that this commit replaces, each of the
// version that was read, and inserts the new ones.
func (g *stage) statusWrites() (writes []*Statement) {
	type old struct {
		ids      []bellman.ID
		versions []int64
	}
	var gone [4]old // by state
	var live, ended statusTable
	for _, id := range g.order {
		c := g.current[id]
		if c.status == nil {
			continue
		}
		if c.there {
			o := &gone[c.state&3]
			o.ids, o.versions = append(o.ids, id), append(o.versions, c.was)
		}
		t := &live
		if c.in.Ended() {
			t = &ended
		}
		if t.ids == nil {
			t.grow(len(g.order))
		}
		t.add(id, c)
	}
	for state, o := range gone {
		switch {
		case len(o.ids) == 0:
		case state == int(bellman.Pending):
			writes = append(writes, &Statement{Name: "delete statuses", Text: `DELETE FROM bellman_live WHERE (id, version) IN (???)`,
				Args: []any{o.ids, o.versions}, Want: int64(len(o.ids))})
		default:
			writes = append(writes, &Statement{Name: "delete statuses of ended tasks",
				Text: `DELETE FROM bellman_ended WHERE state = ? AND (id, version) IN (???)`,
				Args: []any{int64(state), o.ids, o.versions}, Want: int64(len(o.ids))})
		}
	}
	if len(live.ids) > 0 {
		writes = append(writes, live.live())
	}
	if len(ended.ids) > 0 {
		writes = append(writes, ended.ended())
	}
	return writes
}

// attemptWrites appends the attempts. With Replace, an attempt overwrites an earlier one with its
// number.
func (g *stage) attemptWrites(then Conflict) []*Statement {
	if len(g.attempts) == 0 {
		return nil
	}
	keys := make([]attemptKey, 0, len(g.attempts))
	for key := range g.attempts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b attemptKey) int { return cmp.Or(a.id.Compare(b.id), cmp.Compare(a.number, b.number)) })
	var ids []bellman.ID
	var nums [7][]int64
	var texts [7][][]byte
	for _, key := range keys {
		a := g.attempts[key]
		ids = append(ids, key.id)
		for i, n := range [...]int64{int64(a.Number), int64(a.Trigger), a.Due.UnixMilli(), a.Started.UnixMilli(), int64(a.Took), int64(a.Result), int64(a.Status)} {
			nums[i] = append(nums[i], n)
		}
		for i, b := range [...][]byte{orNull(a.Action), orNull(a.Response), orNull(a.Error), orNull(a.Node), packTiming(a.Timing), orNull(a.Reading), orNull(a.Header)} {
			texts[i] = append(texts[i], b)
		}
	}
	return []*Statement{{Name: "insert attempts", Insert: &Insert{Into: "bellman_attempt", Key: []string{"task_id", "number"}, Then: then,
		Columns: []Column{{"task_id", ids}, {"number", nums[0]}, {"cause", nums[1]}, {"due", nums[2]}, {"started", nums[3]}, {"took_ns", nums[4]},
			{"result", nums[5]}, {"status", nums[6]}, {"action", texts[0]}, {"response", texts[1]}, {"error", texts[2]}, {"node", texts[3]},
			{"timing", texts[4]}, {"reading", texts[5]}, {"header", texts[6]}}}}}
}
