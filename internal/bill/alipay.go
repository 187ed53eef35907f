package bill

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/bellmanhq/bellman/internal/money"
)

// The first lines of the files in Alipay's archive.
const (
	alipayDetails = "#支付宝业务明细查询"
	alipayTotals  = "#支付宝业务汇总查询"
	alipayFunds   = "#支付宝账务"
)

// The bounds of an archive. A bill has a handful of files, and its text is packed to a tenth or
// less.
const (
	maxFiles    = 100
	maxListed   = 1 << 20 // bytes of the list of its files
	maxUnpacked = 4 << 30 // bytes of its files
	maxRatio    = 100     // … beyond the first 1 MiB, for each byte of the archive
)

// ReadAlipay yields the lines of Alipay's trade bill (bill_type trade): a zip archive of CSV files
// in GBK. The archive is copied to a temporary file in dir first; empty: the system's directory.
// The files with details (业务明细) are read, and the files with totals for each shop are not. Each
// file must end with 交易合计 and 退款合计, which must agree with its lines. The line 账号 says whose lines
// they are.
//
// The form was taken from published bills; Alipay's own description could not be confirmed. Neither
// could it be confirmed how Alipay writes a value that contains a comma: a line with too many
// values is read as a product's name with commas in it, if both times then stand where the header
// says.
func ReadAlipay(r io.Reader, dir string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		err := readAlipay(r, dir, func(l Line) bool { return yield(l, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(Line{}, fmt.Errorf("bill of Alipay: %w", err))
		}
	}
}

func readAlipay(r io.Reader, dir string, yield func(Line) bool) error {
	f, err := newTempFile(dir)
	if err != nil {
		return err
	}
	defer f.remove()
	size, err := io.Copy(f, r)
	if err != nil {
		return err
	}
	list := &listed{r: f, left: maxListed}
	archive, err := zip.NewReader(list, size)
	switch {
	case errors.Is(err, errFiles), err == nil && len(archive.File) > maxFiles:
		return errFiles
	case err != nil:
		return fmt.Errorf("is no zip archive: %w", err)
	}
	list.left = math.MaxInt64
	found, left := false, min(maxUnpacked, size*maxRatio+1<<20)
	for _, file := range archive.File {
		details, err := readAlipayFile(file, &left, yield)
		if err != nil {
			return err
		}
		found = found || details
	}
	if !found {
		return errors.New("the archive has no file that begins with " + alipayDetails)
	}
	return nil
}

// readAlipayFile reads one file of an archive, and reports whether it is one with details. It takes
// the bytes that it reads off left.
func readAlipayFile(file *zip.File, left *int64, yield func(Line) bool) (details bool, err error) {
	if file.FileInfo().IsDir() {
		return false, nil
	}
	r, err := file.Open()
	if err != nil {
		return false, err
	}
	defer r.Close()
	// GB 18030 contains GBK. A byte that is neither becomes U+FFFD.
	in := newText(simplifiedchinese.GB18030.NewDecoder().Reader(&bounded{r: r, left: left}))
	first, err := in.next()
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, err
	case strings.HasPrefix(first, alipayFunds):
		return false, errors.New("is the bill of the account's funds: want the trade bill, bill_type trade")
	case strings.HasPrefix(first, alipayTotals):
		return false, nil
	case !strings.HasPrefix(first, alipayDetails):
		return false, in.wrong(fmt.Errorf("is %.80q: want %s", first, alipayDetails))
	}
	return true, new(alipayBill).read(in, yield)
}

// errFiles is the error of an archive with too many files. The list of so many is not read to its
// end.
var errFiles = fmt.Errorf("the archive has more than %d files: is it a bill?", maxFiles)

// A listed archive can be read until left bytes were read: the list of its files, which is read
// into memory.
type listed struct {
	r    io.ReaderAt
	left int64
}

func (l *listed) ReadAt(p []byte, at int64) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errFiles
	}
	return l.r.ReadAt(p, at)
}

// A bounded reader fails once left bytes were read.
type bounded struct {
	r    io.Reader
	left *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if *b.left <= 0 {
		return 0, errors.New("the files of the archive are too long")
	}
	n, err := b.r.Read(p[:min(int64(len(p)), *b.left)])
	*b.left -= int64(n)
	return n, err
}

// An alipayBill is one file with details.
type alipayBill struct {
	owner  Owner // empty: the file has not said it
	header *table
	sums   [2]struct { // by Kind
		lines, received int64
		stated          bool
	}
}

func (b *alipayBill) read(in *text, yield func(Line) bool) error {
	for {
		row, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			if !b.sums[Payment].stated || !b.sums[Refund].stated {
				return ends(err)
			}
			return nil
		case err != nil:
			return err
		case strings.HasPrefix(row, "#"):
			if err := b.compare(row); err != nil {
				return in.wrong(err)
			}
			continue
		case b.header == nil:
			b.header = newTable(strings.Split(row, ","))
			if name := b.header.missing("支付宝交易号", "商户订单号", "业务类型", "商品名称", "创建时间", "完成时间", "订单金额(元)"); name != "" {
				return in.wrong(fmt.Errorf("is %.80q: want the header, with the column %s", row, name))
			}
			continue
		}
		l, err := b.line(row)
		if err != nil {
			return in.wrong(err)
		}
		if l.Number = in.n; !yield(l) {
			return errStopped
		}
	}
}

// line reads one line and adds it up.
func (b *alipayBill) line(row string) (Line, error) {
	t := b.header
	values, err := b.split(row)
	if err != nil {
		return Line{}, err
	}
	l := Line{
		TransactionID:  cell(values, t.column("支付宝交易号")),
		ChannelOrderNo: cell(values, t.column("商户订单号")),
		State:          cell(values, t.column("业务类型")),
		Currency:       "CNY",
		Owner:          b.owner,
	}
	if strings.ContainsRune(l.ChannelOrderNo+l.TransactionID, '\ufffd') {
		return Line{}, errors.New("the order's number is not in GBK")
	}
	if l.Time, err = chinaTime(cell(values, t.column("完成时间"))); err != nil {
		return Line{}, err
	}
	amount, err := yuan(t, values, t.column("订单金额(元)"))
	if err != nil {
		return Line{}, err
	}
	received, err := yuan(t, values, t.column("商家实收(元)"))
	if err != nil {
		return Line{}, err
	}
	switch {
	case l.State == "交易" && amount >= 0:
		l.Amount = amount
	case l.State == "退款" && amount <= 0:
		l.Kind, l.RefundAmount, l.RefundNo = Refund, -amount, cell(values, t.column("退款批次号/请求号"))
	default:
		return Line{}, fmt.Errorf("业务类型 is %.40q with %s: want 交易, or 退款 with a negative amount", l.State, money.Format(amount, "CNY"))
	}
	if b.sums[Payment].stated || b.sums[Refund].stated {
		return Line{}, errors.New("follows the totals: want no more lines")
	}
	s := &b.sums[l.Kind]
	s.lines++
	return l, add(&s.received, received)
}

// split returns the values of a line, one for each column.
func (b *alipayBill) split(row string) ([]string, error) {
	values := strings.Split(row, ",")
	more := len(values) - len(b.header.names)
	if name := b.header.column("商品名称"); more > 0 {
		values = append(append(values[:name:name], strings.Join(values[name:name+more+1], ",")), values[name+more+1:]...)
		_, begun := chinaTime(cell(values, b.header.column("创建时间")))
		_, done := chinaTime(cell(values, b.header.column("完成时间")))
		if begun == nil && done == nil {
			return values, nil
		}
	}
	if more != 0 {
		return nil, fmt.Errorf("has %d values: want %d, as the header has", len(b.header.names)+more, len(b.header.names))
	}
	return values, nil
}

// alipaySum matches "#交易合计：6笔，商家实收共0.06元，商家优惠共0.00元". Older bills have 交易金额共 instead. Which
// column that one adds up is not confirmed, so it is not read.
var alipaySum = regexp.MustCompile(`^#(交易|退款)合计[：:](\d+)笔(?:[，,]商家实收(?:退款)?共(-?[0-9.]+)元)?`)

// alipayAccount matches "#账号：[20884012345678900156]": the seller's number of 16 digits,
// and 0156 behind it in all published bills.
var alipayAccount = regexp.MustCompile(`^#账号[：:]\[?(2088\d{12})\d{0,4}(?:\D|$)`)

// compare compares a line of the file's totals with the lines, and keeps whose bill it is. Other
// comments are ignored.
func (b *alipayBill) compare(comment string) error {
	if !strings.HasPrefix(comment, "#账号") && !strings.Contains(comment, "合计") {
		return nil
	}
	if m := alipayAccount.FindStringSubmatch(comment); m != nil {
		b.owner = Owner{No: m[1]}
	}
	m := alipaySum.FindStringSubmatch(comment)
	if m == nil {
		return nil
	}
	kind := Payment
	if m[1] == "退款" {
		kind = Refund
	}
	s := &b.sums[kind]
	s.stated = true
	lines, err := parseWhole(m[2])
	if err != nil || lines != s.lines {
		return fmt.Errorf("%s合计 is %s, and there are %d lines: the bill is not complete, download it again", m[1], m[2], s.lines)
	}
	if m[3] == "" || b.header == nil || b.header.column("商家实收(元)") < 0 {
		return nil
	}
	received, err := parseAmount(m[3], "CNY")
	if err != nil || abs(received) != abs(s.received) {
		stated := m[3]
		if err == nil {
			stated = money.Format(received, "CNY")
		}
		return fmt.Errorf("%s合计 is %s, and the lines add up to %s: the bill is not complete, download it again", m[1], stated, money.Format(s.received, "CNY"))
	}
	return nil
}
