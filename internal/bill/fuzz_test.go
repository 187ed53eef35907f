package bill

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// check checks what every reader promises of every line.
func check(t *testing.T, lines []Line) {
	t.Helper()
	last := 0
	for _, l := range lines {
		switch {
		case l.Amount < 0 || l.RefundAmount < 0:
			t.Errorf("negative amount: %+v", l)
		case l.Kind == Payment && (l.RefundAmount != 0 || l.RefundNo != "") || l.Kind == Refund && l.Amount != 0:
			t.Errorf("payment and refund in one: %+v", l)
		case l.Number < last:
			t.Errorf("line %d after line %d", l.Number, last)
		}
		last = l.Number
	}
}

// whole checks that a bill which is accepted is not accepted without one of its lines.
func whole(t *testing.T, text string, read func(text string) ([]Line, error)) {
	t.Helper()
	lines, err := read(text)
	check(t, lines)
	if err != nil {
		return
	}
	for _, l := range lines[:min(len(lines), 10)] {
		if _, err := read(drop(text, l.Number)); err == nil {
			t.Errorf("accepted without line %d", l.Number)
		}
	}
}

func FuzzReadWeChatTrade(f *testing.F) {
	f.Add(testdata(f, "wechat_trade.csv"))
	f.Add(testdata(f, "wechat_trade_older.csv"))
	f.Fuzz(func(t *testing.T, text string) {
		whole(t, text, func(text string) ([]Line, error) { return all(trades(text)) })
	})
}

func FuzzReadWeChatFundFlow(f *testing.F) {
	f.Add(testdata(f, "wechat_fundflow.csv"))
	f.Fuzz(func(t *testing.T, text string) {
		whole(t, text, func(text string) ([]Line, error) { return all(funds(text)) })
	})
}

// The text is in UTF-8, so that the fuzzer can read it; what GBK does not have is left out.
func FuzzReadAlipay(f *testing.F) {
	f.Add(testdata(f, "alipay_details.csv"))
	f.Add(testdata(f, "alipay_totals.csv"))
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.Map(func(r rune) rune {
			if r < 128 || r >= '一' && r <= '龥' || strings.ContainsRune("（），：￥", r) {
				return r
			}
			return -1
		}, strings.ToValidUTF8(text, ""))
		whole(t, text, func(text string) ([]Line, error) { return all(archive(t, zipped(t, detailsName, text))) })
	})
}

// Something that is no archive is an error.
func FuzzReadAlipayArchive(f *testing.F) {
	f.Add([]byte(zipped(f, detailsName, testdata(f, "alipay_details.csv"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := all(archive(t, string(data)))
		check(t, lines)
		if err == nil && len(data) < 22 {
			t.Errorf("%q was read as an archive", data)
		}
	})
}

// What was read, and is written again, is read the same.
func FuzzReadCSV(f *testing.F) {
	f.Add("o,1,2.5,CNY,OK,r1,1,2026-11-21 10:00:00\n", true, false)
	f.Add("o;1;25;;OK;;;\n", false, true)
	f.Fuzz(func(t *testing.T, text string, main, semicolon bool) {
		m := Mapping{ChannelOrderNo: "1", TransactionID: "2", Amount: "3", Currency: "4", State: "5", RefundNo: "6", RefundAmount: "7", Time: "8",
			NoHeader: true, MainUnits: main}
		if semicolon {
			m.Delimiter = ';'
		}
		lines, err := all(ReadCSV(strings.NewReader(text), m))
		check(t, lines)
		if err != nil {
			return
		}
		var again strings.Builder
		w := csv.NewWriter(&again)
		for _, l := range lines {
			at := ""
			if !l.Time.IsZero() {
				at = strconv.FormatInt(l.Time.UnixMilli(), 10)
			}
			amount, refunded := strconv.FormatInt(l.Amount, 10), ""
			if l.Kind == Refund {
				amount, refunded = "", strconv.FormatInt(l.RefundAmount, 10)
			}
			w.Write([]string{l.ChannelOrderNo, l.TransactionID, amount, l.Currency, l.State, l.RefundNo, refunded, at})
		}
		w.Flush()
		if len(lines) == 0 {
			return
		}
		m.Delimiter, m.MainUnits, m.TimeFormat = 0, false, "unix_ms"
		same, err := all(ReadCSV(strings.NewReader(again.String()), m))
		for i := range lines { // the text may have had empty lines, and times more digits
			lines[i].Number, lines[i].Time = i+1, lines[i].Time.Truncate(time.Millisecond)
		}
		for i := range same {
			same[i].Number = i + 1
		}
		if err != nil || fmt.Sprint(same) != fmt.Sprint(lines) {
			t.Errorf("%+v, %v; want %+v", same, err, lines)
		}
	})
}

// A record is read as it was written, and nothing else is read at all.
func FuzzRecord(f *testing.F) {
	l, d := pair(1, from, 5)
	f.Add(l.encode(ofBill, nil))
	f.Add(d.encode(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := decodeLine(data); err == nil {
			if again, err := decodeLine(l.encode(ofBill, nil)[1:]); err != nil || again != l {
				t.Errorf("%+v, %v; want %+v", again, err, l)
			}
		}
		if d, err := decodeDecided(data); err == nil {
			if again, err := decodeDecided(d.encode(nil)[1:]); err != nil || again != d {
				t.Errorf("%+v, %v; want %+v", again, err, d)
			}
		}
	})
}

// A spool yields what was added, sorted by key, and records of one key in the order in which they
// came.
func FuzzSpool(f *testing.F) {
	f.Add("b,a,c,a,a", 1)
	f.Add("b,a,c,a,a,aaaaaaaaa,aaaaaaaab,aaaaaaaa", 100)
	f.Add("", 1<<20)
	f.Fuzz(func(t *testing.T, text string, memory int) {
		s := newSpool(t.TempDir(), memory)
		defer s.close()
		keys := strings.Split(text, ",")
		var want []string
		for i, key := range keys[:min(len(keys), 300)] {
			value := strconv.Itoa(i)
			if err := s.add("", key, []byte(value)); err != nil {
				t.Fatal(err)
			}
			want = append(want, key+" "+value)
		}
		slices.SortStableFunc(want, func(a, b string) int {
			return strings.Compare(a[:strings.LastIndexByte(a, ' ')], b[:strings.LastIndexByte(b, ' ')])
		})
		var got []string
		for r, err := range s.all() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(r.key)+" "+string(r.value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
	})
}

func TestParseAmount(t *testing.T) {
	tests := []struct {
		text, currency string
		want           int64
		ok             bool
	}{
		{"88.88", "CNY", 8888, true}, {"-0.01", "CNY", -1, true}, {"0.00000", "CNY", 0, true}, {"88", "JPY", 88, true}, {"1.234", "KWD", 1234, true},
		{"1.001", "CNY", 0, false}, {"", "CNY", 0, false}, {"-", "CNY", 0, false}, {"--1", "CNY", 0, false}, {"1e2", "CNY", 0, false},
		{"1,000.00", "CNY", 0, false}, {"1", "XXX", 0, false},
	}
	for _, tt := range tests {
		got, err := parseAmount(tt.text, tt.currency)
		if (err == nil) != tt.ok || got != tt.want {
			t.Errorf("parseAmount(%q, %s) = %d, %v; want %d, %t", tt.text, tt.currency, got, err, tt.want, tt.ok)
		}
	}
}
