// Package wechatpay queries and closes orders at WeChat Pay, API v3, by their out_trade_no, and
// reads its notices. An answer or notice counts only if WeChat Pay signed it within five minutes
// and it is about the order or the account. Package order/states decides what it means.
package wechatpay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
	"github.com/bellmanhq/bellman/order/states"
)

// A Channel is one account at WeChat Pay: a merchant, or a service provider's sub-merchant. It is
// an [order.Channel] and an [order.NoticeReader]. Printing it shows no key. It is safe for
// concurrent use.
type Channel struct {
	mchID, subMchID string
	serial          string
	domains         *domains
	sign            func(text []byte) (signature string, err error)
	keys            map[string]*sign.RSAVerifier // PlatformKeys, by serialKey
	fetched         *platformKeys                // further keys, fetched from WeChat Pay; nil: none are fetched
	ends            time.Time                    // of the merchant's certificate; zero: it is not known
	publicKey       string                       // the id of WeChat Pay's public key; empty: there are certificates alone
	appID           string                       // whose notices are read; empty: those of every application
	decrypt         []opener                     // of notices, one for each APIv3 key
	query           *states.Query
	close           *states.Close
	transport       http.RoundTripper
	now             func() time.Time
	log             *slog.Logger
}

// Query asks for the state of an order.
// https://pay.weixin.qq.com/doc/v3/merchant/4013070356, for service providers
// https://pay.weixin.qq.com/doc/v3/partner/4012738969
func (c *Channel) Query(ctx context.Context, o *order.Order) order.QueryAnswer {
	query := url.Values{}
	for name, id := range c.ids() {
		query.Set(name, id)
	}
	a, err := c.ask(ctx, o, http.MethodGet, "?"+query.Encode(), nil)
	if err == nil && a.Status != 0 {
		err = c.about(o, &a)
	}
	if err != nil {
		return order.QueryAnswer{Answer: unread(a, err)}
	}
	return c.query.Read(a, c.now().Sub(o.Created))
}

// Close closes an order, after which nobody can pay it. The answer does not name the order.
// https://pay.weixin.qq.com/doc/v3/merchant/4013070360
func (c *Channel) Close(ctx context.Context, o *order.Order) order.CloseAnswer {
	a, err := c.post(ctx, o, "/close", c.ids())
	if err != nil {
		return order.CloseAnswer{Answer: unread(a, err)}
	}
	return c.close.Read(a)
}

// ids are the numbers that say whose order it is.
func (c *Channel) ids() map[string]string {
	if c.subMchID != "" {
		return map[string]string{"sp_mchid": c.mchID, "sub_mchid": c.subMchID}
	}
	return map[string]string{"mchid": c.mchID}
}

// post asks with a body.
func (c *Channel) post(ctx context.Context, o *order.Order, tail string, fields map[string]string) (order.Answer, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return order.Answer{Result: bellman.Blocked}, errors.New("the request cannot be made")
	}
	return c.ask(ctx, o, http.MethodPost, tail, body)
}

// ask sends one request about an order. tail is the part of the address after the order number.
func (c *Channel) ask(ctx context.Context, o *order.Order, method, tail string, body []byte) (order.Answer, error) {
	if err := c.CheckOrder(o); err != nil {
		return order.Answer{Result: bellman.Blocked}, err
	}
	path := "/v3/pay/transactions/out-trade-no/"
	if c.subMchID != "" {
		path = "/v3/pay/partner/transactions/out-trade-no/"
	}
	return c.send(ctx, method, path+url.PathEscape(o.OrderNo)+tail, body)
}

// send signs and sends one request. uri is path and query. An error says why nothing was sent, or
// why the answer cannot count. Without one the answer is WeChat Pay's, or there is none.
func (c *Channel) send(ctx context.Context, method, uri string, body []byte) (order.Answer, error) {
	a, whole, err := c.exchange(ctx, method, uri, body)
	if whole {
		err = c.verify(ctx, "answer", func(name string) string { return a.Header[name] }, a.Body, c.now())
	}
	return a, err
}

// exchange is send without the verification. whole reports that there is a complete answer, which
// counts only once it is verified.
func (c *Channel) exchange(ctx context.Context, method, uri string, body []byte) (a order.Answer, whole bool, err error) {
	base := c.domains.pick(c.now())
	req, err := http.NewRequestWithContext(ctx, method, base+uri, bytes.NewReader(body))
	if err != nil {
		return order.Answer{Result: bellman.Blocked}, false, errors.New("the request cannot be made")
	}
	authorization, err := c.authorization(method, req.URL.RequestURI(), body, c.now())
	if err != nil {
		return order.Answer{Result: bellman.Blocked}, false, err
	}
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "bellman") // WeChat Pay wants one
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.publicKey != "" {
		// It says that answers may be signed with the public key. WeChat Pay counts such requests
		// while a merchant changes over from certificates.
		req.Header.Set("Wechatpay-Serial", c.publicKey)
	}
	a = exchange.Do(c.transport, req)
	if c.domains.learn(base, &a, c.now()) {
		c.log.Warn("WeChat Pay is queried at its other address", "mch_id", c.mchID, "asked", base, "err", a.Error)
	}
	switch a.Result {
	case bellman.Accepted, bellman.ErrorStatus:
		return a, true, nil
	case bellman.Unreachable, bellman.TimedOut:
		if a.Status == 0 {
			return a, false, nil // there is no answer, and it says so itself
		}
	}
	return a, false, errors.New("the answer is not whole")
}

// about returns an error if an answer to a query is about another order. An answer that says
// nothing about a payment names no order.
func (c *Channel) about(o *order.Order, a *order.Answer) error {
	var t struct {
		TradeState string `json:"trade_state"`
		OutTradeNo string `json:"out_trade_no"`
		MchID      string `json:"mchid"`
		SpMchID    string `json:"sp_mchid"`
		SubMchID   string `json:"sub_mchid"`
	}
	err := json.Unmarshal(a.Body, &t)
	if a.Status != http.StatusOK && t.TradeState == "" {
		return nil
	}
	merchant, own := t.MchID, c.mchID
	if c.subMchID != "" {
		merchant, own = t.SpMchID+"/"+t.SubMchID, c.mchID+"/"+c.subMchID
	}
	switch {
	case err != nil:
		return errors.New("the answer is not the JSON object that describes an order")
	case t.OutTradeNo != o.OrderNo:
		return fmt.Errorf("the answer is about the order %.40q", t.OutTradeNo)
	case merchant != own:
		return fmt.Errorf("the answer is about an order of the merchant %.70q", merchantNamed(t.MchID, t.SpMchID, t.SubMchID))
	}
	return nil
}

// merchantNamed is the merchant that WeChat Pay names, for an error: a merchant itself, or a service
// provider and its sub-merchant.
func merchantNamed(mchID, spMchID, subMchID string) string {
	if mchID == "" && spMchID+subMchID != "" {
		return spMchID + "/" + subMchID
	}
	return mchID
}

// unread is an answer that says nothing about an order, because of err. Answers with an error
// status are read so too: a gateway that rejects a request before WeChat Pay, with 429 or 502,
// signs nothing. Such an answer may slow the requests down, and decides nothing. Its text is for
// people.
func unread(a order.Answer, err error) order.Answer {
	var said struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(a.Body, &said) == nil && said.Code != "" {
		err = fmt.Errorf("%w; it says %.40q, %.80q", err, said.Code, said.Message)
	}
	return exchange.Unread(a, err)
}
