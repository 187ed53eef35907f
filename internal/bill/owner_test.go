package bill

import (
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"
)

// A bill of another merchant is refused with both numbers. Of a bill that has lines of several
// merchants, the account's own are compared. A bill that does not say whose it is, or an account
// without a number, has lines of its own alone.
func TestOwner(t *testing.T) {
	details := testdata(t, "alipay_details.csv")
	alipay := func(text string) iter.Seq2[Line, error] { return archive(t, zipped(t, detailsName, text)) }
	column := Mapping{ChannelOrderNo: "no", Amount: "fee", MchID: "mch"}
	file := func(m Mapping) iter.Seq2[Line, error] {
		return ReadCSV(strings.NewReader("no,fee,mch\na,1,111\nb,2,222\nc,3,222\n"), m)
	}
	provider := func(lines ...Owner) iter.Seq2[Line, error] {
		return func(yield func(Line, error) bool) {
			for i, o := range lines {
				if !yield(Line{ChannelOrderNo: fmt.Sprint(i), Amount: 1, Number: i + 1, Owner: o}, nil) {
					return
				}
			}
		}
	}
	tests := []struct {
		name        string
		lines       iter.Seq2[Line, error]
		owner       Owner
		own, others int
		want        string // the error
	}{
		{"trade, a merchant without its sub-merchants", trades(testdata(t, "wechat_trade.csv")), Owner{No: "180023671"}, 4, 1, ""},
		{"trade, a sub-merchant", trades(testdata(t, "wechat_trade.csv")), Owner{No: "180023671", Sub: "176531292"}, 1, 4, ""},
		{"trade, a sub-merchant by itself", trades(testdata(t, "wechat_trade.csv")), Owner{No: "176531292"}, 1, 4, ""},
		{"trade, another merchant", trades(testdata(t, "wechat_trade.csv")), Owner{No: "1900000001"}, 0, 0,
			"none of its 5 lines is of 1900000001: the first is of 180023671:176531292. Is it the bill of another merchant?"},
		{"trade, another sub-merchant", trades(testdata(t, "wechat_trade.csv")), Owner{No: "180023671", Sub: "176531293"}, 0, 0, "is of 180023671:176531293"},
		{"trade, older", trades(testdata(t, "wechat_trade_older.csv")), Owner{No: "10000100"}, 2, 0, ""},
		{"trade, older, another", trades(testdata(t, "wechat_trade_older.csv")), Owner{No: "10000101"}, 0, 0, "the first is of 10000100."},
		{"trade, no number is known", trades(testdata(t, "wechat_trade.csv")), Owner{}, 5, 0, ""},
		{"a sub-merchant's own", provider(Owner{No: "2"}, Owner{"1", "2"}, Owner{"3", "2"}), Owner{"1", "2"}, 2, 1, ""},
		{"a day on which only a provider's sub-merchants were paid", provider(Owner{"1", "2"}, Owner{"1", "3"}), Owner{No: "1"}, 0, 2, ""},
		{"fund flow does not say", funds(testdata(t, "wechat_fundflow.csv")), Owner{No: "1900000001"}, 2, 0, ""},
		{"alipay", alipay(details), Owner{No: "2088401234567890"}, 3, 0, ""},
		{"alipay, another seller", alipay(details), Owner{No: "2088401234567891"}, 0, 0, "none of its 3 lines is of 2088401234567891: the first is of 2088401234567890."},
		{"alipay does not say", alipay(strings.Replace(details, "#账号", "#账户", 1)), Owner{No: "2088401234567891"}, 3, 0, ""},
		{"CSV", file(column), Owner{No: "222"}, 2, 1, ""},
		{"CSV, a sub-merchant", file(column), Owner{No: "333", Sub: "111"}, 1, 2, ""},
		{"CSV, another", file(column), Owner{No: "333"}, 0, 0, "none of its 3 lines is of 333: the first is of 111."},
		{"CSV without the column", file(Mapping{ChannelOrderNo: "no", Amount: "fee"}), Owner{No: "333"}, 3, 0, ""},
	}
	for _, tt := range tests {
		o := Options{From: time.Date(2010, 1, 1, 0, 0, 0, 0, Zone), To: time.Date(2030, 1, 1, 0, 0, 0, 0, Zone), Dir: t.TempDir()}
		reported := 0
		counts, err := compareOne(t.Context(), Bill{Owner: tt.owner, Lines: tt.lines}, sequence[Decided](nil), o, func(d Difference) error {
			reported++
			return nil
		})
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) || reported > 0 {
				t.Errorf("%s: %v, %d differences; want %q, and none", tt.name, err, reported, tt.want)
			}
		case err != nil || counts.Payments+counts.Refunds != tt.own || counts.Others != tt.others:
			t.Errorf("%s: %+v, %v; want %d lines, and %d left out", tt.name, counts, err, tt.own, tt.others)
		}
	}
}
