package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
)

// The daily job waits for its time in its zone, asks again while the bill is not ready, and reports
// once.
func TestDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		shanghai, err := time.LoadLocation("Asia/Shanghai")
		if err != nil {
			t.Fatal(err)
		}
		w.queue.Daily = &reconcile.Daily{At: 10*time.Hour + 30*time.Minute, Zone: shanghai, Alarm: "ops"}
		w.billErr = fmt.Errorf("%w: ask later", order.ErrBillNotReady)
		time.Sleep(time.Until(time.Date(2000, 1, 3, 10, 0, 0, 0, shanghai)))
		r := w.runs()
		work(t, r, 29*time.Minute)
		if w.asked != 0 {
			t.Errorf("the bill was asked for %d times before 10:30", w.asked)
		}
		w.plant()
		work(t, r, 32*time.Minute) // until 11:01
		run, err := r.Get(t.Context(), mustID(t, r))
		if err != nil || w.asked != 2 || run.State != reconcile.Waiting || run.Date != date || !strings.Contains(run.Error, "not ready") {
			t.Errorf("at 11:01: asked %d times, %+v, %v; want twice, and the run of %s waiting", w.asked, run, err, date)
		}
		w.leads = false
		w.billErr = nil
		work(t, r, time.Hour)
		if w.asked != 2 {
			t.Error("a process that does not lead asked for the bill")
		}
		w.leads = true
		work(t, r, 10*time.Hour) // 22:01
		run, err = r.Get(t.Context(), run.ID)
		if err != nil || w.asked != 3 || run.State != reconcile.Done || run.Total() != 6 || !run.Daily {
			t.Errorf("at 22:01: asked %d times, %+v, %v; want three times, done with 6 differences", w.asked, run, err)
		}
		if len(w.alarms) != 1 || w.alarms[0].When != alarm.ReconcileDifferences || w.alarms[0].To != "ops" || w.alarms[0].Value != 6 || w.alarms[0].Date != date || w.alarms[0].Counts["state"] != 1 {
			t.Errorf("alarms %+v; want one of 6 differences", w.alarms)
		}
		// The next day's bill never comes.
		w.billErr, w.asked = order.ErrBillNotReady, 0
		work(t, r, 36*time.Hour)
		all, err := r.List(t.Context(), 10)
		if err != nil || len(all) != 2 || all[0].Date != "2000-01-03" || all[0].State != reconcile.Failed || w.asked != 21 {
			t.Errorf("the next day: asked %d times, %+v, %v; want 21 times in ten hours, and then failed", w.asked, all, err)
		}
		if len(w.alarms) != 2 || w.alarms[1].When != alarm.ReconcileFailed {
			t.Errorf("alarms %+v; want one more, of the bill that could not be had", w.alarms)
		}
	})
}

// Days on which no process ran, or whose bill could not be had, are made up for, each once.
func TestDailyCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		shanghai := time.FixedZone("", 8*60*60)
		w.queue.Daily = &reconcile.Daily{At: 10*time.Hour + 30*time.Minute, Zone: shanghai, Alarm: "ops"}
		w.plant()
		at := func(day, hour int) { time.Sleep(time.Until(time.Date(2000, 1, day, hour, 0, 0, 0, shanghai))) }
		states := func(r *reconcile.Runs) (all []string) {
			runs, err := r.List(t.Context(), 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range runs {
				all = append(all, fmt.Sprint(run.Date[8:], " ", run.State))
			}
			return all
		}
		at(3, 9)
		r := w.runs()
		work(t, r, time.Hour) // a queue without a daily job so far has missed none
		if got := states(r); got != nil {
			t.Errorf("before the first job: %q; want nothing", got)
		}
		at(3, 11)
		w.billErr = order.ErrBillNotReady
		work(t, r, 11*time.Hour) // given up at 21:00
		if got := states(r); !slices.Equal(got, []string{"02 failed"}) || len(w.alarms) != 1 || w.alarms[0].When != alarm.ReconcileFailed {
			t.Errorf("on the 3rd: %q, alarms %+v; want the 2nd failed, and one alarm", got, w.alarms)
		}
		w.billErr, w.lines = nil, nil
		at(7, 9) // it did not run from the 4th to the 7th
		work(t, r, time.Hour)
		if got := states(r); !slices.Equal(got, []string{"05 done", "04 done", "03 done", "02 done"}) {
			t.Errorf("on the 7th before the job: %q; want the 2nd to the 5th", got)
		}
		if len(w.alarms) != 2 || w.alarms[1].When != alarm.ReconcileDifferences || w.alarms[1].Date != date {
			t.Errorf("alarms %+v; want one more, of the differences of %s", w.alarms, date)
		}
		asked := len(w.days)
		work(t, r, time.Hour) // until 11:00
		if got := states(r); !slices.Equal(got, []string{"06 done", "05 done", "04 done", "03 done", "02 done"}) || len(w.days) != asked+2 {
			t.Errorf("on the 7th after the job: %q, and asked for %q; want the 6th, once, with the 5th", got, w.days[asked:])
		}
		// A person compares a day again; the daily job does not.
		if _, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: "2000-01-06"}); err != nil {
			t.Fatal(err)
		}
		asked = len(w.days)
		work(t, r, time.Hour)
		if len(w.days) != asked+2 || len(w.alarms) != 2 {
			t.Errorf("after a person's request: asked for %q, alarms %+v; want one more comparison", w.days[asked:], w.alarms)
		}
	})
}

// The zone of the daily job has summer time, and its time of day is before the midnight of UTC+8 in
// summer, and behind it in winter: every day is compared all the same.
func TestDailyInAZoneWithSummerTime(t *testing.T) {
	york, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		from, to time.Time
		want     string
	}{
		{time.Date(2000, 3, 31, 11, 0, 0, 0, york), time.Date(2000, 4, 4, 12, 0, 0, 0, york), "[2000-03-31 2000-04-01 2000-04-02 2000-04-03]"},               // it begins on 2 April
		{time.Date(2000, 10, 27, 11, 0, 0, 0, york), time.Date(2000, 10, 30, 12, 0, 0, 0, york), "[2000-10-26 2000-10-27 2000-10-28 2000-10-29 2000-10-30]"}, // it ends on 29 October
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.queue.Daily = &reconcile.Daily{At: 11*time.Hour + 30*time.Minute, Zone: york}
			time.Sleep(time.Until(tt.from))
			r := w.runs()
			work(t, r, time.Until(tt.to))
			runs, err := r.List(t.Context(), 10)
			var dates []string
			for _, run := range slices.Backward(runs) {
				dates = append(dates, run.Date)
			}
			if err != nil || fmt.Sprint(dates) != tt.want {
				t.Errorf("from %v to %v: %v, %v; want %s", tt.from, tt.to, dates, err, tt.want)
			}
		})
	}
}

// A process that dies while it starts the jobs of missed days leaves the rest to the next one.
func TestCrashBetweenMissedDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.queue.Daily = &reconcile.Daily{At: 10 * time.Hour, Zone: noon.Location()}
		afterwards()
		r := w.runs()
		work(t, r, time.Minute)
		time.Sleep(4 * 24 * time.Hour)
		w.commits = 2 // the first of four is started
		work(t, r, time.Second)
		w.commits = 0
		r = w.runs()
		work(t, r, time.Minute)
		if runs, err := r.List(t.Context(), 100); err != nil || len(runs) != 5 {
			t.Errorf("%d days, %v; want the first and the four missed ones: %+v", len(runs), err, runs)
		}
	})
}

// A person was quicker than the daily job, and could not have the bill: the daily job asks for it
// all the same, and reports.
func TestDailyAfterAFailedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.plant()
		w.queue.Daily = &reconcile.Daily{At: 12 * time.Hour, Zone: noon.Location(), Alarm: "ops"}
		w.billErr = errors.New("boom")
		afterwards()
		r := w.runs()
		if run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 9*time.Hour); run.Daily || run.State != reconcile.Waiting {
			t.Fatalf("%+v; want the person's request waiting", run)
		}
		work(t, r, 2*time.Hour)
		w.billErr = nil
		work(t, r, time.Hour)
		if run, err := r.Get(t.Context(), mustID(t, r)); err != nil || !run.Daily || run.State != reconcile.Done || len(w.alarms) != 1 || w.alarms[0].When != alarm.ReconcileDifferences {
			t.Errorf("%+v, %v, alarms %+v; want the daily job done, and its alarm", run, err, w.alarms)
		}
	})
}

// What the bill lacks near midnight is looked for in the bill of the day before, or by the
// comparison of the next day: none of it is only marked.
func TestMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		paid := func(no string, at time.Time) bill.Line {
			w.add(&bellman.Task{Key: "M1/" + no, MerchantNo: "M1", OrderNo: no, Event: order.EventWatch, Body: []byte(`{"amount":100,"currency":"CNY"}`),
				Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"PAID","decided_at":1,"taken":{"amount":100,"currency":"CNY","paid_at":%q}}`, at.UTC().Format(time.RFC3339))}})
			return bill.Line{ChannelOrderNo: no, Amount: 100, Currency: "CNY", State: "SUCCESS", Time: at.UTC()}
		}
		midnight := noon.Add(-12 * time.Hour)
		w.order("noon", "PAID")
		w.line("noon", 100)
		there := paid("there", midnight.Add(10*time.Second)) // the channel counted it to the day before
		there.Time = midnight.Add(-10 * time.Second).UTC()
		w.before = []bill.Line{there}
		paid("early", midnight.Add(10*time.Second))
		paid("before", midnight.Add(-10*time.Second))
		paid("evening", midnight.Add(24*time.Hour-10*time.Second)) // for the next day to find
		r := w.runs()
		compared := func(want reconcile.State) reconcile.Run {
			t.Helper()
			run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 5*time.Minute)
			if run.State != want {
				t.Fatalf("%+v; want it %s", run, want)
			}
			return run
		}
		run := compared(reconcile.Done)
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"missing_there early", "missing_there before"}) || run.Edge != 0 || run.Counts.Deferred != 1 {
			t.Errorf("%q, %+v; want the two that no bill has, and one left to the next day", found, run)
		}
		w.noneYet = errors.New("no longer available")
		run = compared(reconcile.Failed)
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"missing_there there", "missing_there early", "missing_there evening"}) || run.Edge != 3 {
			t.Errorf("without the bill before: %q, %+v; want all of the day, marked", found, run)
		}
	})
}

// Differences that may be in the bill of the day before, which cannot be had, are no reason for an
// alarm.
func TestNoAlarmOfTheEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.queue.Daily = &reconcile.Daily{At: 10 * time.Hour, Zone: noon.Location(), Alarm: "ops"}
		w.noneYet = errors.New("no longer available")
		at := noon.Add(10*time.Second - 12*time.Hour)
		w.add(&bellman.Task{Key: "M1/early", MerchantNo: "M1", OrderNo: "early", Event: order.EventWatch, Body: []byte(`{"amount":100,"currency":"CNY"}`),
			Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"PAID","decided_at":1,"taken":{"amount":100,"currency":"CNY","paid_at":%q}}`, at.UTC().Format(time.RFC3339))}})
		time.Sleep(time.Until(noon.Add(22*time.Hour + time.Minute)))
		r := w.runs()
		work(t, r, 11*time.Hour)
		run, err := r.Get(t.Context(), mustID(t, r))
		if err != nil || run.State != reconcile.Failed || run.Edge != 1 || run.Total() != 1 || len(w.alarms) != 1 || w.alarms[0].When != alarm.ReconcileFailed {
			t.Errorf("%+v, %v, alarms %+v; want one difference of the edge, and one alarm, of the bill", run, err, w.alarms)
		}
	})
}

// A person decides orders, and nobody says when they were paid. The bill of the day before has one.
// Another was created before that day, so that an older bill may have it. One that was created
// since is in no bill.
func TestDecidedWithoutATimeOfPayment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		midnight := noon.Add(-12 * time.Hour)
		for no, at := range map[string][2]time.Time{ // created and decided
			"before":   {midnight.Add(-9 * time.Hour), noon},
			"older":    {midnight.AddDate(0, 0, -2), noon},
			"evening":  {midnight.AddDate(0, 0, -2), midnight.Add(-time.Minute)},
			"nowhere":  {midnight.Add(-9 * time.Hour), noon},
			"same day": {noon, noon},
		} {
			w.add(&bellman.Task{Key: "M1/" + no, MerchantNo: "M1", OrderNo: no, Event: order.EventWatch, Body: fmt.Appendf(nil, `{"amount":100,"currency":"CNY","created":%q}`, at[0].UTC().Format(time.RFC3339)),
				Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"PAID","decided_at":%d,"taken":{"amount":100,"currency":"CNY"}}`, at[1].UnixMilli())}})
		}
		w.before = []bill.Line{{ChannelOrderNo: "before", Amount: 100, Currency: "CNY", State: "SUCCESS", Time: midnight.Add(-9 * time.Hour).UTC()}}
		r := w.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, 1)
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"missing_there nowhere", "missing_there same day"}) {
			t.Errorf("%q; want those that no bill can have", found)
		}
	})
}

// A day leaves what its bill lacks of its last hour to the next one. If that one cannot have the
// bill of the day before, its run fails and says so, and the next daily job compares it again:
// until then nothing is reported that is in the bills.
func TestMidnightWithoutTheBillBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.queue.Daily = &reconcile.Daily{At: 10 * time.Hour, Zone: noon.Location(), Alarm: "ops"}
		const next = "2000-01-03"
		bills, none := map[string][]bill.Line{}, map[string]error{}
		w.queue.Lines = func(_ context.Context, day string) iter.Seq2[bill.Line, error] {
			return func(yield func(bill.Line, error) bool) {
				if err := none[day]; err != nil {
					yield(bill.Line{}, err)
					return
				}
				for _, l := range bills[day] {
					if !yield(l, nil) {
						return
					}
				}
			}
		}
		paid := func(no, day string, here, there time.Time) {
			w.add(&bellman.Task{Key: "M1/" + no, MerchantNo: "M1", OrderNo: no, Event: order.EventWatch, Body: []byte(`{"amount":100,"currency":"CNY"}`),
				Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"PAID","decided_at":1,"taken":{"amount":100,"currency":"CNY","paid_at":%q}}`, here.UTC().Format(time.RFC3339))}})
			bills[day] = append(bills[day], bill.Line{ChannelOrderNo: no, Amount: 100, Currency: "CNY", State: "SUCCESS", Time: there.UTC(), Number: len(bills[day]) + 1})
		}
		midnight := noon.Add(12 * time.Hour)
		paid("noon", date, noon, noon)
		paid("evening", date, midnight.Add(-30*time.Minute), midnight.Add(-30*time.Minute))
		paid("late", next, midnight.Add(-time.Second), midnight.Add(time.Second))
		paid("lost", "", midnight.Add(-time.Second), midnight)
		paid("next noon", next, noon.AddDate(0, 0, 1), noon.AddDate(0, 0, 1))
		r := w.runs()
		at := func(day int) (runs []reconcile.Run) {
			t.Helper()
			time.Sleep(time.Until(time.Date(2000, 1, day, 10, 0, 1, 0, noon.Location())))
			work(t, r, time.Hour)
			runs, err := r.List(t.Context(), 10) // the newest days first
			if err != nil {
				t.Fatal(err)
			}
			return runs
		}
		if runs := at(3); len(runs) != 1 || runs[0].State != reconcile.Done || runs[0].Counts.Deferred != 2 || runs[0].Total() != 0 {
			t.Fatalf("on the 3rd: %+v; want %s done, with two orders left to the next day", runs, date)
		}
		none[date] = errors.New("boom")
		runs := at(4)
		if len(runs) != 2 || runs[0].State != reconcile.Failed || runs[0].Bills != 1 || len(runs[0].Left) != 1 || !runs[0].Left[0].Compared || runs[0].Total() != 0 {
			t.Fatalf("on the 4th: %+v; want %s compared without the bill before, and failed", runs, next)
		}
		if want := "the last hour of " + date + " that its bill lacks are not compared: that bill is not available: boom"; !strings.Contains(runs[0].Error, want) {
			t.Errorf("the error is %q; want %q", runs[0].Error, want)
		}
		if len(w.alarms) != 1 || w.alarms[0].When != alarm.ReconcileFailed || w.alarms[0].Date != next {
			t.Errorf("alarms %+v; want one of %s", w.alarms, next)
		}
		delete(none, date)
		runs = at(5)
		if len(runs) != 3 || runs[1].State != reconcile.Done || len(runs[1].Left) != 0 {
			t.Fatalf("on the 5th: %+v; want %s done", runs, next)
		}
		if found, _ := differences(t, r, runs[1].ID); !sameSet(found, []string{"missing_there lost"}) || runs[1].Edge != 0 {
			t.Errorf("%q; want the order that neither bill has", found)
		}
		if len(w.alarms) != 2 || w.alarms[1].When != alarm.ReconcileDifferences || w.alarms[1].Date != next {
			t.Errorf("alarms %+v; want one more, of the difference", w.alarms)
		}
	})
}
