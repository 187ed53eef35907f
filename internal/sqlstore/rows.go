package sqlstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
)

// check rejects a task that the store cannot keep, or that has no queue.
func (h *how) check(t *bellman.Task) error {
	var wrong bellman.Invalid
	if t.ID.IsZero() {
		wrong.Add("id", "is missing")
	}
	if t.Queue == "" {
		wrong.Add("queue", "is missing")
	}
	wrong.Oversized(t)
	if len(t.Body) > h.largest && h.largest > 0 {
		wrong.Add("body", fmt.Sprintf("has %d bytes: the database takes at most %d: raise %s there and restart bellman", len(t.Body), h.largest, h.setting))
	}
	return wrong.Err()
}

// hostOf returns the host of an address without its port, in lower case; empty if it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// format is the first byte of each packed column, so that a later version can use another encoding.
const format = 1

// read begins to read a packed column.
func read(b []byte) pack.Reader {
	p := pack.Read(b)
	if p.Byte() != format {
		p.Fail()
	}
	return p
}

// packCold encodes the fields of t by which nobody searches.
func packCold(t *bellman.Task) []byte { return pack.Rest(append(make([]byte, 0, 256), format), t) }

// parseCold decodes the result of packCold. Where texts are equal, it shares those of another task.
func parseCold(b []byte, t, other *bellman.Task) error {
	p := read(b)
	p.Rest(t, other)
	return p.End()
}

// coldColumns are the columns that a coldRow reads, of bellman_task as t.
const coldColumns = `t.id, t.queue, t.task_key, t.merchant_no, t.order_no, t.event, t.url, t.body, t.rest`

// same returns b as a string. If text is equal to b, same returns text and allocates nothing: most
// tasks have the queue, event and address of the task that was read before.
func same(text string, b []byte) string {
	if string(b) == text {
		return text
	}
	return string(b)
}

// A coldRow scans coldColumns, one row after the other.
type coldRow struct {
	id                                                      bellman.ID
	queue, key, merchant, order, event, address, body, rest []byte

	before *bellman.Task // the task of the row before
}

func newColdRow() *coldRow { return &coldRow{before: new(bellman.Task)} }

// dest returns the destinations of a scan, the same for each row.
func (c *coldRow) dest() []any {
	return []any{&c.id, &c.queue, &c.key, &c.merchant, &c.order, &c.event, &c.address, &c.body, &c.rest}
}

func (c *coldRow) task() (*bellman.Task, error) {
	t := &bellman.Task{ID: c.id, Queue: same(c.before.Queue, c.queue), Key: string(c.key), MerchantNo: same(c.before.MerchantNo, c.merchant),
		OrderNo: string(c.order), Event: same(c.before.Event, c.event), URL: same(c.before.URL, c.address)}
	if len(c.body) > 0 {
		t.Body = bytes.Clone(c.body)
	}
	if err := parseCold(c.rest, t, c.before); err != nil {
		return nil, fmt.Errorf("task %s: %w", c.id, err)
	}
	c.before = t
	return t, nil
}

// A statusRow is a row of bellman_live or bellman_ended.
type statusRow struct {
	id                              bellman.ID
	state, version, shard, attempts int64
	look, due, finished             int64
	reason, rest                    []byte
}

// packStatus encodes the fields of a status that have no column.
func packStatus(st *bellman.Status) []byte {
	b := append(make([]byte, 0, 64+len(st.Data)), format, pack.Cause(st))
	b = binary.AppendUvarint(b, uint64(st.Step))
	b = pack.Time(pack.Time(b, st.Began, 0), st.Updated, 0)
	if st.State.Ended() {
		b = pack.Time(pack.Time(b, st.Due, 0), st.VisibleAt, 0)
	} else {
		b = pack.Text(pack.Time(b, st.Finished, 0), st.Reason)
	}
	if st.Before == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1, byte(st.Before.State))
		b = pack.Text(b, st.Before.Reason)
		b = pack.Time(pack.Time(b, st.Before.Due, 0), st.Before.Finished, 0)
	}
	b = pack.Text(b, st.Data)
	if st.Place != 0 || st.WasDue != 0 {
		b = binary.AppendVarint(b, st.Place)
	}
	if st.WasDue != 0 {
		b = binary.AppendUvarint(b, uint64(st.WasDue))
	}
	return b
}

// status decodes the row. The result does not alias the row.
func (r *statusRow) status() (bellman.Status, error) {
	st := bellman.Status{State: bellman.State(r.state), Version: uint32(r.version), Shard: uint16(r.shard), Attempts: int32(r.attempts)}
	p := read(r.rest)
	pack.SetCause(&st, p.Byte())
	st.Step = int32(p.Uvarint())
	st.Began, st.Updated = p.Time(0), p.Time(0)
	if st.State.Ended() {
		st.Due, st.VisibleAt = p.Time(0), p.Time(0)
		st.Finished, st.Reason = pack.FromMilli(r.finished), string(r.reason)
	} else {
		st.Finished, st.Reason = p.Time(0), p.Text()
		st.Due, st.VisibleAt = pack.FromMilli(r.due), pack.FromMilli(r.look)
	}
	if p.Byte() == 1 {
		st.Before = &bellman.Before{State: bellman.State(p.Byte()), Reason: p.Text(), Due: p.Time(0), Finished: p.Time(0)}
	}
	if data := p.Bytes(); len(data) > 0 {
		st.Data = bytes.Clone(data)
	}
	if len(p.Left()) > 0 {
		st.Place = p.Varint()
	}
	if len(p.Left()) > 0 {
		st.WasDue = uint32(p.Uvarint())
	}
	if err := p.End(); err != nil {
		return st, fmt.Errorf("task %s: status: %w", r.id, err)
	}
	return st, nil
}

// packTiming encodes t; a zero t gives nothing.
func packTiming(t bellman.Timing) []byte {
	if t == (bellman.Timing{}) {
		return nil
	}
	b := []byte{format}
	for _, part := range [...]time.Duration{t.DNS, t.Connect, t.TLS, t.FirstByte} {
		b = binary.AppendVarint(b, int64(part))
	}
	return b
}

func parseTiming(b []byte) (t bellman.Timing, err error) {
	if b == nil {
		return t, nil
	}
	p := read(b)
	for _, part := range [...]*time.Duration{&t.DNS, &t.Connect, &t.TLS, &t.FirstByte} {
		*part = p.Duration()
	}
	return t, p.End()
}

// packAttempt encodes a for the row in which its task ended.
func packAttempt(id bellman.ID, a *bellman.Attempt) []byte {
	b := append(make([]byte, 0, 64+len(a.Response)+len(a.Error)), format)
	return pack.Attempt(binary.AppendUvarint(b, uint64(a.Number)), id, a)
}

// parseAttempt decodes the result of packAttempt; nil if b is empty.
func parseAttempt(id bellman.ID, b []byte) (*bellman.Attempt, error) {
	if b == nil {
		return nil, nil
	}
	p := read(b)
	a := &bellman.Attempt{Number: int(p.Uvarint())}
	if err := p.Attempt(id, a); err != nil {
		return nil, fmt.Errorf("the last attempt of task %s: %w", id, err)
	}
	return a, nil
}

// attemptColumns are the columns that an attemptRow reads.
const attemptColumns = `task_id, number, cause, due, started, took_ns, result, status, action, response, error, node, timing, reading, header`

type attemptRow struct {
	id                                                   bellman.ID
	number, cause, due, started, took, result, status    int64
	action, response, err, node, timing, reading, header []byte
}

func (r *attemptRow) dest() []any {
	return []any{&r.id, &r.number, &r.cause, &r.due, &r.started, &r.took, &r.result, &r.status, &r.action, &r.response, &r.err, &r.node, &r.timing, &r.reading, &r.header}
}

func (r *attemptRow) attempt() (bellman.Attempt, error) {
	timing, err := parseTiming(r.timing)
	if err != nil {
		return bellman.Attempt{}, fmt.Errorf("attempt %d of task %s: %w", r.number, r.id, err)
	}
	return bellman.Attempt{Number: int(r.number), Trigger: bellman.Trigger(r.cause), Due: pack.FromMilli(r.due), Started: pack.FromMilli(r.started),
		Took: time.Duration(r.took), Action: string(r.action), Reading: string(r.reading), Timing: timing, Result: bellman.Result(r.result), Status: int(r.status),
		Response: string(r.response), Header: string(r.header), Error: string(r.err), Node: string(r.node)}, nil
}
