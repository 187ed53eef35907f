package sqlstore

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var t0 = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// samples are tasks with all fields set, and with none.
var samples = []bellman.Task{
	{},
	{Method: "PUT", Schedule: "0s, 15s*2", Success: "success_text", Repeat: "10m", Endpoint: "https://a.example", Timeout: 1, MaxAge: -1, Delay: 1 << 62,
		StartAt: t0, Inherited: bellman.InheritedSuccess, Header: map[string]string{"": "", "A": "b\x00", "商户": "值"}},
	{Origin: &bellman.Origin{Alias: "account/1"}},
	{Kind: bellman.KindOrder, OrderingKey: "o", Origin: &bellman.Origin{Alias: "\x00", CreatedBy: "a key",
		Trace: bellman.ParseTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=b")}},
}

func TestCold(t *testing.T) {
	for _, want := range samples {
		b := packCold(&want)
		for _, other := range samples {
			var got bellman.Task
			if err := parseCold(b, &got, &other); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("parseCold() = %v, %+v; want %+v", err, got, want)
			}
		}
		for n := range b {
			if err := parseCold(b[:n], new(bellman.Task), new(bellman.Task)); err == nil {
				t.Errorf("the first %d of %d bytes were parsed as a task; want an error", n, len(b))
			}
		}
		if err := parseCold(append(b, 0), new(bellman.Task), new(bellman.Task)); err == nil {
			t.Error("a task with an additional byte was parsed; want an error")
		}
	}
}

func TestStatus(t *testing.T) {
	tests := []bellman.Status{
		{},
		{Step: 3, Phase: bellman.HandedOver, Trigger: bellman.BySettle, Began: t0, Due: t0.Add(1e6), VisibleAt: t0.Add(2e6), Updated: t0, Data: []byte{0, 1}, Reason: "odd"},
		{Before: &bellman.Before{State: bellman.Failed, Reason: "max_age", Due: t0, Finished: t0}},
		{State: bellman.Failed, Reason: "gave_up", Finished: t0, Updated: t0, Began: t0},
		{State: bellman.Cancelled, Due: t0, VisibleAt: t0},
	}
	for _, want := range tests {
		row := statusRow{state: int64(want.State), look: want.VisibleAt.UnixMilli(), due: want.Due.UnixMilli(), finished: want.Finished.UnixMilli(), rest: packStatus(&want)}
		if want.State.Ended() {
			row.look, row.due, row.reason = 0, 0, orNull(want.Reason)
		}
		if got, err := row.status(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("status() = %+v, %v; want %+v", got, err, want)
		}
		whole := row.rest
		for n := range whole {
			row.rest = whole[:n]
			if _, err := row.status(); err == nil {
				t.Errorf("the first %d of %d bytes were parsed as a status; want an error", n, len(whole))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, t := range samples {
		f.Add(packCold(&t))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var task bellman.Task
		if err := parseCold(b, &task, new(bellman.Task)); err == nil {
			var again bellman.Task
			if err := parseCold(packCold(&task), &again, new(bellman.Task)); err != nil || !reflect.DeepEqual(again, task) {
				t.Errorf("%+v came back as %+v, %v; want it unchanged", task, again, err)
			}
		}
		row := statusRow{rest: b}
		row.status() // must not panic
	})
}

func TestFence(t *testing.T) {
	if s, err := fence(nil, false); s != nil || err != nil {
		t.Errorf("fence() of no leases = %+v, %v; want none", s, err)
	}
	s, err := fence([]store.Lease{{Shard: 7, Epoch: 2, Mark: "b"}, {Shard: 3, Epoch: 5, Mark: "b"}, {Shard: 7, Epoch: 2, Mark: "b"}, {Shard: 9, Epoch: 1, Mark: "a"}}, false)
	if err != nil || s.Want != 3 || !reflect.DeepEqual(s.Args, []any{[]byte("a"), []byte(given("a")), int64(9), int64(1), []byte("b"), []byte(given("b")), int64(3), int64(5), int64(7), int64(2), []int64{3, 7, 9}}) {
		t.Errorf("fence() = %+v, %v; want shard 9 of a, and 3 and 7 of b, once each", s, err)
	}
	if _, err := fence([]store.Lease{{Shard: 7, Epoch: 2, Mark: "a"}, {Shard: 7, Epoch: 2, Mark: "b"}}, false); err == nil {
		t.Error("fence() with two owners of a shard: no error")
	}
	if _, err := fence([]store.Lease{{Shard: 7, Epoch: 2}, {Shard: 7, Epoch: 3}}, false); err == nil {
		t.Error("fence() with two epochs of a shard: no error")
	}
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("x", 2000)
	tests := []struct {
		task bellman.Task
		want string
	}{
		{bellman.Task{ID: bellman.ID{1}, Queue: "q", Key: long[:bellman.MaxStoredKey], Origin: &bellman.Origin{Alias: long[:bellman.MaxStoredKey]}, MerchantNo: long[:bellman.MaxStoredName], Body: []byte(long)}, ""},
		{bellman.Task{}, "id: is missing; queue: is missing"},
		{bellman.Task{ID: bellman.ID{1}, Queue: "q", Origin: &bellman.Origin{Alias: long}}, "alias: has 2000 bytes: want at most 1024"},
		{bellman.Task{ID: bellman.ID{1}, Queue: "q", Key: long, OrderNo: long}, "key: has 2000 bytes: want at most 1024; order_no: has 2000 bytes: want at most 512"},
	}
	for _, tt := range tests {
		got := ""
		if err := new(how).check(&tt.task); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("check() = %q, want %q", got, tt.want)
		}
	}
}

func TestAttempt(t *testing.T) {
	for _, want := range []bellman.Attempt{
		{Due: time.UnixMilli(0).UTC(), Started: time.UnixMilli(0).UTC()},
		{Number: 2, Due: t0, Started: t0, Header: "Server: x\n"},
		{Number: 7, Trigger: bellman.BySettle, Due: t0, Started: t0.Add(-3 * time.Millisecond), Took: 1234567, Action: "query", Reading: "PENDING",
			Timing: bellman.Timing{DNS: 1, Connect: 2, TLS: 3, FirstByte: 400}, Result: bellman.ErrorStatus, Status: 503, Response: "忙\x00", Error: "e", Node: "n"},
	} {
		b := packAttempt(bellman.ID{}, &want)
		if got, err := parseAttempt(bellman.ID{}, b); err != nil || *got != want {
			t.Errorf("parseAttempt() = %+v, %v; want %+v", got, err, want)
		}
		for n := range b {
			if _, err := parseAttempt(bellman.ID{}, b[:n]); err == nil {
				t.Errorf("the first %d of %d bytes were parsed as an attempt; want an error", n, len(b))
			}
		}
		if _, err := parseAttempt(bellman.ID{}, append(b, 0)); err == nil {
			t.Error("an attempt with an additional byte was parsed; want an error")
		}
	}
	if got, err := parseAttempt(bellman.ID{}, nil); got != nil || err != nil {
		t.Errorf("parseAttempt(NULL) = %v, %v; want none", got, err)
	}
}
