package wechatpay

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/order"
)

var _ order.Reverser = (*InStore)(nil)

func TestReverse(t *testing.T) {
	const appID = "wxd678efh567hg6787"
	done := `{"appid":"` + appID + `","mchid":"` + mchID + `","out_trade_no":"` + orderNo + `"}`
	partners := strings.Replace(done, `"mchid":"`+mchID+`"`, `"sp_mchid":"`+mchID+`","sub_mchid":"`+subMchID+`"`, 1)
	direct, partner := options(t), options(t)
	partner.SubMchID = subMchID
	const (
		path        = "POST /v3/pay/transactions/out-trade-no/" + orderNo + "/reverse "
		partnerPath = "POST /v3/pay/partner/transactions/out-trade-no/" + orderNo + "/reverse "
		own         = path + `{"appid":"` + appID + `","mchid":"` + mchID + `"}`
		partners3   = partnerPath + `{"sp_appid":"` + appID + `","sp_mchid":"` + mchID + `","sub_mchid":"` + subMchID + `"}`
		partners2   = partnerPath + `{"sp_mchid":"` + mchID + `","sub_mchid":"` + subMchID + `"}`
	)
	unsigned := signedBy(200, done)
	unsigned.by = nil
	broken := unsigned
	broken.bend = func(h http.Header) { h.Set("Content-Length", "1000") }
	tests := []struct {
		name    string
		options Options
		appID   string
		request string
		answer  answer
		want    order.CloseReading
	}{
		{"reversed", direct, appID, own, signedBy(200, done), order.CloseDone},
		{"reversed, for a partner", partner, appID, partners3, signedBy(200, partners), order.CloseDone},
		{"reversed, for a partner without an application", partner, "", partners2, signedBy(200, partners), order.CloseDone},
		{"not signed", direct, appID, own, unsigned, order.CloseUnknown},
		{"not signed, and broken off", direct, appID, own, broken, order.CloseUnknown},
		{"another order", direct, appID, own, signedBy(200, strings.Replace(done, orderNo, "another-order", 1)), order.CloseUnknown},
		{"another merchant", direct, appID, own, signedBy(200, strings.Replace(done, mchID, "1999999999", 1)), order.CloseUnknown},
		{"no order", direct, appID, own, signedBy(200, "{}"), order.CloseUnknown},
		{"an error of the system", direct, appID, own, signedBy(500, `{"code":"SYSTEM_ERROR","message":"系统异常"}`), order.CloseInFlight},
		{"paying", direct, appID, own, signedBy(400, `{"code":"USERPAYING"}`), order.CloseInFlight},
		{"wrong in some way", direct, appID, own, signedBy(400, `{"code":"INVALID_REQUEST"}`), order.CloseUnknown},
	}
	for _, tt := range tests {
		s := &InStore{serve(t, tt.options, tt.request, tt.answer), tt.appID}
		if got := s.Reverse(t.Context(), &order.Order{OrderNo: orderNo}); got.Reading != tt.want || (got.Error == "") != (tt.want != order.CloseUnknown) {
			t.Errorf("%s: %v, %q; want %v", tt.name, got.Reading, got.Error, tt.want)
		}
	}

	for _, tt := range []struct {
		appID   string
		options Options
		want    string // the error's beginning; empty: none
	}{
		{appID, direct, ""},
		{appID, partner, ""},
		{"", partner, ""},
		{"", direct, "wechatpay: app_id: want"},
		{appID, Options{}, "wechatpay: mch_id: want"},
	} {
		_, err := NewInStore(tt.appID, tt.options)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("NewInStore(%q, SubMchID %q): %v; want %q", tt.appID, tt.options.SubMchID, err, tt.want)
		}
	}
}
