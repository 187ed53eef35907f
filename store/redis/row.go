package redis

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// format begins each row, so that a later version can use another encoding.
const format = 2

// headSize is the length of the head of a row. The digest is the end of the head.
const (
	headSize = 64
	digestAt = headSize - len(bellman.Digest{})
)

const (
	maxName = 512  // of a queue
	maxText = 4096 // of a searchable text
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
	for _, f := range [...]struct {
		name, text string
		max        int
	}{{"queue", t.Queue, maxName}, {"key", t.Key, maxText}, {"alias", t.Alias(), maxText}, {"merchant_no", t.MerchantNo, maxText}, {"order_no", t.OrderNo, maxText},
		{"ordering_key", t.OrderingKey, maxText}} {
		if len(f.text) > f.max {
			wrong.Add(f.name, fmt.Sprintf("has %d bytes: want at most %d", len(f.text), f.max))
		}
	}
	return wrong.Err()
}

// appendHead encodes the part of the head that a change replaces: everything up to the due time.
func appendHead(b []byte, st *bellman.Status) []byte {
	b = append(b, format, byte(st.State))
	b = binary.BigEndian.AppendUint16(b, st.Shard)
	b = binary.BigEndian.AppendUint32(b, st.Version)
	b = binary.BigEndian.AppendUint32(b, uint32(st.Attempts))
	b = binary.BigEndian.AppendUint64(b, uint64(st.VisibleAt.UnixMilli()))
	return binary.BigEndian.AppendUint64(b, uint64(st.Due.UnixMilli()))
}

// packRow encodes a new task.
func packRow(t *bellman.Task, digest bellman.Digest) []byte {
	b := make([]byte, 0, headSize+256+len(t.Body)+len(t.Data))
	b = appendHead(b, &t.Status)
	b = binary.BigEndian.AppendUint64(b, uint64(store.LineOf(t.Queue, t.Endpoint)))
	b = append(b, make([]byte, 12)...) // lengths
	b = append(b, digest[:]...)
	b = packCold(b, t)
	cold := len(b) - headSize
	b = packStatus(b, &t.Status, pack.Created(t.ID))
	status := len(b) - headSize - cold
	binary.BigEndian.PutUint32(b[36:], uint32(cold))
	binary.BigEndian.PutUint32(b[40:], uint32(status))
	return b
}

// packCold encodes what never changes.
func packCold(b []byte, t *bellman.Task) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(t.Queue)))
	b = append(append(b, t.Queue...), pack.Rare(t))
	b = pack.Text(b, t.Key)
	for _, s := range [...]string{t.MerchantNo, t.OrderNo} {
		b = appendWithin(b, t.Key, s)
	}
	b = pack.Text(b, t.URL)
	for _, s := range [...]string{t.Event, t.Method, t.Schedule, t.Success, t.Repeat} {
		b = appendWord(b, s)
	}
	// The endpoint is usually a prefix of the URL.
	same := 0
	for same < min(len(t.Endpoint), len(t.URL)) && t.Endpoint[same] == t.URL[same] {
		same++
	}
	b = pack.Text(binary.AppendUvarint(b, uint64(same)), t.Endpoint[same:])
	for _, d := range [...]time.Duration{t.Timeout, t.MaxAge, t.Delay} {
		b = binary.AppendVarint(b, int64(d))
	}
	b = pack.Time(b, t.StartAt, pack.Created(t.ID))
	b = binary.AppendUvarint(b, uint64(len(t.Header)))
	for _, name := range slices.Sorted(maps.Keys(t.Header)) {
		b = appendWord(appendWord(b, name), t.Header[name])
	}
	if t.OrderingKey != "" {
		b = appendWithin(b, t.Key, t.OrderingKey)
		b = append(b, pack.Bit(t.Supersedes))
	}
	b = pack.AppendRare(b, t)
	return append(b, t.Body...)
}

func parseCold(b []byte, t *bellman.Task) error {
	p := readRow(b)
	n := p.Take(2)
	if n == nil {
		return pack.ErrCorrupt
	}
	t.Queue = string(p.Take(uint64(binary.BigEndian.Uint16(n))))
	has := p.Byte()
	t.Key = p.Text()
	for _, s := range [...]*string{&t.MerchantNo, &t.OrderNo} {
		*s = p.within(t.Key)
	}
	t.URL = p.Text()
	for _, s := range [...]*string{&t.Event, &t.Method, &t.Schedule, &t.Success, &t.Repeat} {
		*s = p.word()
	}
	same := p.Uvarint()
	if same > uint64(len(t.URL)) {
		return pack.ErrCorrupt
	}
	t.Endpoint = t.URL[:same] + p.Text()
	for _, d := range [...]*time.Duration{&t.Timeout, &t.MaxAge, &t.Delay} {
		*d = p.Duration()
	}
	t.StartAt = p.Time(pack.Created(t.ID))
	headers := p.Uvarint()
	if headers > uint64(len(p.Left())) {
		return pack.ErrCorrupt
	}
	if headers > 0 {
		t.Header = make(map[string]string, headers)
		for range headers {
			name := p.word()
			t.Header[name] = p.word()
		}
	}
	if has&pack.HasOrdering != 0 {
		t.OrderingKey, t.Supersedes = p.within(t.Key), p.Byte() == 1
	}
	p.Rare(has, t)
	if len(p.Left()) > 0 {
		t.Body = bytes.Clone(p.Left())
	}
	return p.Err()
}

// Bits for the optional fields of a status.
const (
	hasBefore = 1 << iota
	hasPlace
	hasWasDue
)

// packStatus encodes the fields of a status that are not in the head.
func packStatus(b []byte, st *bellman.Status, base int64) []byte {
	b = binary.AppendUvarint(append(b, pack.Cause(st)), uint64(st.Step))
	for _, at := range [...]time.Time{st.Began, st.Updated, st.Finished} {
		b = pack.Time(b, at, base)
	}
	b = pack.Text(b, st.Reason)
	more := byte(0)
	if st.Before != nil {
		more |= hasBefore
	}
	if st.Place != 0 {
		more |= hasPlace
	}
	if st.WasDue != 0 {
		more |= hasWasDue
	}
	b = append(b, more)
	if st.Before != nil {
		b = pack.Text(append(b, byte(st.Before.State)), st.Before.Reason)
		b = pack.Time(pack.Time(b, st.Before.Due, base), st.Before.Finished, base)
	}
	if st.Place != 0 {
		b = binary.AppendVarint(b, st.Place-1000*base)
	}
	if st.WasDue != 0 {
		b = binary.AppendUvarint(b, uint64(st.WasDue))
	}
	return append(b, st.Data...)
}

func parseStatus(b []byte, st *bellman.Status, base int64) error {
	p := readRow(b)
	pack.SetCause(st, p.Byte())
	st.Step = int32(p.Uvarint())
	for _, at := range [...]*time.Time{&st.Began, &st.Updated, &st.Finished} {
		*at = p.Time(base)
	}
	st.Reason = p.Text()
	more := p.Byte()
	if more&hasBefore != 0 {
		st.Before = &bellman.Before{State: bellman.State(p.Byte()), Reason: p.Text(), Due: p.Time(base), Finished: p.Time(base)}
	}
	if more&hasPlace != 0 {
		st.Place = 1000*base + p.Varint()
	}
	if more&hasWasDue != 0 {
		st.WasDue = uint32(p.Uvarint())
	}
	if len(p.Left()) > 0 {
		st.Data = bytes.Clone(p.Left())
	}
	return p.Err()
}

// parseRow decodes a task with its newest attempt. Nothing of it points into row.
func parseRow(id bellman.ID, row string) (*bellman.Task, error) {
	b := []byte(row)
	if len(b) < headSize || b[0] != format {
		return nil, fmt.Errorf("task %s: %w", id, pack.ErrCorrupt)
	}
	big := binary.BigEndian
	t := &bellman.Task{ID: id, Status: bellman.Status{State: bellman.State(b[1]), Shard: big.Uint16(b[2:]), Version: big.Uint32(b[4:]),
		Attempts: int32(big.Uint32(b[8:])), VisibleAt: pack.FromMilli(int64(big.Uint64(b[12:]))), Due: pack.FromMilli(int64(big.Uint64(b[20:])))}}
	p := readRow(b[headSize:])
	cold, status, last := p.Take(uint64(big.Uint32(b[36:]))), p.Take(uint64(big.Uint32(b[40:]))), p.Take(uint64(big.Uint32(b[44:])))
	err := p.Err()
	if err == nil {
		err = parseCold(cold, t)
	}
	if err == nil {
		err = parseStatus(status, &t.Status, pack.Created(id))
	}
	if err == nil && len(last) > 0 {
		t.Last = new(bellman.Attempt)
		err = parseAttempt(last, id, t.Last)
	}
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", id, err)
	}
	return t, nil
}

// packAttempt encodes a, its number first.
func packAttempt(id bellman.ID, a *bellman.Attempt) []byte {
	b := make([]byte, 0, 64+len(a.Response)+len(a.Error))
	b = binary.BigEndian.AppendUint32(b, uint32(a.Number))
	return pack.Attempt(b, id, a)
}

func parseAttempt(b []byte, id bellman.ID, a *bellman.Attempt) error {
	p := pack.Read(b)
	n := p.Take(4)
	if n == nil {
		return pack.ErrCorrupt
	}
	a.Number = int(binary.BigEndian.Uint32(n))
	return p.Attempt(id, a)
}

// parseEntry decodes a member of the due index.
func parseEntry(shard uint16, look, member string) (store.Entry, error) {
	at, err := strconv.ParseFloat(look, 64)
	if err != nil || len(member) != 32 && len(member) != 40 {
		return store.Entry{}, pack.ErrCorrupt
	}
	b := []byte(member)
	big := binary.BigEndian
	e := store.Entry{ID: bellman.ID(b[:16]), Line: store.Line(big.Uint64(b[16:])), Version: big.Uint32(b[24:]), Attempts: big.Uint32(b[28:]),
		VisibleAt: int64(at), Due: int64(at), Shard: shard}
	if len(b) == 40 {
		e.Due = int64(big.Uint64(b[32:]))
	}
	return e, nil
}

// keyOf is the name of a task's key in the index of keys; empty if it has none. An alias is in the
// same index, as the key of a queue without a name.
func keyOf(queue, key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256(append(binary.AppendUvarint(nil, uint64(len(queue))), strings.Join([]string{queue, key}, "")...))
	return string(sum[:16])
}

// listOf names the list of a merchant or an order; empty: none. Two may share a list, so a reader
// compares the rows.
func listOf(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return string(sum[:8])
}
