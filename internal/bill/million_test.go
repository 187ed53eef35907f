package bill

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"time"
)

// generated is the text of a trade bill with n payments, in an order in which nobody has sorted
// them. It is made while it is read.
func generated(n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		out := bufio.NewWriter(w)
		fmt.Fprintln(out, "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注")
		total := int64(0)
		for i := range n {
			k := scatter(i, n, 7919)
			amount := int64(100 + k%9900)
			total += amount
			fmt.Fprintf(out, "`%s,`wxfdc955f7104ad557,`1800236710,`0,`,`42000006120321%014d,`2021WERUN%014d,`oZWaCKXip5njeEiloC4oeOV1TTsk,`JSAPI,`SUCCESS,`OTHERS,`CNY,`%s,`0.00,`0,`0,`0.00,`0.00,`,`,`微信支付测试,`,`0.00000,`0.60%%,`%[4]s,`0.00,`\r\n",
				paidAt(k, n).In(Zone).Format(time.DateTime), k, k, inYuan(amount))
		}
		fmt.Fprintf(out, "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\r\n`%d,`%s,`0.00,`0.00,`0.00000,`%[2]s,`0.00\r\n", n, inYuan(total))
		out.Flush()
		w.Close()
	}()
	return r
}

// generatedOrders are the orders of the generated bill, in another order.
func generatedOrders(n int) iter.Seq2[Decided, error] {
	return func(yield func(Decided, error) bool) {
		for i := range n {
			k := scatter(i, n, 104729)
			no := fmt.Sprintf("2021WERUN%014d", k)
			d := Decided{ChannelOrderNo: no, MerchantNo: "merchant-17", OrderNo: no, TaskID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", k), State: "PAID", Paid: true,
				Amount: int64(100 + k%9900), Currency: "CNY", TransactionID: fmt.Sprintf("42000006120321%014d", k), PaidAt: paidAt(k, n)}
			if k%1000 == 0 {
				d.Amount++ // one in a thousand differs
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// scatter returns the i-th of the numbers below n in an order that looks random; prime must not
// divide n.
func scatter(i, n, prime int) int { return int(uint64(i) * uint64(prime) % uint64(n)) }

func paidAt(k, n int) time.Time {
	return from.Add(time.Hour + time.Duration(k)*(22*time.Hour)/time.Duration(n)).Truncate(time.Second)
}

// peak returns the most memory that was resident since reset, in MiB; 0: the system does not say.
func peak() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	if fields := bytes.Fields(rest); len(fields) > 0 {
		kb, _ := strconv.ParseFloat(string(fields[0]), 64)
		return kb / 1024
	}
	return 0
}

// reset makes peak begin anew, with what is resident now.
func reset() {
	debug.FreeOSMemory()
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // where this is not allowed, peak is since the start
}

// BenchmarkMillion compares a bill of a million lines, as text, with a million orders.
func BenchmarkMillion(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		reset()
		o := Options{From: from, To: to, Dir: b.TempDir()}
		counts, err := compareOne(b.Context(), Bill{Owner: Owner{No: "1800236710"}, Lines: ReadWeChatTrade(generated(n))}, generatedOrders(n), o, func(Difference) error { return nil })
		if err != nil || counts.Matched != n-n/1000 || counts.Differences[AmountDiffers] != n/1000 {
			b.Fatalf("%+v, %v", counts, err)
		}
		b.ReportMetric(peak(), "peak-MiB")
	}
}

// A bill ten times as long takes no more memory, but for the ends of the sorted runs.
func TestMemoryIsBounded(t *testing.T) {
	if peak() == 0 {
		t.Skip("the system does not say how much memory is resident")
	}
	if testing.Short() {
		t.Skip("takes seconds")
	}
	measure := func(n int) float64 {
		reset()
		_, err := compareOne(t.Context(), Bill{Lines: ReadWeChatTrade(generated(n))}, generatedOrders(n), Options{From: from, To: to, Dir: t.TempDir(), Memory: 4 << 20}, func(Difference) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return peak()
	}
	measure(20_000)
	small := measure(20_000)
	large := measure(200_000)
	for try := 1; try < 3 && large > small+24; try++ { // on a busy machine garbage may be collected late
		large = min(large, measure(200_000))
	}
	if large > small+24 {
		t.Errorf("200,000 lines took %.0f MiB, and 20,000 took %.0f", large, small)
	} else {
		t.Logf("200,000 lines took %.0f MiB, and 20,000 took %.0f", large, small)
	}
}

// inYuan writes an amount as a bill has it.
func inYuan(n int64) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }
