package wechatpay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/order"
)

// publicKeyPrefix begins the id of WeChat Pay's public key, as opposed to the
// serial number of a platform certificate.
// https://pay.weixin.qq.com/doc/v3/merchant/4012154180
const publicKeyPrefix = "PUB_KEY_ID_"

// probePrefix begins signatures that WeChat Pay sends wrong on purpose, to see
// whether they are refused. They are, like every other wrong one.
const probePrefix = "WECHATPAY/SIGNTEST/"

// maxSkew is how far an answer's time may be from ours: less than five minutes,
// as in WeChat Pay's own SDK (core/auth/validators/wechat_pay_validator.go).
const maxSkew = 5 * time.Minute

// verify says why an answer is not WeChat Pay's; nil: it is. What is signed is
// the time, a number used once and the body, each with a newline behind it:
// neither the HTTP status nor what was asked, so that the reader of the answer
// has to see that it is about the order. An answer to a request whose signature
// was right is signed, whatever it says; so what is not signed came from
// something before WeChat Pay, or from somebody else.
// https://pay.weixin.qq.com/wiki/doc/apiv3/wechatpay/wechatpay4_1.shtml
func (c *Channel) verify(a *order.Answer, now time.Time) error {
	var (
		signature = a.Header["wechatpay-signature"]
		serial    = a.Header["wechatpay-serial"]
		stamp     = a.Header["wechatpay-timestamp"]
		nonce     = a.Header["wechatpay-nonce"]
	)
	if signature == "" || serial == "" || stamp == "" || nonce == "" {
		return errors.New("the answer is not signed")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return errors.New("the answer's Wechatpay-Timestamp is no time")
	}
	if skew := time.Unix(seconds, 0).Sub(now.Truncate(time.Second)); skew.Abs() >= maxSkew {
		return fmt.Errorf("the answer was signed %v from now, and %v is too far: is the clock right?", skew, maxSkew)
	}
	key := c.keys[serialKey(serial)]
	if key == nil {
		return fmt.Errorf("the answer is signed with the key %.60q, which is not among PlatformKeys", serial)
	}
	if strings.HasPrefix(signature, probePrefix) {
		return errors.New("the answer's signature is wrong: WeChat Pay was probing whether that is noticed")
	}
	text := append([]byte(stamp+"\n"+nonce+"\n"), a.Body...)
	if !key.Verify(append(text, '\n'), signature) {
		return errors.New("the answer's signature is wrong")
	}
	return nil
}

// serialKey is a serial number as it is looked up: some write it with zeros in
// front or in small letters.
func serialKey(serial string) string { return strings.TrimLeft(strings.ToUpper(serial), "0") }
