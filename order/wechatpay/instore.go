package wechatpay

import (
	"context"
	"fmt"
	"net/http"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// An InStore is an account whose orders are paid with the code that a payer shows (付款码支付). Such an
// order cannot be closed while its outcome is unknown, but it can be reversed: an InStore is also
// an [order.Reverser].
type InStore struct {
	*Channel
	appID string
}

// NewInStore returns the channel of one account, as New does, and of one
// application (应用 ID), which may be empty if there is a SubMchID.
func NewInStore(appID string, o Options) (*InStore, error) {
	if appID == "" && o.SubMchID == "" {
		return nil, fmt.Errorf("wechatpay: %w", bellman.InvalidField("app_id", "want the application's id, which a reverse names"))
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	return &InStore{Channel: c, appID: appID}, nil
}

// Reverse closes an order that nobody paid, and refunds an order that somebody paid. WeChat Pay
// asks for 15 s between payment and reverse, and accepts a reverse for seven days.
// https://pay.weixin.qq.com/docs/merchant/apis/code-payment-v3/direct/reverse.html For service
// providers:
// https://pay.weixin.qq.com/docs/partner/apis/partner-code-payment-v3/partner/partner-reverse.html
func (s *InStore) Reverse(ctx context.Context, o *order.Order) order.CloseAnswer {
	ids := s.ids()
	switch {
	case s.subMchID == "":
		ids["appid"] = s.appID
	case s.appID != "":
		ids["sp_appid"] = s.appID
	}
	a, err := s.post(ctx, o, "/reverse", ids)
	if err == nil && a.Status == http.StatusOK {
		if err = s.about(o, &a); err == nil {
			return order.CloseAnswer{Answer: a, Reading: order.CloseDone} // it says which order, and nothing else
		}
	}
	if err != nil {
		return order.CloseAnswer{Answer: unread(a, err)}
	}
	return s.close.Read(a)
}
