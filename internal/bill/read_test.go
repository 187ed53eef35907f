package bill

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"
)

var update = flag.Bool("update", false, "write the golden files")

// all reads a sequence to its end.
func all(lines iter.Seq2[Line, error]) (got []Line, err error) {
	for l, e := range lines {
		if err != nil {
			return got, fmt.Errorf("a line follows the error %w", err)
		}
		if err = e; err == nil {
			got = append(got, l)
		}
	}
	return got, err
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// zipped makes Alipay's archive of texts, by their names: both in GBK.
func zipped(t testing.TB, files ...string) string {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	encode := simplifiedchinese.GBK.NewEncoder()
	for i := 0; i < len(files); i += 2 {
		name, err := encode.String(files[i])
		if err != nil {
			t.Fatal(err)
		}
		text, err := encode.String(files[i+1])
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, NonUTF8: true, Method: zip.Deflate})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.String()
}

func trades(text string) iter.Seq2[Line, error] { return ReadWeChatTrade(strings.NewReader(text)) }
func funds(text string) iter.Seq2[Line, error]  { return ReadWeChatFundFlow(strings.NewReader(text)) }
func archive(t testing.TB, text string) iter.Seq2[Line, error] {
	return ReadAlipay(strings.NewReader(text), t.TempDir())
}

const detailsName = "20884012345678900156_20200722_业务明细.csv"

// The files in testdata have the form of the examples in the channels' documents.
func TestGolden(t *testing.T) {
	tests := []struct {
		name  string
		lines iter.Seq2[Line, error]
	}{
		{"wechat_trade", trades(testdata(t, "wechat_trade.csv"))},
		{"wechat_trade_older", trades(testdata(t, "wechat_trade_older.csv"))},
		{"wechat_fundflow", funds(testdata(t, "wechat_fundflow.csv"))},
		{"alipay", archive(t, zipped(t, "20884012345678900156_20200722_业务明细(汇总).csv", testdata(t, "alipay_totals.csv"), detailsName, testdata(t, "alipay_details.csv")))},
	}
	for _, tt := range tests {
		lines, err := all(tt.lines)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got strings.Builder
		for _, l := range lines {
			fmt.Fprintf(&got, "%d: %v %q, transaction %q, refund %q, %d, refunded %d %s, %q, failed %t, %s\n", l.Number, l.Kind,
				l.ChannelOrderNo, l.TransactionID, l.RefundNo, l.Amount, l.RefundAmount, l.Currency, l.State, l.Failed, l.Time.Format(time.RFC3339))
		}
		file := filepath.Join("testdata", tt.name+".golden")
		if *update {
			if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := testdata(t, tt.name+".golden"); got.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got.String(), want)
		}
	}
}

// drop returns a text without one of its lines, from 1.
func drop(text string, number int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(append(lines[:number-1:number-1], lines[number:]...), "")
}

// A bill that is not whole, or not a bill, is an error that says where.
func TestNotABill(t *testing.T) {
	trade, fund, details := testdata(t, "wechat_trade.csv"), testdata(t, "wechat_fundflow.csv"), testdata(t, "alipay_details.csv")
	alipay := func(text string) iter.Seq2[Line, error] { return archive(t, zipped(t, detailsName, text)) }
	change := func(text, old, to string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not there", old)
		}
		return strings.Replace(text, old, to, 1)
	}
	tests := []struct {
		name  string
		lines iter.Seq2[Line, error]
		want  string // a part of the error
	}{
		{"trade, empty", trades(""), "the file is empty"},
		{"trade, an answer that is no bill", trades(`{"code":"NO_STATEMENT_EXIST","message":"请求的账单文件不存在"}`), "want the header, with the column 交易时间"},
		{"trade, a fund flow bill", trades(fund), "line 1: is"},
		{"trade, a payment is missing", trades(drop(trade, 2)), "line 7: 总交易单数 is 5, and the lines add up to 4: the bill is not complete, download it again"},
		{"trade, cut off", trades(trade[:len(trade)/2]), "values: want 27, as the header has"},
		{"trade, cut off between lines", trades(drop(drop(trade, 8), 7)), "ends without its totals"},
		{"trade, cut off before the totals", trades(drop(trade, 8)), "ends without its totals"},
		{"trade, an amount", trades(change(trade, "`3.00,`0.00,`\r", "`3.01,`0.00,`\r")), "订单总金额 is 91.89 CNY, and the lines add up to 91.90 CNY"},
		{"trade, a settled amount", trades(change(trade, "`CNY,`3.00", "`CNY,`3.01")), "应结订单总金额 is 83.01 CNY, and the lines add up to 83.02 CNY"},
		{"trade, a refund", trades(change(trade, "`18.00,", "`18.01,")), "退款总金额 is 21.00 CNY, and the lines add up to 21.01 CNY"},
		{"trade, a refund that was asked for", trades(change(trade, "`20.00,", "`20.01,")), "申请退款总金额 is 23.00 CNY, and the lines add up to 23.01 CNY"},
		{"trade, a line after the totals", trades(trade + "`1"), "line 9: follows the totals"},
		{"trade, a state of the future", trades(change(trade, "`SUCCESS", "`HOVERING")), `line 2: 交易状态 is "HOVERING"`},
		{"trade, no time", trades(change(trade, "`2022-03-21 13:51:31", "`yesterday")), `line 2: "yesterday" is no time`},
		{"trade, no amount", trades(change(trade, "`88.88", "`8.8.8")), `line 3: 订单金额 "8.8.8": want an amount in CNY`},
		{"trade, a part of a fen", trades(change(trade, "`88.88", "`88.881")), "want an amount in CNY"},
		{"trade, too much", trades(change(trade, "`88.88", "`99999999999999999999")), "want an amount in CNY"},
		{"trade, too much in all", trades(change(change(trade, "`88.88", "`92233720368547758.07"), "`0.01,`0.00,`\r", "`0.02,`0.00,`\r")), "the sum of the lines is too large"},
		{"trade, a long line", trades(change(trade, "早餐", strings.Repeat("早", 30_000))), "line 5: the line is longer than 65536 bytes"},
		{"trade, a line without backquotes", trades(change(trade, "`2022-03-21 16:00:12", "2022-03-21 16:00:12")), "line 5: is"},

		{"fund flow, a line is missing", funds(drop(fund, 4)), "资金流水总笔数 is 3, and the lines add up to 2"},
		{"fund flow, an amount", funds(change(fund, "`8.88,", "`8.87,")), "收入金额 is 8.88 CNY, and the lines add up to 8.87 CNY"},
		{"fund flow, spent", funds(change(fund, "`0.05,", "`0.06,")), "支出金额 is 0.07 CNY, and the lines add up to 0.08 CNY"},
		{"fund flow, neither in nor out", funds(change(fund, "`收入,", "`不变,")), `line 3: 收支类型 is "不变" with 8.88`},

		{"alipay, no archive", archive(t, "<html>下载超时，请重新下载"), "is no zip archive"},
		{"alipay, no details", archive(t, zipped(t, "x.csv", testdata(t, "alipay_totals.csv"))), "the archive has no file that begins with"},
		{"alipay, funds", alipay("#支付宝账务明细查询\n"), "want the trade bill, bill_type trade"},
		{"alipay, something else", alipay("hello"), `line 1: is "hello"`},
		{"alipay, a payment is missing", alipay(drop(details, 6)), "line 9: 交易合计 is 2, and there are 1 lines"},
		{"alipay, a refund is missing", alipay(drop(details, 8)), "line 10: 退款合计 is 1, and there are 0 lines"},
		{"alipay, an amount", alipay(change(details, ",80.00,", ",80.01,")), "交易合计 is 81.00 CNY, and the lines add up to 81.01 CNY"},
		{"alipay, a refund's amount", alipay(change(details, ",-0.40,0.00", ",-0.41,0.00")), "退款合计 is -0.40 CNY, and the lines add up to -0.41 CNY"},
		{"alipay, cut off", alipay(details[:strings.Index(details, "#退款合计")]), "ends without its totals"},
		{"alipay, a line after the totals", alipay(details + strings.Split(details, "\n")[5]), "line 13: follows the totals"},
		{"alipay, no totals of payments", alipay(drop(details, 10)), "ends without its totals"},
		{"alipay, a line between the totals", alipay(change(details, "#退款合计", strings.Split(details, "\n")[7]+"\n#退款合计")), "line 11: follows the totals"},
		{"alipay, a line between the totals, the other way round", alipay(change(drop(details, 10), "#导出时间", strings.Split(details, "\n")[5]+"\n#导出时间")), "line 11: follows the totals"},
		{"alipay, no time", alipay(change(details, "2020-07-22 16:14:24", "yesterday")), `line 6: "yesterday" is no time`},
		{"alipay, no amount", alipay(change(details, ",1.00,1.00,", ",one,1.00,")), `line 6: 订单金额(元) "one"`},
		{"alipay, no amount received", alipay(change(details, ",1.00,1.00,", ",1.00,one,")), `line 6: 商家实收(元) "one"`},
		{"alipay, a payment below nothing", alipay(change(details, ",1.00,1.00,", ",-1.00,1.00,")), `line 6: 业务类型 is "交易" with -1.00`},
		{"alipay, a refund above nothing", alipay(change(details, ",-0.40,-0.40,", ",0.40,-0.40,")), `line 8: 业务类型 is "退款" with 0.40`},
		{"alipay, too few values", alipay(change(details, ",院内充值,", ",")), "line 6: has 24 values: want 25"},
		{"alipay, no header", alipay(change(details, "商户订单号", "订单号")), "want the header, with the column 商户订单号"},
		{"alipay, too many", alipay(change(details, "交易合计：2笔", "交易合计：99999999999999999999笔")), "交易合计 is 99999999999999999999, and there are 2 lines"},
		{"alipay, no sum", alipay(change(details, "共81.00元", "共8.1.00元")), "交易合计 is 8.1.00, and the lines add up to 81.00 CNY"},
		{"alipay, a type of the future", alipay(change(details, "交易\t", "冻结\t")), `line 6: 业务类型 is "冻结" with 1.00`},
		{"alipay, a comma that cannot be placed", alipay(change(details, "花呗红包", "花呗,红包")), "line 6: has 26 values: want 25"},
	}
	for _, tt := range tests {
		if _, err := all(tt.lines); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}

// An amount has the decimals of its line's currency.
func TestYenOfWeChat(t *testing.T) {
	yen := strings.Replace(testdata(t, "wechat_trade.csv"), "`CNY,`3.00", "`JPY,`3.00", 1)
	lines, err := all(trades(yen))
	if err != nil || lines[3].Currency != "JPY" || lines[3].Amount != 3 {
		t.Errorf("%+v, %v; want 3 JPY", lines[3], err)
	}
	if _, err := all(trades(strings.Replace(yen, "`JPY,", "`RMB,", 1))); err == nil || !strings.Contains(err.Error(), `there is no currency "RMB"`) {
		t.Errorf("%v; want an error", err)
	}
}

// A line of WeChat Pay's trade bill is a payment, or a refund in some state.
func TestLineOfWeChat(t *testing.T) {
	const header = "交易时间,商户订单号,交易状态,订单金额,商户退款单号,申请退款金额,退款状态"
	for _, tt := range []struct {
		line, more string // more: 退款申请时间, which only the bill of refunds has
		want       string
	}{
		{"SUCCESS,88.88,0,0.00,", "", "payment 8888 0 SUCCESS"},
		{"REFUND,88.88,r,20.00,SUCCESS", "", "refund 0 2000 SUCCESS"},
		{"REFUND,88.88,r,-20.00,SUCCESS", "", "refund 0 2000 SUCCESS"},
		{"REFUND,88.88,r,0.00,", "", "refund 0 0 REFUND"},
		{"REFUND,88.88,r,20.00,PROCESSING", "", "refund 0 2000 PROCESSING"},
		{"REFUND,88.88,r,20.00,FAIL", "", "refund 0 2000 FAIL failed"},
		{"REFUND,88.88,r,20.00,CHANGE", "", "refund 0 2000 CHANGE failed"},
		{"REFUND,88.88,r,20.00,CLOSED", "", "refund 0 2000 CLOSED failed"},
		{"REFUND,88.88,r,20.00,REFUNDCLOSE", "", "refund 0 2000 REFUNDCLOSE failed"},
		{"REFUND,88.88,r,20.00,ABNORMAL", "", "refund 0 2000 ABNORMAL failed"},
		{"REVOKED,88.88,0,0.00,FAIL", "", "refund 0 8888 REVOKED"},
		{"REVOKED,88.88,0,20.00,", "", "refund 0 2000 REVOKED"},
		{"REVOKED,x,0,20.00,", "", "refund 0 2000 REVOKED"},
		{"REFUND,88.88,r,20.00,SUCCESS", "2022-03-21 14:00:00", "refund 0 2000 SUCCESS at 14"},
		{"SUCCESS,x,0,0.00,", "", "error"}, {"REFUND,88.88,r,x,", "", "error"}, {"REVOKED,x,0,0.00,", "", "error"}, {"REVOKED,88.88,0,x,", "", "error"},
		{"REFUND,88.88,r,20.00,SUCCESS", "soon", "error"},
	} {
		columns, values := header, "2022-03-21 13:00:00,o1,"+tt.line
		if tt.more != "" {
			columns, values = columns+",退款申请时间", values+","+tt.more
		}
		l, keep, err := newTrade(newTable(strings.Split(columns, ",")))(strings.Split(values, ","))
		got := fmt.Sprint(l.Kind, " ", l.Amount, " ", l.RefundAmount, " ", l.State)
		if l.Failed {
			got += " failed"
		}
		if hour := l.Time.In(Zone).Hour(); hour != 13 {
			got += fmt.Sprint(" at ", hour)
		}
		if err != nil {
			got = "error"
		}
		if got != tt.want || err == nil && !keep {
			t.Errorf("%s, %s: %s, %v; want %s", tt.line, tt.more, got, err, tt.want)
		}
	}
}

func TestAdd(t *testing.T) {
	for _, tt := range []struct {
		total, n, want int64
		wrong          bool
	}{
		{1, 2, 3, false}, {1, -2, -1, false}, {math.MaxInt64 - 1, 1, math.MaxInt64, false}, {math.MaxInt64, 1, 0, true}, {math.MaxInt64, 0, math.MaxInt64, false},
		{math.MinInt64 + 1, -1, math.MinInt64, false}, {math.MinInt64, -1, 0, true}, {math.MinInt64, 0, math.MinInt64, false},
	} {
		total := tt.total
		if err := add(&total, tt.n); (err != nil) != tt.wrong || err == nil && total != tt.want {
			t.Errorf("%d + %d = %d, %v; want %d", tt.total, tt.n, total, err, tt.want)
		}
	}
}

// The text of a product or of a remark may contain what separates values: anybody can choose it.
func TestSeparatorInATextOfWeChat(t *testing.T) {
	for _, tt := range []struct{ name, text, in string }{
		{"wechat_trade", "早餐", "早`餐,`,`"},
		{"wechat_trade", "微信云托管支付测试,`", "微信,`attach,`1"}, // 商户数据包
		{"wechat_fundflow", "订单,含运费", "订单,`含运费,``"},
	} {
		read := map[string]func(io.Reader) iter.Seq2[Line, error]{"wechat_trade": ReadWeChatTrade, "wechat_fundflow": ReadWeChatFundFlow}[tt.name]
		text := testdata(t, tt.name+".csv")
		want, err := all(read(strings.NewReader(text)))
		if err != nil || !strings.Contains(text, tt.text) {
			t.Fatal(tt.text, err)
		}
		got, err := all(read(strings.NewReader(strings.Replace(text, tt.text, tt.in, 1))))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, %s: %+v, %v; want the same lines as without it", tt.name, tt.in, got, err)
		}
	}
}

// Older bills of Alipay state no sum of what was received, or have no column of it. A payment of
// nothing is one.
func TestOlderBillsOfAlipay(t *testing.T) {
	details := testdata(t, "alipay_details.csv")
	want, err := all(archive(t, zipped(t, detailsName, details)))
	if err != nil {
		t.Fatal(err)
	}
	want[0].Amount, want[2].RefundAmount = 0, 0
	nothing := strings.NewReplacer(",1.00,1.00,", ",0.00,1.00,", ",-0.40,-0.40,", ",0.00,-0.40,").Replace(details)
	for name, text := range map[string]string{
		"no sum":    strings.NewReplacer("商家实收共81.00元", "交易金额共88.88元", "商家实收退款共-0.40元", "退款金额共-0.40元").Replace(nothing),
		"no column": strings.NewReplacer("商家实收（元）", "实收（元）", "共81.00元", "共1.00元").Replace(nothing),
	} {
		if got, err := all(archive(t, zipped(t, detailsName, text))); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
}

// The bound on the list of an archive's files is none on the files.
func TestLongArchive(t *testing.T) {
	details := testdata(t, "alipay_details.csv")
	want, err := all(archive(t, zipped(t, detailsName, details)))
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(details, "\n")
	random, chance := make([]byte, maxListed+1<<16), rand.NewChaCha8([32]byte{})
	chance.Read(random)
	for comment := range slices.Chunk(random, 1<<10) {
		first += fmt.Sprintf("\n#%x", comment)
	}
	got, err := all(archive(t, zipped(t, "a directory/", "", detailsName, first+"\n"+rest)))
	for i := range got {
		got[i].Number = want[i].Number
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d lines, %v; want the same as without comments", len(got), err)
	}
}

// A consumer may stop at any line.
func TestStop(t *testing.T) {
	sequences := []iter.Seq2[Line, error]{
		trades(testdata(t, "wechat_trade.csv")), funds(testdata(t, "wechat_fundflow.csv")),
		archive(t, zipped(t, detailsName, testdata(t, "alipay_details.csv"))),
		ReadCSV(strings.NewReader("a,1\nb,2\n"), Mapping{ChannelOrderNo: "1", Amount: "2", NoHeader: true}),
	}
	for i, lines := range sequences {
		n := 0
		for _, err := range lines {
			if n++; err != nil {
				t.Errorf("sequence %d: %v", i, err)
			}
			break
		}
		if n != 1 {
			t.Errorf("sequence %d: %d lines; want 1", i, n)
		}
	}
}

// An archive's temporary file is removed, whatever becomes of the reading.
func TestArchiveIsRemoved(t *testing.T) {
	dir := t.TempDir()
	whole := zipped(t, detailsName, testdata(t, "alipay_details.csv"))
	for _, text := range []string{whole, whole[:len(whole)/2], ""} {
		for range ReadAlipay(strings.NewReader(text), dir) {
			break
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%d files are left, %v", len(left), err)
		}
	}
}

func TestReadCSV(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	named := Mapping{ChannelOrderNo: "order", TransactionID: "id", Amount: "amount", Currency: "cur", State: "state",
		RefundNo: "refund", RefundAmount: "refunded", Time: "time"}
	with := func(change func(*Mapping)) Mapping {
		m := named
		change(&m)
		return m
	}
	payment := Line{ChannelOrderNo: "o1", TransactionID: "t1", Amount: 8880, Currency: "CNY", State: "OK", Time: at, Number: 2}
	refunded := Line{ChannelOrderNo: "o1", TransactionID: "t1", Kind: Refund, RefundAmount: 80, Currency: "CNY", State: "OK", Time: at, Number: 2}
	numbered := refunded
	numbered.RefundNo = "r1"
	changed := func(l Line, change func(*Line)) Line {
		change(&l)
		return l
	}
	const header = "order,id,amount,cur,state,refund,refunded,time\n"
	tests := []struct {
		name, text string
		m          Mapping
		want       []Line
	}{
		{"payment", header + "o1,t1,8880,CNY,OK,,,2026-11-21 18:00:00\n", named, []Line{payment}},
		{"quoted, with a byte order mark and empty lines", "\ufeff" + header + "\n\"o1\",t1,8880,cny,\"OK\",0,0,2026-11-21 18:00:00\n", named,
			[]Line{changed(payment, func(l *Line) { l.Number = 3 })}},
		{"a byte order mark before a quote", "\ufeff\"order\",id,amount,cur,state,refund,refunded,time\no1,t1,8880,,OK,,,2026-11-21 18:00:00\r\n", named, []Line{payment}},
		{"a byte order mark before data", "\ufeffo1,8880\n", Mapping{ChannelOrderNo: "1", Amount: "2", NoHeader: true}, []Line{{ChannelOrderNo: "o1", Amount: 8880, Currency: "CNY", Number: 1}}},
		{"as channels write", header + "`o1,`t1\t,` 8880,`CNY,`OK,`0,`0,`2026-11-21 18:00:00\n", named, []Line{payment}},
		{"main units", header + "o1,t1,88.8,,OK,,,2026-11-21 18:00:00\n", with(func(m *Mapping) { m.MainUnits = true }), []Line{payment}},
		{"main units of yen", header + "o1,t1,8880,JPY,OK,,,2026-11-21 18:00:00\n", with(func(m *Mapping) { m.MainUnits = true }),
			[]Line{changed(payment, func(l *Line) { l.Currency = "JPY" })}},
		{"main units of dinar", header + "o1,t1,8.88,,OK,,,2026-11-21 18:00:00\n", with(func(m *Mapping) { m.MainUnits, m.DefaultCurrency = true, "KWD" }),
			[]Line{changed(payment, func(l *Line) { l.Currency = "KWD" })}},
		{"refund with a number", header + "o1,t1,8880,,OK,r1,80,2026-11-21 18:00:00\n", named, []Line{numbered}},
		{"refund with a number, and its amount as the amount", header + "o1,t1,-80,,OK,r1,,2026-11-21 18:00:00\n", named, []Line{numbered}},
		{"refund without its order, where that is of no use", header + ",t1,,,OK,r1,80,2026-11-21 18:00:00\n", with(func(m *Mapping) { m.RefundNoAlone = true }),
			[]Line{changed(numbered, func(l *Line) { l.ChannelOrderNo = "" })}},
		{"negative amount", header + "o1,t1,-80,,OK,,,2026-11-21 18:00:00\n", named, []Line{refunded}},
		{"refund alone", header + "o1,t1,,,OK,,80,2026-11-21 18:00:00\n", named, []Line{refunded}},
		{"payment and refund", header + "o1,t1,8880,,OK,,80,2026-11-21 18:00:00\n", named, []Line{payment, refunded}},
		{"failed", header + "o1,t1,8880,,OK,,,2026-11-21 18:00:00\n", with(func(m *Mapping) { m.Paid = []string{"PAID", "DONE"} }),
			[]Line{changed(payment, func(l *Line) { l.Failed = true })}},
		{"not failed", header + "o1,t1,8880,,OK,,,2026-11-21 18:00:00\n", with(func(m *Mapping) { m.Paid = []string{"OK"} }), []Line{payment}},
		{"numbers, no header, semicolons", "o1;x;8880\n", Mapping{ChannelOrderNo: "1", Amount: "3", NoHeader: true, Delimiter: ';'},
			[]Line{{ChannelOrderNo: "o1", Amount: 8880, Currency: "CNY", Number: 1}}},
		{"numbers under a header", "a,b\no1,5\n", Mapping{ChannelOrderNo: "1", Amount: "2"}, []Line{{ChannelOrderNo: "o1", Amount: 5, Currency: "CNY", Number: 2}}},
		{"a zone", header + "o1,t1,8880,,OK,,,2026-11-21 11:00:00\n", with(func(m *Mapping) { m.Zone = berlin }), []Line{payment}},
		{"a form of time", header + "o1,t1,8880,,OK,,,2026-11-21T12:00:00+02:00\n", with(func(m *Mapping) { m.TimeFormat = time.RFC3339 }), []Line{payment}},
		{"seconds", header + fmt.Sprintf("o1,t1,8880,,OK,,,%d\n", at.Unix()), with(func(m *Mapping) { m.TimeFormat = "unix" }), []Line{payment}},
		{"milliseconds", header + fmt.Sprintf("o1,t1,8880,,OK,,,%d\n", at.UnixMilli()), with(func(m *Mapping) { m.TimeFormat = "unix_ms" }), []Line{payment}},
	}
	for _, tt := range tests {
		got, err := all(ReadCSV(strings.NewReader(tt.text), tt.m))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
	text, err := simplifiedchinese.GBK.NewEncoder().String("订单号,金额（元）\n甲1,0.01\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := all(ReadCSV(strings.NewReader(text), Mapping{ChannelOrderNo: "订单号", Amount: "金额(元)", MainUnits: true, GBK: true}))
	if err != nil || len(got) != 1 || got[0].ChannelOrderNo != "甲1" || got[0].Amount != 1 {
		t.Errorf("GBK: %+v, %v", got, err)
	}
}

func TestReadCSVRefuses(t *testing.T) {
	m := Mapping{ChannelOrderNo: "order", Amount: "amount", Time: "3"}
	tests := []struct {
		name, text string
		m          Mapping
		want       string
	}{
		{"empty", "", m, "the file is empty"},
		{"no mapping", "a,b\n", Mapping{}, "the mapping names no column"},
		{"no such column", "order,betrag,time\n", m, `line 1: there is no column "amount": the first line has "order, betrag, time"`},
		{"no such number", "order,amount\n", m, `line 1: there is no column "3": the first line has "order, amount"`},
		{"no order", "order,amount,time\n,5,\n", m, "line 2: has no channel_order_no"},
		{"a refund without its order", "order,amount,time,refund\na,5,,\n,5,,r1\n", Mapping{ChannelOrderNo: "order", Amount: "amount", RefundNo: "refund"}, `line 3: channel_order_no is missing for the refund "r1": want the number of its order`},
		{"an amount", "order,amount,time\na,5,\nb,5.0x,\n", m, `line 3: amount: "5.0x": want a whole number, or units=main`},
		{"main units where there should be none", "order,amount,time\na,5.01,\n", m, `line 2: amount: "5.01": want a whole number, or units=main for amounts such as 88.80`},
		{"a currency", "order,amount,time\na,5,\n", Mapping{ChannelOrderNo: "order", Amount: "amount", DefaultCurrency: "RMB"}, `there is no currency "RMB"`},
		{"a time", "order,amount,time\na,5,now\n", m, `line 2: time: "now" is not in the form 2006-01-02 15:04:05`},
		{"another number of values", "order,amount,time\na,5\n", m, "wrong number of fields"},
		{"a quote that is not closed", "order,amount,time\n\"a,5,\n" + strings.Repeat("b,5,\n", 50_000), m, "is a quote not closed?"},
		{"GBK that the mapping does not name", "order,amount,time\n\xb6\xa9,5,\n", m, "another encoding"},
	}
	for _, tt := range tests {
		if _, err := all(ReadCSV(strings.NewReader(tt.text), tt.m)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}
