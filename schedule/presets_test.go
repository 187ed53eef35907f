package schedule

import (
	"slices"
	"testing"
	"time"
)

// published has the published figures in seconds, written independently of the texts. The gaps
// begin with the delay of the first attempt.
var published = []struct {
	name     string
	kind     Kind
	attempts int // 0: unlimited
	total    int // from the first attempt to the last
	gaps     []int
	max      int
}{
	{"wechat_notify", Notify, 16, 86640, []int{0, 15, 15, 30, 180, 600, 1200, 1800, 1800, 1800, 3600, 10800, 10800, 10800, 21600, 21600}, 0},
	{"wechat_notify_legacy", Notify, 10, 11040, []int{0, 15, 15, 30, 180, 1800, 1800, 1800, 1800, 3600}, 0},
	{"alipay_notify", Notify, 8, 87840, []int{0, 240, 600, 600, 3600, 7200, 21600, 54000}, 0},
	{"alipay_notify_burst", Notify, 11, 87843, []int{0, 1, 1, 1, 240, 600, 600, 3600, 7200, 21600, 54000}, 0},
	{"alipay_intl_notify", Notify, 8, 87720, []int{0, 120, 600, 600, 3600, 7200, 21600, 54000}, 0},
	{"roncoo_notify", Notify, 5, 1380, []int{0, 60, 120, 300, 900}, 0},
	{"jeepay_notify", Notify, 6, 450, []int{0, 30, 60, 90, 120, 150}, 0},
	{"xxpay_notify", Notify, 6, 900, []int{0, 60, 120, 180, 240, 300}, 0},
	{"hyperswitch_webhook", Notify, 17, 86460, []int{0, 60, 300, 300, 600, 600, 600, 600, 600, 3600, 3600, 3600, 3600, 3600, 21600, 21600, 21600}, 0},
	{"killbill_push", Notify, 6, 139500, []int{0, 900, 1800, 7200, 43200, 86400}, 0},
	{"adyen_webhook", Notify, 100, 54 + 28920 + 88*28800, []int{0, 9, 18, 27, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 28800, 28800}, 30 * 86400},
	{"stripe_like", Notify, 8, 54*3600 + 2100, []int{0, 300, 1800, 7200, 14400, 28800, 57600, 86400}, 72 * 3600},
	{"nmi_webhook", Notify, 21, 211995, []int{0, 15, 60, 60, 60, 300, 900, 1800, 3600, 3600, 3600, 3600, 3600, 3600, 3600, 3600, 3600, 3600, 43200, 43200, 86400}, 0},
	{"payermax_notify", Notify, 6, 47730, []int{0, 30, 300, 600, 3600, 43200}, 0},
	{"payermax_payout", Notify, 10, 83320, []int{0, 10, 30, 60, 120, 300, 3600, 7200, 18000, 54000}, 0},
	{"useepay_notify", Notify, 9, 8340, []int{0, 60, 180, 300, 600, 900, 900, 1800, 3600}, 0},
	{"alipay_style_1m", Notify, 8, 87360, []int{0, 60, 300, 600, 3600, 7200, 21600, 54000}, 0},
	{"retry_5_10_30", Notify, 3, 40, []int{5, 10, 30}, 0},

	// 20 attempts in the first minute, then gaps of 120, 180, 300, 480, 780, 1080, 1380 and 1680 s.
	{"order_poll", Poll, 28, 1677, []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 60, 60, 120, 180, 300, 300, 300, 300}, 1800},
	{"order_poll_10m", Poll, 25, 597, []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 30, 30, 60, 120, 300}, 0},
	{"wechat_query_plan1", Poll, 7, 49*60 + 30, []int{5, 30, 60, 180, 300, 600, 1800}, 0},
	{"wechat_query_plan1_offsets", Poll, 7, 1795, []int{5, 25, 30, 120, 120, 300, 1200}, 0},
	{"wechat_query_plan2", Poll, 10, 270, []int{30, 30, 30, 30, 30, 30, 30, 30, 30, 30}, 600},
	{"wechat_native_front", Poll, 30, 58, []int{2, 2, 2, 2}, 60},
	{"wechat_micropay", Poll, 6, 25, []int{5, 5, 5, 5, 5, 5}, 45},
	{"wechat_f2f", Poll, 24, 3890, []int{10, 10, 10, 10, 10, 10, 20, 20, 20, 120, 120, 120, 120, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300}, 0},
	{"alipay_instore", Poll, 19, 54, []int{5, 3, 3, 3}, 60},
	{"alipay_f2f_demo", Poll, 5, 20, []int{5, 5, 5, 5, 5}, 0},
	{"unionpay_front", Poll, 5, 600 + 1800 + 3600 + 7200, []int{300, 600, 1800, 3600, 7200}, 0},
	{"unionpay_front_offsets", Poll, 5, 6900, []int{300, 300, 1200, 1800, 3600}, 0},
	{"unionpay_back", Poll, 6, 62, []int{1, 2, 4, 8, 16, 32}, 0},
	{"roncoo_poll", Poll, 6, 68, []int{2, 3, 5, 10, 20, 30}, 0},
	{"jeepay_poll", Poll, 0, 0, []int{5, 5, 5, 5, 5, 5, 570, 60, 60, 60}, 0},
	// Bands by age: 60 to 600 s, 1200 to 3600 s, 7200 to 86400 s, then each day.
	{"daxpay_sync", Poll, 0, 0, slices.Concat(repeat(10, 60), repeat(5, 600), repeat(23, 3600), repeat(5, 86400)), 0},
	{"hyperswitch_psync", Poll, 6, 1500, []int{60, 300, 300, 300, 300, 300}, 0},
	{"hyperswitch_psync_pm", Poll, 6, 1500, []int{900, 300, 300, 300, 300, 300}, 0},
	{"killbill_unknown", Poll, 7, 3600 + 5*86400, []int{300, 3600, 86400, 86400, 86400, 86400, 86400}, 0},
	{"killbill_pending", Poll, 2, 86400, []int{3600, 86400}, 0},

	{"wechat_refund", Poll, 246, 7179 * 60, []int{60, 60, 60, 60, 60, 300, 600, 1200, 1800, 1800}, 5 * 86400},
	{"wechat_transfer", Poll, 152, 258030, []int{10, 30, 60, 60, 60, 60, 60, 300, 600, 1200, 1800, 1800}, 3 * 86400},
	{"wechat_profitsharing", Poll, 102, 2859 * 60, []int{60, 60, 60, 60, 60, 300, 600, 1200, 1800, 1800}, 2 * 86400},
	{"alipay_refund", Poll, 59, 85170, []int{30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 300, 600, 1200, 1800, 1800}, 86400},
	{"alipay_transfer", Poll, 441, 259140, []int{60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 600, 600}, 3 * 86400},

	// The gaps after the first attempt are bellman's own: 5, 15, 30, 60 s, then every 300 s up to a
	// day.
	{"order_close_15m", Close, 289, 110 + 284*300, []int{900, 5, 15, 30, 60, 300, 300}, 86400},
	{"order_close_30m", Close, 286, 110 + 281*300, []int{1800, 5, 15, 30, 60, 300, 300}, 86400},
	{"order_close_2h", Close, 268, 110 + 263*300, []int{7200, 5, 15, 30, 60, 300, 300}, 86400},
}

func repeat(n, gap int) []int { return slices.Repeat([]int{gap}, n) }

func TestPresets(t *testing.T) {
	presets := Presets()
	if len(presets) != len(published) {
		t.Errorf("Presets() has %d; want %d", len(presets), len(published))
	}
	for i, tt := range published {
		t.Run(tt.name, func(t *testing.T) {
			p := presets[i]
			if p.Name != tt.name || p.Kind != tt.kind {
				t.Fatalf("Presets()[%d] is %s of kind %s; want %s of kind %s", i, p.Name, p.Kind, tt.name, tt.kind)
			}
			if p.Source == "" {
				t.Errorf("%s: no source", p.Name)
			}
			s, err := Parse(tt.name)
			if err != nil {
				t.Fatal(err)
			}
			if n, finite := s.Attempts(); n != tt.attempts || finite != (tt.attempts > 0) {
				t.Errorf("Attempts() = %d, %t; want %d", n, finite, tt.attempts)
			}
			if total, finite := s.Total(); total != seconds(tt.total) || finite != (tt.attempts > 0) {
				t.Errorf("Total() = %v, %t; want %v", total, finite, seconds(tt.total))
			}
			if s.MaxAge() != seconds(tt.max) {
				t.Errorf("MaxAge() = %v; want %v", s.MaxAge(), seconds(tt.max))
			}
			if s.jitter != 0 {
				t.Errorf("the jitter is %d%%; want none, because published schedules are exact", s.jitter)
			}
			last := start
			for n, gap := range tt.gaps {
				due, end := s.Next(n, start, last, 0.9)
				if due.Sub(last) != seconds(gap) || end != "" {
					t.Errorf("gap before attempt %d is %v, end %q; want %v", n+1, due.Sub(last), end, seconds(gap))
				}
				if nominal, ok := s.Gap(n); nominal != seconds(gap) || !ok {
					t.Errorf("Gap(%d) = %v, %t; want %v", n, nominal, ok, seconds(gap))
				}
				last = due
			}
			wellFormed(t, s)
		})
	}
}

func TestPresetsOnExhausted(t *testing.T) {
	want := map[string]string{
		"order_poll": "close", "order_poll_10m": "alert",
		"wechat_query_plan1": "close", "wechat_query_plan1_offsets": "close", "wechat_query_plan2": "close",
		"wechat_micropay": "reverse", "alipay_instore": "reverse", "alipay_f2f_demo": "reverse",
		"order_close_15m": "alert", "order_close_30m": "alert", "order_close_2h": "alert",
	}
	for _, p := range Presets() {
		if p.OnExhausted != want[p.Name] {
			t.Errorf("%s: OnExhausted %q; want %q", p.Name, p.OnExhausted, want[p.Name])
		}
		delete(want, p.Name)
	}
	if len(want) != 0 {
		t.Errorf("there are no presets %v", want)
	}
}

func TestPresetsAreACopy(t *testing.T) {
	Presets()[0].Text = "1h"
	if s, err := Parse(Presets()[0].Name); err != nil || s.String() == "1h" || Presets()[0].Text == "1h" {
		t.Errorf("Parse after the result of Presets() was changed = %v, %v; want no effect", s, err)
	}
}

var start = time.Date(2026, 11, 20, 15, 4, 5, 123e6, time.UTC)

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// wellFormed checks properties of every schedule.
func wellFormed(t interface {
	Helper()
	Errorf(string, ...any)
}, s *Schedule) {
	t.Helper()
	again, err := Parse(s.String())
	if err != nil {
		t.Errorf("Parse(%q) of the canonical text: %v", s, err)
		return
	}
	if !equal(s, again) {
		t.Errorf("%q is parsed again as %q: %+v; want %+v", s, again, again, s)
	}

	var first, last Row
	seen, ended := 0, false
	for row := range s.Rows() {
		if row.Number > 300 {
			ended = true
			break
		}
		if seen == 0 {
			first = row
		}
		// The rows of the table equal Next if every attempt starts when it is due.
		due, end := s.Next(seen, start, start.Add(last.Offset), 0)
		jittered, _ := s.Next(seen, start, start.Add(last.Offset), 0.999)
		if end != "" || due.Sub(start) != row.Offset || row.Offset-last.Offset != row.Gap || row.Total != row.Offset-first.Offset {
			t.Errorf("%q: Next(%d) = %v after the start, %q; want the row %+v", s, seen, due.Sub(start), end, row)
		}
		if jittered.Before(due) || jittered.Sub(due) > row.Gap*time.Duration(s.jitter)/100 {
			t.Errorf("%q: Next(%d) is %v, with jitter %v; want no earlier, and at most the jitter later", s, seen, due, jittered)
		}
		if s.MaxAge() > 0 && jittered.Sub(start) > s.MaxAge() {
			t.Errorf("%q: Next(%d) is due at age %v; want no more than max", s, seen, jittered.Sub(start))
		}
		seen, last = row.Number, row
	}
	if ended {
		return
	}
	n, finite := s.Attempts()
	total, _ := s.Total()
	if finite && (n != seen || total != last.Total) {
		t.Errorf("%q: Attempts() = %d, Total() = %v; want those of the table with %d rows, the last %+v", s, n, total, seen, last)
	}
	if finite {
		if due, end := s.Next(seen, start, start.Add(last.Offset), 0.5); end == "" || !due.IsZero() {
			t.Errorf("%q: Next(%d) = %v, %q; want the end of the schedule", s, seen, due, end)
		}
	}
}
