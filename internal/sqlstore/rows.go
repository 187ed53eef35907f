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
)

// maxName and maxKey bound what is in indexes, in bytes. Above what the API takes.
const (
	maxName = 512
	maxKey  = 1024
)

// check refuses what cannot be kept, and what has no queue.
func check(t *bellman.Task) error {
	var wrong bellman.Invalid
	if t.ID.IsZero() {
		wrong.Add("id", "is missing")
	}
	if t.Queue == "" {
		wrong.Add("queue", "is missing")
	}
	for _, f := range [...]struct {
		name, text string
		max        int
	}{
		{"queue", t.Queue, maxName}, {"key", t.Key, maxKey}, {"merchant_no", t.MerchantNo, maxName}, {"order_no", t.OrderNo, maxName},
		{"url", hostOf(t.URL), maxName},
	} {
		if len(f.text) > f.max {
			wrong.Add(f.name, fmt.Sprintf("has %d bytes: want at most %d", len(f.text), f.max))
		}
	}
	return wrong.Err()
}

// hostOf is the host, without its port, of an address; empty if it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// atHost reports whether address is at host, given with or without its port.
func atHost(address, host string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Host == host || u.Hostname() == host)
}

// packCold encodes what nobody searches by of t. Lent has the upper half of the
// first byte.
func packCold(t *bellman.Task) []byte {
	b := append(make([]byte, 0, 256), format|byte(t.Lent)<<4)
	for _, s := range [...]string{t.Method, t.Schedule, t.Success, t.Repeat, t.Endpoint} {
		b = appendText(b, s)
	}
	for _, d := range [...]time.Duration{t.Timeout, t.MaxAge, t.Delay} {
		b = binary.AppendVarint(b, int64(d))
	}
	b = appendTime(b, t.StartAt)
	b = binary.AppendUvarint(b, uint64(len(t.Header)))
	if len(t.Header) > 0 {
		for _, name := range slices.Sorted(maps.Keys(t.Header)) {
			b = appendText(appendText(b, name), t.Header[name])
		}
	}
	return b
}

func parseCold(b []byte, t *bellman.Task) error {
	p := &parser{b: b}
	first := p.byte()
	if first&0xf != format {
		p.fail()
	}
	t.Lent = bellman.Lent(first >> 4)
	for _, s := range [...]*string{&t.Method, &t.Schedule, &t.Success, &t.Repeat, &t.Endpoint} {
		*s = p.string()
	}
	for _, d := range [...]*time.Duration{&t.Timeout, &t.MaxAge, &t.Delay} {
		*d = time.Duration(p.varint())
	}
	t.StartAt = p.time()
	n := p.uvarint()
	if n > uint64(len(p.b)) {
		return errCorrupt
	}
	if n > 0 {
		t.Header = make(map[string]string, n)
		for range n {
			name := p.string()
			t.Header[name] = p.string()
		}
	}
	return p.end()
}

// coldColumns are those that readCold reads, of bellman_task as t.
const coldColumns = `t.id, t.queue, t.task_key, t.merchant_no, t.order_no, t.event, t.url, t.body, t.rest`

// A coldRow is what coldColumns are read into.
type coldRow struct {
	id                                                      bellman.ID
	queue, key, merchant, order, event, address, body, rest []byte
}

func (c *coldRow) dest() []any {
	return []any{&c.id, &c.queue, &c.key, &c.merchant, &c.order, &c.event, &c.address, &c.body, &c.rest}
}

func (c *coldRow) task() (*bellman.Task, error) {
	t := &bellman.Task{ID: c.id, Queue: string(c.queue), Key: string(c.key), MerchantNo: string(c.merchant), OrderNo: string(c.order),
		Event: string(c.event), URL: string(c.address)}
	if len(c.body) > 0 {
		t.Body = bytes.Clone(c.body)
	}
	if err := parseCold(c.rest, t); err != nil {
		return nil, fmt.Errorf("task %s: %w", c.id, err)
	}
	return t, nil
}

// A statusRow is a row of bellman_live or bellman_ended.
type statusRow struct {
	id                              bellman.ID
	state, version, shard, attempts int64
	look, due, finished             int64
	reason, rest                    []byte
}

// packStatus encodes what has no column of its own.
func packStatus(st *bellman.Status) []byte {
	b := append(make([]byte, 0, 64+len(st.Data)), format, byte(st.Trigger))
	b = binary.AppendUvarint(b, uint64(st.Step))
	b = appendTime(appendTime(b, st.Began), st.Updated)
	if st.State.Ended() {
		b = appendTime(appendTime(b, st.Due), st.Look)
	} else {
		b = appendText(appendTime(b, st.Finished), st.Reason)
	}
	if st.Before == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1, byte(st.Before.State))
		b = appendText(b, st.Before.Reason)
		b = appendTime(appendTime(b, st.Before.Due), st.Before.Finished)
	}
	return appendText(b, st.Data)
}

// status is what the row says. Nothing of it points into the row.
func (r *statusRow) status() (bellman.Status, error) {
	st := bellman.Status{State: bellman.State(r.state), Version: uint32(r.version), Shard: uint16(r.shard), Attempts: int(r.attempts)}
	p := parse(r.rest)
	st.Trigger = bellman.Trigger(p.byte())
	st.Step = int(p.uvarint())
	st.Began, st.Updated = p.time(), p.time()
	if st.State.Ended() {
		st.Due, st.Look = p.time(), p.time()
		st.Finished, st.Reason = fromMilli(r.finished), string(r.reason)
	} else {
		st.Finished, st.Reason = p.time(), p.string()
		st.Due, st.Look = fromMilli(r.due), fromMilli(r.look)
	}
	if p.byte() == 1 {
		st.Before = &bellman.Before{State: bellman.State(p.byte()), Reason: p.string(), Due: p.time(), Finished: p.time()}
	}
	if data := p.bytes(); len(data) > 0 {
		st.Data = bytes.Clone(data)
	}
	if err := p.end(); err != nil {
		return st, fmt.Errorf("task %s: status: %w", r.id, err)
	}
	return st, nil
}

// packTiming encodes t; nil for no timing at all.
func packTiming(t bellman.Timing) []byte {
	if t == (bellman.Timing{}) {
		return nil
	}
	b := []byte{format}
	for _, part := range [...]time.Duration{t.DNS, t.Connect, t.TLS} {
		b = binary.AppendVarint(b, int64(part))
	}
	return b
}

func parseTiming(b []byte) (t bellman.Timing, err error) {
	if b == nil {
		return t, nil
	}
	p := parse(b)
	for _, part := range [...]*time.Duration{&t.DNS, &t.Connect, &t.TLS} {
		*part = time.Duration(p.varint())
	}
	return t, p.end()
}

// packAttempt encodes a, for the row of its task's end.
func packAttempt(a *bellman.Attempt) []byte {
	b := append(make([]byte, 0, 64+len(a.Response)+len(a.Error)), format)
	for _, n := range [...]int64{int64(a.Number), int64(a.Trigger), a.Due.UnixMilli(), a.Started.UnixMilli() - a.Due.UnixMilli(), int64(a.Took),
		int64(a.Result), int64(a.Status), int64(a.Timing.DNS), int64(a.Timing.Connect), int64(a.Timing.TLS)} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range [...]string{a.Action, a.Reading, a.Response, a.Error, a.Node} {
		b = appendText(b, s)
	}
	return b
}

// parseAttempt reads what packAttempt wrote of a task; nil if that is nothing.
func parseAttempt(id bellman.ID, b []byte) (*bellman.Attempt, error) {
	if b == nil {
		return nil, nil
	}
	p := parse(b)
	var n [10]int64
	for i := range n {
		n[i] = p.varint()
	}
	a := &bellman.Attempt{Number: int(n[0]), Trigger: bellman.Trigger(n[1]), Due: fromMilli(n[2]), Started: fromMilli(n[2] + n[3]), Took: time.Duration(n[4]),
		Result: bellman.Result(n[5]), Status: int(n[6]), Timing: bellman.Timing{DNS: time.Duration(n[7]), Connect: time.Duration(n[8]), TLS: time.Duration(n[9])}}
	for _, s := range [...]*string{&a.Action, &a.Reading, &a.Response, &a.Error, &a.Node} {
		*s = p.string()
	}
	if err := p.end(); err != nil {
		return nil, fmt.Errorf("the last attempt of task %s: %w", id, err)
	}
	return a, nil
}

// attemptColumns are those that an attemptRow reads.
const attemptColumns = `task_id, number, cause, due, started, took_ns, result, status, action, response, error, node, timing, reading`

type attemptRow struct {
	id                                                bellman.ID
	number, cause, due, started, took, result, status int64
	action, response, err, node, timing, reading      []byte
}

func (r *attemptRow) dest() []any {
	return []any{&r.id, &r.number, &r.cause, &r.due, &r.started, &r.took, &r.result, &r.status, &r.action, &r.response, &r.err, &r.node, &r.timing, &r.reading}
}

func (r *attemptRow) attempt() (bellman.Attempt, error) {
	timing, err := parseTiming(r.timing)
	if err != nil {
		return bellman.Attempt{}, fmt.Errorf("attempt %d of task %s: %w", r.number, r.id, err)
	}
	return bellman.Attempt{Number: int(r.number), Trigger: bellman.Trigger(r.cause), Due: fromMilli(r.due), Started: fromMilli(r.started),
		Took: time.Duration(r.took), Action: string(r.action), Reading: string(r.reading), Timing: timing, Result: bellman.Result(r.result), Status: int(r.status),
		Response: string(r.response), Error: string(r.err), Node: string(r.node)}, nil
}
