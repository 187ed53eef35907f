package bill

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The money of a refund leaves the account when the refund is accepted. It comes back if the refund
// is closed, on the same day or later: bellman must then know that the refund failed.
func TestRefundClosedInTheFundFlow(t *testing.T) {
	const (
		header = "记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,收支金额(元),账户结余(元),资金变更提交申请人,备注,业务凭证号\n"
		out    = "`2026-11-21 10:00:00,`50300,`1,`退款,`退款,`支出,`0.40,`9.60,`1900000001API,`,`r1\n"
		back   = "`2026-11-21 15:00:00,`50300,`2,`退款,`退款关闭,`收入,`0.40,`10.00,`system,`,`r1\n"
		totals = "资金流水总笔数,收入笔数,收入金额,支出笔数,支出金额\n"
	)
	paid, order := pair(1, from.Add(10*time.Hour), 100)
	_, done := refund(paid, order, "r1", 40)
	failed := done
	failed.Paid, failed.State = false, "FAILED_THERE"
	differs := []finding{{RefundDiffers, ""}}
	for _, tt := range []struct {
		name string
		text []string
		item Decided
		want []finding
	}{
		{"made", []string{out}, done, nil},
		{"failed, and its money came back", []string{out, back}, failed, nil},
		{"failed, and the money of a day before came back", []string{back}, failed, nil},
		{"made, and its money came back", []string{out, back}, done, differs},
		{"made, and the money of a day before came back", []string{back}, done, differs},
	} {
		in := strings.Count(strings.Join(tt.text, ""), "收入")
		sums := fmt.Sprintf("`%d,`%d,`%.2f,`%d,`%.2f\n", len(tt.text), in, 0.4*float64(in), len(tt.text)-in, 0.4*float64(len(tt.text)-in))
		lines, err := all(funds(header + strings.Join(tt.text, "") + totals + sums))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got, counts := compare(t, lines, []Decided{tt.item}, Options{Received: true}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, counts %+v; want %v", tt.name, got, counts, tt.want)
		}
	}
}
