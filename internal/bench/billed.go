package bench

import (
	"bufio"
	"compress/gzip"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/bellmanhq/bellman/internal/bill"
)

// plantedKinds are the kinds of differences, in the order in which orders have them. An order that
// waits is the first.
var plantedKinds = []bill.DifferenceKind{bill.StateDiffers, bill.MissingHere, bill.MissingThere, bill.AmountDiffers, bill.RefundDiffers, bill.Duplicate}

// A billed is a day of orders and their bill at WeChat Pay. The orders are numbered from 0: the
// first ones have differences, planted of each kind, and all others agree.
type billed struct {
	wechat  *wechat
	load    int
	numbers int // of orders, on either side
	planted int
	date    string
	noon    time.Time

	file *os.File // the bill, compressed
	hash []byte   // SHA-1 of the bill
}

// newBilled returns yesterday with a number of orders here, and about as many lines in the bill.
func newBilled(w *wechat, load, orders, planted int) *billed {
	const china = 8 * 60 * 60
	day := time.Now().In(time.FixedZone("", china)).AddDate(0, 0, -1)
	return &billed{wechat: w, load: load, numbers: orders + planted, planted: planted, date: day.Format(time.DateOnly),
		noon: time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, day.Location())}
}

// orders is the number of orders here.
func (b *billed) orders() int { return b.numbers - b.planted }

// kind returns how an order differs; empty: it agrees.
func (b *billed) kind(order int) bill.DifferenceKind {
	if k := order / b.planted; k < len(plantedKinds) {
		return plantedKinds[k]
	}
	return ""
}

func (b *billed) no(order int) string {
	no := orderNoOf(b.load, order)
	return string(no[:])
}

// number returns the order with a number of the channel.
func (b *billed) number(no string) (order int, ok bool) {
	return orderOf([]byte(no), b.load, b.numbers)
}

// scattered returns the i-th order in a sequence that looks random.
func (b *billed) scattered(i int) int {
	prime := uint64(7919)
	if uint64(b.numbers)%prime == 0 {
		prime = 7927
	}
	return int(uint64(i) * prime % uint64(b.numbers))
}

// The columns of a trade bill, https://pay.weixin.qq.com/doc/v3/merchant/4013071234.
const (
	billHead    = "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注\r\n"
	billPayment = "`%s 12:00:00,`wxd678efh567hg6787,`" + wechatMerchant + ",`0,`,`%s,`%s,`oUpF8uMuAJO_M2pxb1Q9zNjWeS6o,`NATIVE,`SUCCESS,`OTHERS,`CNY,`%[4]s,`0.00,`0,`0,`0.00,`0.00,`,`,`tea,`,`0.00000,`0.60%%,`%[4]s,`0.00,`\r\n"
	billRefund  = "`%s 13:00:00,`wxd678efh567hg6787,`" + wechatMerchant + ",`0,`,`%s,`%s,`oUpF8uMuAJO_M2pxb1Q9zNjWeS6o,`NATIVE,`REFUND,`OTHERS,`CNY,`0.00,`0.00,`50300000,`%[3]s-R1,`%[4]s,`0.00,`ORIGINAL,`SUCCESS,`tea,`,`0.00000,`0.60%%,`0.00,`%[4]s,`\r\n"
	billTotals  = "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\r\n`%d,`%s,`%s,`0.00,`0.00000,`%[2]s,`%[3]s\r\n"
)

func inYuan(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// write writes the bill to a file and returns the number of its lines.
func (b *billed) write(dir string) (lines int, err error) {
	if b.file, err = os.Create(filepath.Join(dir, "bill.csv.gz")); err != nil {
		return 0, err
	}
	packed, err := gzip.NewWriterLevel(b.file, gzip.BestSpeed)
	if err != nil {
		return 0, err
	}
	hash := sha1.New()
	out := bufio.NewWriterSize(io.MultiWriter(packed, hash), 1<<16)
	fmt.Fprint(out, billHead) // an error is the one of Flush
	paid, repaid := 0, 0
	payment := func(transaction string, no string, cents int) {
		fmt.Fprintf(out, billPayment, b.date, transaction, no, inYuan(cents))
		lines, paid = lines+1, paid+cents
	}
	for i := range b.numbers {
		order := b.scattered(i)
		no, kind, cents := b.no(order), b.kind(order), orderCosts
		transaction := "4200002" + no
		switch kind {
		case bill.MissingThere:
			continue
		case bill.AmountDiffers:
			cents++
		}
		payment(transaction, no, cents)
		switch kind {
		case bill.Duplicate:
			payment("4200003"+no, no, cents)
		case bill.RefundDiffers:
			fmt.Fprintf(out, billRefund, b.date, transaction, no, inYuan(cents))
			lines, repaid = lines+1, repaid+cents
		}
	}
	fmt.Fprintf(out, billTotals, lines, inYuan(paid), inYuan(repaid))
	err = errors.Join(out.Flush(), packed.Close())
	b.hash = hash.Sum(nil)
	return lines, err
}

// serve answers the requests for the bill.
func (b *billed) serve(w http.ResponseWriter, req *http.Request) bool {
	switch req.URL.Path {
	case "/v3/bill/tradebill":
		body := fmt.Appendf(nil, `{"download_url":"http://%s/v3/billdownload/file?token=x","hash_type":"SHA1","hash_value":"%x"}`, req.Host, b.hash)
		header, err := b.wechat.sign(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return true
		}
		for name := range header {
			w.Header()[name] = header[name]
		}
		w.Write(body)
	case "/v3/billdownload/file":
		http.ServeContent(w, req, "", time.Time{}, b.file)
	default:
		return false
	}
	return true
}
