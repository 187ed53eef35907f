package reconcile_test

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
)

// A file is compared at once, with a mapping, and refused if it is wrong.
func TestFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.leads = false // any process takes a file
		w.order("A1", "PAID")
		w.order("B2", "PAID")
		r := w.runs()
		m, err := reconcile.ParseMapping("channel_order_no=no, amount=yuan, time=at, units=main, paid=OK|FINE, state=st")
		if err != nil {
			t.Fatal(err)
		}
		in := reconcile.Request{Queue: "pay", Date: date}
		text := "no,yuan,at,st\nA1,1.00,2000-01-02 12:00:00,OK\nB3,2.50,2000-01-02 12:00:00,FINE\nB4,2.50,2000-01-02 12:00:00,NO\n"
		run, err := r.File(t.Context(), in, m, strings.NewReader(text))
		if err != nil || run.State != reconcile.Done || run.Source != reconcile.FromFile {
			t.Fatalf("File = %+v, %v; want it done", run, err)
		}
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"missing_there B2", "missing_here B3"}) {
			t.Errorf("differences %q; want B2 missing there and B3 here", found)
		}
		for _, tt := range []struct {
			name, text string
			m          *bill.Mapping
			field      string
		}{
			{"another day", strings.ReplaceAll(text, "-02", "-09"), m, "file"},
			{"no amount", "no,yuan,at,st\nA1,much,2000-01-02 12:00:00,OK\n", m, "file"},
			{"no mapping", text, nil, "map"},
		} {
			_, err := r.File(t.Context(), in, tt.m, strings.NewReader(tt.text))
			var invalid *bellman.Invalid
			if !errors.As(err, &invalid) || invalid.Fields[0].Field != tt.field {
				t.Errorf("%s: %v; want %s invalid", tt.name, err, tt.field)
			}
		}
		if again, err := r.Get(t.Context(), run.ID); err != nil || !equalJSON(t, again, run) {
			t.Errorf("after wrong files: %+v, %v; want the result as it was", again, err)
		}
		w.queue.Read = func(f io.Reader) iter.Seq2[bill.Line, error] { return bill.ReadWeChatTrade(f) }
		if _, err := r.File(t.Context(), in, nil, strings.NewReader("no bill")); err == nil {
			t.Error("a file that is no bill was accepted as the channel's")
		}
	})
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}

func TestRequestIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		r := w.runs()
		for field, in := range map[string]reconcile.Request{
			"queue": {Queue: "other", Date: date},
			"date":  {Queue: "pay", Date: "yesterday"},
		} {
			_, err := r.Start(t.Context(), in)
			var invalid *bellman.Invalid
			if !errors.As(err, &invalid) || len(invalid.Fields) != 1 || invalid.Fields[0].Field != field {
				t.Errorf("Start(%+v) = %v; want %s invalid", in, err, field)
			}
		}
		// Noon of the 3rd in UTC+8, which is 04:00 UTC; the 2nd is over there since 16:00 UTC.
		_, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: "2000-01-03"})
		if err == nil || !strings.Contains(err.Error(), "2000-01-03 is not over in the channel's time zone, UTC+8: want a day before 2000-01-03") {
			t.Errorf("a day that is not over: %v", err)
		}
		if _, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Bill: "all", Date: date}); err == nil || !strings.Contains(err.Error(), "want trade or fund_flow") {
			t.Errorf("a bill that there is not: %v", err)
		}
		if _, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Bill: reconcile.FundFlow, Date: date}); err == nil || !strings.Contains(err.Error(), "only WeChat Pay makes this bill") {
			t.Errorf("a fund flow bill of a channel that has none: %v", err)
		}
		w.queue.Lines = nil
		if _, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: date}); err == nil {
			t.Error("a channel without bills was asked for one")
		}
	})
}

func TestParseMapping(t *testing.T) {
	for _, text := range []string{"amount=1", "channel_order_no=1", "channel_order_no=1,amount", "channel_order_no=1,amount=2,colour=3", "channel_order_no=1,amount=2,zone=Mars"} {
		if m, err := reconcile.ParseMapping(text); err == nil {
			t.Errorf("ParseMapping(%q) = %+v; want an error", text, m)
		}
	}
	m, err := reconcile.ParseMapping("channel_order_no=1,amount=2,header=no,delimiter=tab,encoding=gbk")
	if err != nil || !m.NoHeader || m.Delimiter != '\t' || !m.GBK || m.Amount != "2" {
		t.Errorf("ParseMapping = %+v, %v", m, err)
	}
}
