package wechatpay

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
)

// A Bill is a kind of bill.
type Bill string

// The kinds of bills.
const (
	TradeBill    Bill = "tradebill"    // 交易账单: payments and refunds
	FundFlowBill Bill = "fundflowbill" // 资金账单: what reached and left the merchant's account
)

// maxBill bounds the bytes of a bill: about ten million lines.
const maxBill = 4 << 30

// HasBill reports whether a kind of bill of the account can be downloaded here. The fund flow bill
// of a sub-merchant cannot: for its service provider it is an encrypted bill of another kind
// (/v3/bill/sub-merchant-fundflowbill), which needs a permission of its own.
func (c *Channel) HasBill(of Bill) bool {
	return of == TradeBill || of == FundFlowBill && c.subMchID == ""
}

// DownloadBill writes the bill of a date, such as 2026-11-21 (UTC+8), to w: CSV in UTF-8. What was
// written counts only if the error is nil: the bill's hash is known at its end. WeChat Pay keeps
// bills for three months. The error is an [order.ErrBillNotReady] if the bill is made later, and an
// [order.ErrNoBill] if nothing happened on that day.
// https://pay.weixin.qq.com/docs/merchant/apis/jsapi-payment/get-trade-bill.html and
// https://pay.weixin.qq.com/doc/v3/merchant/4012556742
func (c *Channel) DownloadBill(ctx context.Context, of Bill, date string, w io.Writer) error {
	ready, err := order.BillReady(date, c.now())
	if err != nil {
		return err
	}
	query := url.Values{"bill_date": {date}, "tar_type": {"GZIP"}}
	switch {
	case of == TradeBill:
		query.Set("bill_type", "ALL")
		if c.subMchID != "" {
			query.Set("sub_mchid", c.subMchID)
		}
	case of != FundFlowBill:
		return fmt.Errorf("wechatpay: %.20q is no bill: want tradebill or fundflowbill", of)
	case !c.HasBill(of):
		return errors.New("wechatpay: bellman downloads no fund flow bill of a service provider's sub-merchant: use an account of the sub-merchant's own")
	}
	a, err := c.send(ctx, http.MethodGet, "/v3/bill/"+string(of)+"?"+query.Encode(), nil)
	switch {
	case err != nil:
		return fmt.Errorf("wechatpay: bill of %s: %s", date, unread(a, err).Error)
	case a.Status == 0:
		return fmt.Errorf("wechatpay: bill of %s: %s", date, a.Error)
	case a.Status != http.StatusOK:
		return refusal(&a, date, ready, c.now())
	}
	var file billFile
	if err := json.Unmarshal(a.Body, &file); err != nil {
		return fmt.Errorf("wechatpay: bill of %s: the answer does not describe a bill", date)
	}
	if err := c.fetch(ctx, file, w); err != nil {
		return fmt.Errorf("wechatpay: bill of %s: download: %w", date, err)
	}
	return nil
}

// refusal is the error of an answer with another status than 200.
// https://pay.weixin.qq.com/doc/v3/merchant/4013071254
func refusal(a *order.Answer, date string, ready, now time.Time) error {
	var said struct{ Code, Message string }
	if json.Unmarshal(a.Body, &said) != nil || said.Code == "" {
		return fmt.Errorf("wechatpay: bill of %s: HTTP status %d", date, a.Status)
	}
	switch none := said.Code == "NO_STATEMENT_EXIST"; {
	case said.Code == "STATEMENT_CREATING", none && now.Before(ready):
		return order.BillNotReady(date, ready, now)
	case none:
		return order.ErrNoBill
	}
	return fmt.Errorf("wechatpay: bill of %s: refused with %.40q, %.80q", date, said.Code, said.Message)
}

// A billFile says where a bill is. The answer that it was in is signed.
type billFile struct {
	HashType    string `json:"hash_type"`
	HashValue   string `json:"hash_value"`
	DownloadURL string `json:"download_url"` // for five minutes
}

// fetch downloads a file. WeChat Pay signs no such answer: the hash, which covers the bill before
// it was compressed, stands for a signature. https://pay.weixin.qq.com/doc/v3/merchant/4012084430
func (c *Channel) fetch(ctx context.Context, file billFile, w io.Writer) error {
	want, err := hex.DecodeString(file.HashValue)
	if file.HashType != "SHA1" || err != nil || len(want) != sha1.Size {
		return fmt.Errorf("the hash is %.20q of %.20q: want one of SHA1", file.HashValue, file.HashType)
	}
	base := c.domains.pick(c.now())
	uri, err := c.ownURI(file.DownloadURL)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+uri, nil)
	if err != nil {
		return errors.New("the request cannot be made")
	}
	authorization, err := c.authorization(http.MethodGet, req.URL.RequestURI(), nil, c.now())
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Accept", "*/*")
	req.Header.Set("User-Agent", "bellman")
	body, said, err := exchange.Open(c.transport, req)
	if err != nil {
		if len(said) > 0 {
			err = fmt.Errorf("%w: %.200q", err, said)
		}
		return err
	}
	defer body.Close()
	hash := sha1.New()
	if err := unpack(&exchange.Limit{W: io.MultiWriter(w, hash), Left: maxBill}, body); err != nil {
		return err
	}
	if got := hash.Sum(nil); string(got) != string(want) {
		return fmt.Errorf("the file has the hash %x, and WeChat Pay announced %x: the file is damaged, and a new reconciliation fetches it again", got, want)
	}
	return nil
}

// ownURI returns path and query of an address of WeChat Pay's. Its host must be one of WeChat Pay's
// or the channel's. The request goes to the channel's host in any case: the signature does not
// cover it.
func (c *Channel) ownURI(address string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address)) // published examples have a space in front
	if err != nil || u.User != nil {
		return "", errors.New("the download address cannot be read")
	}
	if slices.Contains([]string{Domestic, Backup, c.domains.first}, u.Scheme+"://"+u.Host) {
		return u.RequestURI(), nil
	}
	return "", fmt.Errorf("the download address is at %.80q, which is not WeChat Pay's: nothing was requested there", u.Host)
}

// unpack copies a file that may be compressed.
func unpack(w io.Writer, file io.Reader) error {
	in := bufio.NewReader(file)
	var r io.Reader = in
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		r = z
	}
	if _, err := io.Copy(w, r); err != nil {
		return fmt.Errorf("the file broke off: %w", err)
	}
	return nil
}
