package reconcile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/store"
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
		back, err := reconcile.ParseMapping("channel_order_no=no, amount=yuan, time=at, units=main, refund_no=back")
		if err != nil {
			t.Fatal(err)
		}
		const alone = "no,yuan,at,back\nA1,1.00,2000-01-02 12:00:00,\n,1.00,2000-01-02 12:00:00,R1\n" // a refund of which order
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
			{"10,001 lines of one order", "no,yuan,at,st\n" + strings.Repeat("A1,1.00,2000-01-02 12:00:00,OK\n", 10_001), m, "file"},
			{"a refund without its order", alone, back, "file"},
			{"gzip", "\x1f\x8b\x08\x00", m, "file"},
			{"no mapping", text, nil, "map"},
		} {
			_, err := r.File(t.Context(), in, tt.m, strings.NewReader(tt.text))
			if invalid, is := errors.AsType[*bellman.Invalid](err); !is || invalid.Fields[0].Field != tt.field || tt.name == "gzip" && !strings.Contains(err.Error(), "unpack") {
				t.Errorf("%s: %v; want %s invalid", tt.name, err, tt.field)
			}
		}
		if again, err := r.Get(t.Context(), run.ID); err != nil || !equalJSON(t, again, run) {
			t.Errorf("after wrong files: %+v, %v; want the result as it was", again, err)
		}
		in.NoRefunds = true
		if run, err := r.File(t.Context(), in, back, strings.NewReader(alone)); err != nil || run.Counts.Matched != 1 {
			t.Errorf("a refund without its order, where refunds are not compared: %+v, %v; want A1 compared", run, err)
		}
		w.queue.Read = func(f io.Reader) iter.Seq2[bill.Line, error] { return bill.ReadWeChatTrade(f) }
		if _, err := r.File(t.Context(), in, nil, strings.NewReader("no bill")); err == nil {
			t.Error("a file that is no bill was accepted as the channel's")
		}
	})
}

// A file of another merchant is refused, and leaves nothing behind. A file that does not say whose
// it is, and of which nothing is known here, is refused too, unless the caller says that it is the
// account's.
func TestFileOfAnotherMerchant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.order("A1", "PAID")
		w.queue.Owner = bill.Owner{No: "1230000109"}
		r := w.runs()
		in := reconcile.Request{Queue: "pay", Date: date}
		// text is a file with n lines that bellman does not know, behind others.
		text := func(n int, lines string) string {
			var b strings.Builder
			b.WriteString("no,fee,at,mch\n" + lines)
			for i := range n {
				fmt.Fprintf(&b, "X%d,1,2000-01-02 12:00:00,1900000001\n", i)
			}
			return b.String()
		}
		const known, differs = "A1,100,2000-01-02 12:00:00,1230000109\n", "A1,99,2000-01-02 12:00:00,1230000109\n"
		says := "channel_order_no=no,amount=fee,time=at,mch_id=mch"
		silent := "channel_order_no=no,amount=fee,time=at"
		for _, tt := range []struct {
			name, text, mapping string
			unknown             bool
			total               int
			want                string // the error
		}{
			{"another merchant", text(3, ""), says, false, 0, "none of its 3 lines is of 1230000109: the first is of 1900000001."},
			{"another merchant, by order", text(300, ""), says, true, 0, "none of its 300 lines is of 1230000109: the first is of 1900000001."},
			{"some of another merchant", text(300, known), says, false, 0, ""},
			{"says whose it is, and nothing is known", strings.ReplaceAll(text(300, ""), "1900000001", "1230000109"), says, false, 301, ""},
			{"nothing is known", text(300, ""), silent, false, 0, "none of its lines agrees with an order: 300 of 300 are missing here"},
			{"nothing agrees", text(300, differs), silent, false, 0, "300 of 301 are missing here"},
			{"nothing is known, by order", text(300, ""), silent, true, 301, ""},
			{"few lines", text(99, ""), silent, false, 100, ""},
			{"one agrees", text(300, known), silent, false, 300, ""},
		} {
			m, err := reconcile.ParseMapping(tt.mapping)
			if err != nil {
				t.Fatal(err)
			}
			before := recorded(t, w)
			in.Unknown = tt.unknown
			run, err := r.File(t.Context(), in, m, strings.NewReader(tt.text))
			switch {
			case tt.want != "":
				if invalid, is := errors.AsType[*bellman.Invalid](err); !is || invalid.Fields[0].Field != "file" || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v; want the file invalid: %q", tt.name, err, tt.want)
				}
				if after := recorded(t, w); after != before {
					t.Errorf("%s: the store has %s; want %s, as before", tt.name, after, before)
				}
			case err != nil || run.Total() != tt.total:
				t.Errorf("%s: %+v, %v; want %d differences", tt.name, run, err, tt.total)
			}
		}
		w.queue.Owner = bill.Owner{}
		m, _ := reconcile.ParseMapping(says)
		if _, err := r.File(t.Context(), in, m, strings.NewReader(text(3, ""))); err == nil || !strings.Contains(err.Error(), "no number of the account is known") {
			t.Errorf("an account without a number: %v; want the mapping refused", err)
		}
	})
}

// recorded describes everything that reconciliations keep in the store.
func recorded(t *testing.T, w *world) string {
	t.Helper()
	heads, err := w.Docs(t.Context(), store.DocFilter{Kind: "reconciliation"}, 1000)
	pages, err2 := w.Docs(t.Context(), store.DocFilter{Kind: "reconciliation-page"}, 1000)
	audits, err3 := w.Audits(t.Context(), time.Time{}, 1000)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%d audits, %d pages", len(audits), len(pages))
	for _, d := range heads {
		text += ", " + string(d.Value)
	}
	return text
}

// The bill that a channel sends is checked, too: the run waits, and has no result.
func TestChannelSendsAnotherMerchantsBill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.order("A1", "PAID")
		w.queue.Owner = bill.Owner{No: "1230000109"}
		w.line("X1", 100).Owner = bill.Owner{No: "1900000001"}
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 0)
		if run.State != reconcile.Waiting || !run.Finished.IsZero() ||
			!strings.Contains(run.Error, "none of its 1 lines is of 1230000109: the first is of 1900000001") {
			t.Errorf("%+v; want it waiting, with an error that names both merchants", run)
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
			if invalid, is := errors.AsType[*bellman.Invalid](err); !is || len(invalid.Fields) != 1 || invalid.Fields[0].Field != field {
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

// Without a queue of orders the error says so, in place of an empty list.
func TestNoQueueOfOrders(t *testing.T) {
	w := newWorld(t)
	r, err := reconcile.New(reconcile.Options{Store: w, Tasks: w, Alarms: w, Queues: func() []reconcile.Queue { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: date}); err == nil || !strings.Contains(err.Error(), "no queue of kind order is configured: add one") {
		t.Errorf("Start = %v; want it to say that there is no queue of kind order", err)
	}
}
