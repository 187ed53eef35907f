package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/alipay"
	"github.com/bellmanhq/bellman/order/wechatpay"
)

// The accounts of a world: two of a gateway with configured notices, and one of each channel that
// bellman knows.
const (
	gate = iota
	otherGate
	ali
	wechat
)

// A channelAccount is a channel with the lives of its orders.
type channelAccount struct {
	index       int
	name, queue string
	key         string             // of a gateway's notices; empty: another signature
	reader      order.NoticeReader // nil: as its key says
	notice      func(s *says) *order.RawNotice
	ownRefunds  bool // a refund has a notice of its own kind
	lives       map[string]*life
}

// A says is what a notice says.
type says struct {
	no      string
	state   string // SUCCESS, REFUND, CLOSED, NOTPAY or FINISHED, months after SUCCESS
	amount  int64
	by      string // genuine, forged or another
	payment bool   // it tells the payment as it is
	again   bool   // it tells the second payment, which has a number of its own

	ago time.Duration // since the payment, at Alipay
}

// number is the channel's number of the payment.
func (s *says) number() string {
	if s.again {
		return "U" + s.no
	}
	return "T" + s.no
}

// Who made a notice.
const (
	genuine = ""
	forged  = "forged"
	another = "another account"
)

const (
	livesMchID  = "1900000109"
	livesAppID  = "2014072300007148"
	livesV3Key  = "0123456789abcdef0123456789ABCDEF"
	livesKeyID  = "PUB_KEY_ID_0000000000000024101100397200000006"
	livesSerial = "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"
)

// livesKey signs for WeChat Pay and Alipay.
var livesKey = sync.OnceValue(keytest.RSA)

func newAccounts(t *testing.T, w *world) []*channelAccount {
	private := livesKey()
	own, public := sign.NewSecret(keytest.PrivatePEM(private)), sign.NewSecret(keytest.PublicPEM(private))
	all := []*channelAccount{
		gate:      {name: "queue:gate", queue: "gate", key: "a-secret-of-the-gateway-32-chars"},
		otherGate: {name: "queue:other", queue: "other", key: "another-secret-of-the-gateway-32"},
		ali: {name: "alipay:" + livesAppID, queue: "alipay", ownRefunds: true, reader: must[*alipay.Channel](t)(alipay.New(alipay.Options{
			AppID: livesAppID, PrivateKey: own, AlipayPublicKeys: []sign.Secret{public}}))},
		wechat: {name: "wechatpay:" + livesMchID, queue: "wechat", ownRefunds: true, reader: must[*wechatpay.Channel](t)(wechatpay.New(wechatpay.Options{
			MchID: livesMchID, SerialNo: livesSerial, PrivateKey: own, APIv3Keys: []sign.Secret{sign.NewSecret(livesV3Key)},
			PlatformKeys: map[string]sign.Secret{livesKeyID: public}}))},
	}
	for i, a := range all {
		a.index, a.lives = i, make(map[string]*life)
		switch i {
		case ali:
			a.notice = aliNotice
		case wechat:
			a.notice = wechatNotice
		default:
			other := all[gate+otherGate-i].key
			a.notice = func(s *says) *order.RawNotice { return gateNotice(s, a.key, other) }
		}
	}
	return all
}

// gateNotice is a gateway's, with an HMAC.
func gateNotice(s *says, own, other string) *order.RawNotice {
	state := strings.NewReplacer("FINISHED", "SUCCESS").Replace(s.state)
	body := fmt.Sprintf(`{"out_trade_no":%q,"trade_state":%q,"transaction_id":%q,"amount":{"total":%d,"currency":"CNY"}}`, s.no, state, s.number(), s.amount)
	key := map[string]string{genuine: own, forged: "a key that somebody guessed, 32 c", another: other}[s.by]
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return &order.RawNotice{Header: http.Header{"X-Signature": {hex.EncodeToString(mac.Sum(nil))}}, Body: []byte(body), At: time.Now()}
}

// aliNotice is Alipay's. A refund has the trade_status of the payment.
func aliNotice(s *says) *order.RawNotice {
	beijing := time.Now().UTC().Add(8 * time.Hour).Format(time.DateTime)
	fields := map[string]string{
		"charset": "utf-8", "notify_id": "n-" + s.number() + s.state, "notify_type": "trade_status_sync", "notify_time": beijing, "app_id": livesAppID,
		"out_trade_no": s.no, "trade_no": s.number(), "total_amount": money(s.amount), "gmt_payment": time.Now().UTC().Add(8*time.Hour - s.ago).Format(time.DateTime), "trade_status": "TRADE_SUCCESS",
	}
	switch s.state {
	case "FINISHED":
		fields["trade_status"] = "TRADE_FINISHED"
	case "CLOSED":
		fields["trade_status"] = "TRADE_CLOSED"
		delete(fields, "gmt_payment")
	case "NOTPAY":
		fields["trade_status"] = "WAIT_BUYER_PAY"
		delete(fields, "gmt_payment")
	case "REFUND":
		fields["gmt_refund"], fields["refund_fee"], fields["out_biz_no"] = beijing, money(s.amount), "R"+s.no
	}
	if s.by == another {
		fields["app_id"] = "2099999999999999"
	}
	text := keytest.Pairs(fields)
	if s.by == forged {
		text += "&"
	}
	form := keytest.Form(fields)
	form.Set("sign_type", "RSA2")
	form.Set("sign", keytest.Sign(livesKey(), text))
	return &order.RawNotice{Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte(form.Encode()), At: time.Now()}
}

// wechatNotice is WeChat Pay's. Another merchant's is signed with the same key.
func wechatNotice(s *says) *order.RawNotice {
	mchID := livesMchID
	if s.by == another {
		mchID = "1900000999"
	}
	event, content := "TRANSACTION.SUCCESS", fmt.Sprintf(`{%s,"amount":{"total":%d,"currency":"CNY"}}`,
		quoted("mchid", mchID, "appid", "wx1", "out_trade_no", s.no, "transaction_id", s.number(), "trade_state", strings.NewReplacer("FINISHED", "SUCCESS").Replace(s.state)), s.amount)
	if s.state == "REFUND" {
		event, content = "REFUND.SUCCESS", fmt.Sprintf(`{%s,"amount":{"total":%d,"refund":%[2]d}}`,
			quoted("mchid", mchID, "out_trade_no", s.no, "out_refund_no", "R"+s.no, "refund_status", "SUCCESS"), s.amount)
	}
	kind := map[bool]string{true: "refund", false: "transaction"}[s.state == "REFUND"]
	body := keytest.WeChatNotice(livesV3Key, "EV-"+s.number()+s.state, event, kind, content)
	text := body
	if s.by == forged {
		text += "\n"
	}
	return &order.RawNotice{Header: keytest.WeChatHeader(livesKey(), livesKeyID, text, time.Now()), Body: []byte(body), At: time.Now()}
}
