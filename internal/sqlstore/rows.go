package sqlstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
)

// check rejects a task that the store cannot keep, or that has no queue.
func check(t *bellman.Task) error {
	var wrong bellman.Invalid
	if t.ID.IsZero() {
		wrong.Add("id", "is missing")
	}
	if t.Queue == "" {
		wrong.Add("queue", "is missing")
	}
	wrong.Oversized(t)
	return wrong.Err()
}

// hostOf returns the host of an address without its port; empty if it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// atHost reports whether an address is at a host, which may be given with or without its port.
func atHost(address, host string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Host == host || u.Hostname() == host)
}

// format begins each packed column, which may one day be written differently.
const format = 1

// read begins to read a packed column.
func read(b []byte) pack.Reader {
	p := pack.Read(b)
	if p.Byte() != format {
		p.Fail()
	}
	return p
}

// packCold encodes the fields of t by which nobody searches. The upper half of the first byte is
// Inherited. A row with a trace has the format traced, a row with an alias the format extended.
func packCold(t *bellman.Task) []byte {
	first := format | byte(t.Inherited)<<4
	switch {
	case t.Alias() != "":
		first ^= format ^ extended
	case t.Trace() != nil:
		first ^= format ^ traced
	}
	if t.CreatedBy() != "" {
		first |= isNamed
	}
	if t.Kind != bellman.KindUnknown {
		first |= isOfKind
	}
	if t.OrderingKey != "" {
		first |= isOrdered
	}
	b := append(make([]byte, 0, 256), first)
	for _, s := range [...]string{t.Method, t.Schedule, t.Success, t.Repeat, t.Endpoint} {
		b = pack.Text(b, s)
	}
	for _, d := range [...]time.Duration{t.Timeout, t.MaxAge, t.Delay} {
		b = binary.AppendVarint(b, int64(d))
	}
	b = pack.Time(b, t.StartAt, 0)
	b = binary.AppendUvarint(b, uint64(len(t.Header)))
	if len(t.Header) > 0 {
		for _, name := range slices.Sorted(maps.Keys(t.Header)) {
			b = pack.Text(pack.Text(b, name), t.Header[name])
		}
	}
	if t.OrderingKey != "" {
		b = append(pack.Text(b, t.OrderingKey), byte(bit(t.Supersedes)))
	}
	if t.Alias() != "" {
		more := byte(hasAlias)
		if t.Trace() != nil {
			more |= hasTrace
		}
		b = pack.Text(append(b, more), t.Alias())
	}
	if t.Trace() != nil {
		trace, _ := t.Trace().AppendBinary(nil) // never fails
		b = pack.Text(b, trace)
	}
	if t.CreatedBy() != "" {
		b = pack.Text(b, t.CreatedBy())
	}
	if t.Kind != bellman.KindUnknown {
		b = append(b, byte(t.Kind))
	}
	return b
}

// traced is the format of a cold row with a trace at its end. Rows without a trace have the older
// format.
const traced = 2

// extended is the format of a cold row with a byte behind the headers and the ordering key. The byte
// says which of the following fields the row has: an alias, a trace.
const extended = 3

// Bits of that byte.
const (
	hasAlias = 1 << iota
	hasTrace
)

// isNamed is the bit of the format that says that the name of the key that created the task follows
// at the end of the row.
const isNamed = 4

// isOfKind is the bit of the format that says that the task's kind follows that name.
const isOfKind = 8

// isOrdered is the bit of the first byte that says that the ordering key, and whether the task
// supersedes, follow at the end of the row.
const isOrdered = 0x80

// bit returns 1 for true and 0 for false.
func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// parseCold decodes the result of packCold. Where texts are equal, it shares those of another task.
func parseCold(b []byte, t, other *bellman.Task) error {
	p := pack.Read(b)
	first := p.Byte()
	version := first & 0xf &^ (isNamed | isOfKind)
	if version < format || version > extended {
		p.Fail()
	}
	t.Inherited = bellman.Inherited(first &^ isOrdered >> 4)
	t.Method = same(other.Method, p.Bytes())
	t.Schedule = same(other.Schedule, p.Bytes())
	t.Success = same(other.Success, p.Bytes())
	t.Repeat = same(other.Repeat, p.Bytes())
	t.Endpoint = same(other.Endpoint, p.Bytes())
	for _, d := range [...]*time.Duration{&t.Timeout, &t.MaxAge, &t.Delay} {
		*d = p.Duration()
	}
	t.StartAt = p.Time(0)
	n := p.Uvarint()
	if n > uint64(len(p.Left())) {
		return pack.ErrCorrupt
	}
	if n > 0 {
		t.Header = make(map[string]string, n)
		for range n {
			name := p.Text()
			t.Header[name] = p.Text()
		}
	}
	if first&isOrdered != 0 {
		t.OrderingKey, t.Supersedes = p.Text(), p.Byte() == 1
	}
	isTraced := version == traced
	if version == extended {
		more := p.Byte()
		if more&^hasTrace != hasAlias {
			p.Fail()
		}
		isTraced = more&hasTrace != 0
		t.SetAlias(p.Text())
	}
	if isTraced {
		trace := new(bellman.Trace)
		if trace.UnmarshalBinary(p.Bytes()) != nil {
			return pack.ErrCorrupt
		}
		t.SetTrace(trace)
	}
	if first&isNamed != 0 {
		t.SetCreatedBy(p.Text())
	}
	if first&isOfKind != 0 {
		t.Kind = bellman.Kind(p.Byte())
	}
	return p.End()
}

// coldColumns are those that readCold reads, of bellman_task as t.
const coldColumns = `t.id, t.queue, t.task_key, t.merchant_no, t.order_no, t.event, t.url, t.body, t.rest`

// same returns b as a string: text itself if they are equal. Most tasks that are read together have
// the queue, the schedule and the address of the task before.
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
	if st.Place != 0 {
		b = binary.AppendVarint(b, st.Place)
	}
	return b
}

// status is what the row says. Nothing of it points into the row.
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
	for _, part := range [...]time.Duration{t.DNS, t.Connect, t.TLS} {
		b = binary.AppendVarint(b, int64(part))
	}
	if t.FirstByte != 0 {
		b = binary.AppendVarint(b, int64(t.FirstByte))
	}
	return b
}

func parseTiming(b []byte) (t bellman.Timing, err error) {
	if b == nil {
		return t, nil
	}
	p := read(b)
	for _, part := range [...]*time.Duration{&t.DNS, &t.Connect, &t.TLS} {
		*part = p.Duration()
	}
	if len(p.Left()) > 0 { // an older row ends here
		t.FirstByte = p.Duration()
	}
	return t, p.End()
}

// packAttempt encodes a for the row in which its task ended.
func packAttempt(a *bellman.Attempt) []byte {
	b := append(make([]byte, 0, 64+len(a.Response)+len(a.Error)), format)
	for _, n := range [...]int64{int64(a.Number), int64(a.Trigger), a.Due.UnixMilli(), a.Started.UnixMilli() - a.Due.UnixMilli(), int64(a.Took),
		int64(a.Result), int64(a.Status), int64(a.Timing.DNS), int64(a.Timing.Connect), int64(a.Timing.TLS)} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range [...]string{a.Action, a.Reading, a.Response, a.Error, a.Node} {
		b = pack.Text(b, s)
	}
	return pack.Answered(b, a)
}

// parseAttempt decodes the result of packAttempt; nil if b is empty.
func parseAttempt(id bellman.ID, b []byte) (*bellman.Attempt, error) {
	if b == nil {
		return nil, nil
	}
	p := read(b)
	var n [10]int64
	for i := range n {
		n[i] = p.Varint()
	}
	a := &bellman.Attempt{Number: int(n[0]), Trigger: bellman.Trigger(n[1]), Due: pack.FromMilli(n[2]), Started: pack.FromMilli(n[2] + n[3]), Took: time.Duration(n[4]),
		Result: bellman.Result(n[5]), Status: int(n[6]), Timing: bellman.Timing{DNS: time.Duration(n[7]), Connect: time.Duration(n[8]), TLS: time.Duration(n[9])}}
	for _, s := range [...]*string{&a.Action, &a.Reading, &a.Response, &a.Error, &a.Node} {
		*s = p.Text()
	}
	if len(p.Left()) > 0 { // an older row ends here
		a.Timing.FirstByte, a.Header = p.Duration(), p.Text()
	}
	if err := p.End(); err != nil {
		return nil, fmt.Errorf("the last attempt of task %s: %w", id, err)
	}
	return a, nil
}

// attemptColumns are those that an attemptRow reads.
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
