package pebble

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// Encoded keys sort like the values that they encode.
func TestKeyOrder(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 0xff, 0x10ffff}))
	id := rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) bellman.ID { return bellman.ID(b) })
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		p, q := id.Draw(t, "p"), id.Draw(t, "q")
		want := strings.Compare(a, b)
		if want == 0 {
			want = p.Compare(q)
		}
		for name, key := range map[string]func([]byte, string, bellman.ID) []byte{"merchant": merchantKey, "order": orderKey} {
			if got := bytes.Compare(key(nil, a, p), key(nil, b, q)); got != want {
				t.Errorf("%s keys of %q and %q compare as %d, want %d", name, a, b, got, want)
			}
			if bytes.HasPrefix(key(nil, b, q), appendTerm([]byte{key(nil, a, p)[0]}, a)) != (a == b) {
				t.Errorf("the %s key of %q is in the key range of %q", name, b, a)
			}
		}
		m, n := rapid.Int64().Draw(t, "m"), rapid.Int64().Draw(t, "n")
		before := position{m, p}.before(position{n, q})
		if got := bytes.Compare(dueKey(nil, m, p), dueKey(nil, n, q)) < 0; got != before {
			t.Errorf("due keys of %d %v and %d %v: before is %t, want %t", m, p, n, q, got, before)
		}
		if look, back := parseDueKey(dueKey(nil, m, p)); look != m || back != p {
			t.Errorf("due key of %d %v is decoded as %d %v", m, p, look, back)
		}
		if x, y := bytes.Equal(keyKey(nil, 1, a), keyKey(nil, 1, b)), a == b; x != y {
			t.Errorf("key keys of %q and %q: equal is %t, want %t", a, b, x, y)
		}
		if bytes.Equal(docKey(nil, a, b), docKey(nil, b, a)) != (a == b) {
			t.Errorf("the document keys of %q and %q are in each other's range", a, b)
		}
	})
}

// A source turns fuzz input into values.
type source struct{ b []byte }

func (s *source) byte() byte {
	if len(s.b) == 0 {
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

func (s *source) uint64() uint64 {
	var b [8]byte
	s.b = s.b[copy(b[:], s.b):]
	return binary.LittleEndian.Uint64(b[:]) >> (s.byte() % 64)
}

func (s *source) bytes() []byte {
	n := min(int(s.byte()), len(s.b))
	if n == 0 {
		return nil
	}
	b := s.b[:n]
	s.b = s.b[n:]
	return b
}

func (s *source) string() string { return string(s.bytes()) }

func (s *source) time() time.Time {
	if s.byte()%3 == 0 {
		return time.Time{}
	}
	return pack.FromMilli(int64(s.uint64() % (1 << 47)))
}

// Every encoded row decodes to the same value, and no input makes the decoder panic.
func FuzzRows(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{1, 7, 200, 3}, 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &source{data}
		var id bellman.ID
		copy(id[:], s.bytes())

		task := bellman.Task{ID: id, Key: s.string(), MerchantNo: s.string(), OrderNo: s.string(), Event: s.string(), URL: s.string(),
			Method: s.string(), Body: s.bytes(), Schedule: s.string(), Success: s.string(), Timeout: time.Duration(s.uint64()),
			MaxAge: time.Duration(s.uint64()), Repeat: s.string(), Delay: time.Duration(s.uint64()), StartAt: s.time(), Endpoint: s.string(),
			Inherited: bellman.Inherited(s.byte() & 7)}
		for range s.byte() % 8 {
			if task.Header == nil {
				task.Header = map[string]string{}
			}
			task.Header[s.string()] = s.string()
		}
		task.OrderingKey, task.Supersedes = s.string(), s.byte()%2 == 0
		task.Supersedes = task.Supersedes && task.OrderingKey != ""
		task.Kind = bellman.Kind(s.byte())
		task.SetCreatedBy(s.string())
		task.SetAlias(s.string())
		if s.byte()%2 == 0 {
			task.SetTrace(bellman.ParseTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=b"))
		}
		queue := uint32(s.uint64())
		var gotTask bellman.Task
		gotQueue, err := parseCold(appendCold(nil, &task, queue), id, &gotTask)
		if err != nil || gotQueue != queue || !reflect.DeepEqual(gotTask, task) {
			t.Errorf("cold row: got %+v, %d, %v; want %+v, %d", gotTask, gotQueue, err, task, queue)
		}

		st := status{queue: queue, line: store.Line(s.uint64()), Status: bellman.Status{State: bellman.State(s.byte() & 3), Reason: s.string(),
			Version: uint32(s.uint64()), Shard: uint16(s.uint64()), Attempts: int32(s.uint64() % math.MaxInt32), Step: int32(s.uint64() % math.MaxInt32),
			Began: s.time(), Due: s.time(), VisibleAt: s.time(), Trigger: bellman.Trigger(s.byte() & 0xf), Updated: s.time(), Finished: s.time(), Data: s.bytes()}}
		if s.byte()%2 == 0 {
			st.Began, st.VisibleAt = st.Due, st.Due
		}
		if s.byte()%2 == 0 {
			st.Before = &bellman.Before{State: bellman.State(s.byte()), Reason: s.string(), Due: s.time(), Finished: s.time()}
		}
		st.WasDue = uint32(s.uint64())
		var gotStatus status
		if err := parseStatus(appendStatus(nil, id, &st), id, &gotStatus); err != nil || !reflect.DeepEqual(gotStatus, st) {
			t.Errorf("status row: got %+v, %v; want %+v", gotStatus, err, st)
		}

		var e store.Entry
		want := store.Entry{ID: id, VisibleAt: milli(st.VisibleAt), Due: milli(st.Due), Line: st.line, Version: st.Version,
			Attempts: uint32(st.Attempts), Shard: st.Shard}
		if err := parseEntry(dueKey(nil, milli(st.VisibleAt), id), appendEntry(nil, &st), &e); err != nil || e != want {
			t.Errorf("due row: got %+v, %v; want %+v", e, err, want)
		}

		a := bellman.Attempt{Number: 3, Trigger: bellman.Trigger(s.byte()), Due: s.time(), Started: s.time(), Took: time.Duration(s.uint64()),
			Result: bellman.Result(s.byte()), Status: int(s.uint64() % 1000), Response: s.string(), Error: s.string(), Node: s.string(),
			Action: s.string(), Reading: s.string(), Header: s.string(),
			Timing: bellman.Timing{DNS: time.Duration(s.uint64()), Connect: time.Duration(s.uint64()), TLS: time.Duration(s.uint64()), FirstByte: time.Duration(s.uint64())}}
		var gotAttempt bellman.Attempt
		if err := parseAttempt(pack.Attempt(nil, id, &a), id, 3, &gotAttempt); err != nil || gotAttempt != a {
			t.Errorf("attempt row: got %+v, %v; want %+v", gotAttempt, err, a)
		}

		// Damaged rows are rejected or decoded to something else, without a panic.
		parseCold(data, id, new(bellman.Task))
		parseStatus(data, id, new(status))
		parseEntry(dueKey(nil, 0, id), data, &e)
		parseAttempt(data, id, 1, &gotAttempt)
		if row := appendStatus(nil, id, &st); parseStatus(row[:len(row)-1], id, &gotStatus) == nil {
			t.Errorf("a truncated status row was decoded; want an error")
		}
	})
}

// The hot row of an ordinary task is small, because it is written at every attempt.
func TestHotRowIsSmall(t *testing.T) {
	id := bellman.NewID()
	due := id.Time().Add(24 * time.Hour)
	st := status{queue: 3, line: 1 << 63, Status: bellman.Status{Version: 2, Shard: 40, Attempts: 1, Step: 1,
		Began: id.Time(), Due: due, VisibleAt: due, Updated: id.Time()}}
	if n := len(appendStatus(nil, id, &st)); n > 30 {
		t.Errorf("hot row of %d bytes, want at most 30", n)
	}
	if n := len(appendEntry(nil, &st)); n > 16 {
		t.Errorf("due row of %d bytes, want at most 16", n)
	}
}
