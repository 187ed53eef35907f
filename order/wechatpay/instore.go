package wechatpay

import (
	"context"
	"errors"
	"net/http"

	"github.com/bellmanhq/bellman/order"
)

// An InStore is an account whose orders are paid with the code that a payer shows
// (付款码支付). They cannot be closed while the outcome is unknown, but reversed:
// an InStore is an [order.Reverser], too.
type InStore struct {
	*Channel
	appID string
}

// NewInStore returns the channel of one account, as New does, and of one
// application (应用 ID), which may be empty if there is a SubMchID.
func NewInStore(appID string, o Options) (*InStore, error) {
	if appID == "" && o.SubMchID == "" {
		return nil, errors.New("wechatpay: app id: want the application's, which a reverse names")
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	return &InStore{Channel: c, appID: appID}, nil
}

// Reverse undoes an order: it closes one that nobody paid, and gives back what was paid for any
// other. WeChat Pay wants 15 seconds between a payment and that, and takes it for seven days.
// https://pay.weixin.qq.com/docs/merchant/apis/code-payment-v3/direct/reverse.html, for service
// providers
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
