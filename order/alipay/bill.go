package alipay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
)

const billMethod = "alipay.data.dataservice.bill.downloadurl.query"

// maxBill bounds the bytes of a bill's archive.
const maxBill = 1 << 30

// DownloadBill writes the trade bill of a date, such as 2026-11-21 (UTC+8), to w: a zip archive, as
// Alipay has it. What was written counts only if the error is nil. The error is an
// [order.ErrBillNotReady] if the bill is made later, and an [order.ErrNoBill] if nothing happened
// on that day. https://docs.open.alipay.com/api_15/alipay.data.dataservice.bill.downloadurl.query
//
// The address of the archive may have any host: it is reached over HTTPS only, through
// Options.Downloads. Alipay's examples have http; that the same host answers over HTTPS, and the
// sub_code for a bill that does not exist, could not be confirmed.
func (c *Channel) DownloadBill(ctx context.Context, date string, w io.Writer) error {
	ready, err := order.BillReady(date, c.now())
	if err != nil {
		return err
	}
	a, text, err := c.call(ctx, billMethod, map[string]any{"bill_type": "trade", "bill_date": date})
	switch {
	case err != nil:
		return fmt.Errorf("alipay: bill of %s: %w", date, err)
	case text == nil:
		return fmt.Errorf("alipay: bill of %s: %s", date, a.Error)
	}
	var t struct {
		Code        string `json:"code"`
		SubCode     string `json:"sub_code"`
		SubMsg      string `json:"sub_msg"`
		DownloadURL string `json:"bill_download_url"` // for 30 seconds
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("alipay: bill of %s: the answer does not describe a bill", date)
	}
	switch missing := t.Code == "40004"; {
	case t.Code == "10000":
	case missing && c.now().Before(ready):
		return order.BillNotReady(date, ready, c.now()) // an early request is answered as one with wrong arguments
	case missing && strings.Contains(strings.ToUpper(t.SubCode), "BILL_NOT_EXIST"):
		return order.ErrNoBill
	default:
		return fmt.Errorf("alipay: bill of %s: refused with code %.8q, %.60q, %.80q", date, t.Code, t.SubCode, t.SubMsg)
	}
	if err := c.fetch(ctx, t.DownloadURL, w); err != nil {
		return fmt.Errorf("alipay: bill of %s: download: %w", date, err)
	}
	return nil
}

// fetch downloads an archive. The request is not signed: the address has a token.
func (c *Channel) fetch(ctx context.Context, address string, w io.Writer) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return errors.New("the download address cannot be read")
	}
	u.Scheme = "https"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return errors.New("the request cannot be made")
	}
	body, _, err := exchange.Open(c.downloads, req)
	if err != nil {
		return fmt.Errorf("%.100s: %w", u.Host, err)
	}
	defer body.Close()
	in := bufio.NewReader(body)
	if magic, _ := in.Peek(2); string(magic) != "PK" {
		return fmt.Errorf("%.100s answered with something else than a zip archive: its addresses are valid for 30 s, ask again", u.Host)
	}
	if _, err := io.Copy(&exchange.Limit{W: w, Left: maxBill}, in); err != nil {
		return fmt.Errorf("the archive broke off: %w", err)
	}
	return nil
}
