package wechatpay

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
)

// publicKeyPrefix begins the id of WeChat Pay's public key, as opposed to the
// serial number of a platform certificate.
// https://pay.weixin.qq.com/doc/v3/merchant/4012154180
const publicKeyPrefix = "PUB_KEY_ID_"

// probePrefix begins signatures that WeChat Pay makes wrong on purpose, to test whether they are
// rejected.
const probePrefix = "WECHATPAY/SIGNTEST/"

// maxSkew bounds the difference between a message's time and this machine's: less than five
// minutes, as in WeChat Pay's own SDK (core/auth/validators/wechat_pay_validator.go).
const maxSkew = 5 * time.Minute

// verify says why an answer or a notice is not WeChat Pay's; nil: it is. what is "answer"
// or "notice", and header returns the header of a name in lower case.
//
// What is signed is the time, a number used once and the body, each with a newline behind
// it: neither the HTTP status nor what was asked, so that the reader of an answer has to see
// that it is about the order. An answer to a request whose signature was right is signed,
// whatever it says. An answer that is not signed came from something before WeChat Pay, or
// from somebody else.
//
// The number used once is not remembered. If it were, and a notice could not be stored, its
// repeat would be refused as a replay, and the notice would be lost. A replay is harmless: it
// says the same of the same order, within five minutes.
// https://pay.weixin.qq.com/wiki/doc/apiv3/wechatpay/wechatpay4_1.shtml
func (c *Channel) verify(ctx context.Context, what string, header func(name string) string, body []byte, now time.Time) error {
	return verify(what, header, body, now, func(serial string) *sign.RSAVerifier { return c.key(ctx, serial) })
}

// verify is the same with the keys that find returns by their serialKey; nil: there is no such key.
func verify(what string, header func(name string) string, body []byte, now time.Time, find func(serial string) *sign.RSAVerifier) error {
	var (
		signature = header("wechatpay-signature")
		serial    = header("wechatpay-serial")
		stamp     = header("wechatpay-timestamp")
		nonce     = header("wechatpay-nonce")
	)
	if signature == "" || serial == "" || stamp == "" || nonce == "" {
		return fmt.Errorf("the %s is not signed", what)
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("the %s's Wechatpay-Timestamp is no time", what)
	}
	if skew := time.Unix(seconds, 0).Sub(now.Truncate(time.Second)); skew.Abs() >= maxSkew {
		return fmt.Errorf("the time at which the %s was signed differs from ours by %v, and %v is too far: is the clock right?", what, skew.Abs(), maxSkew)
	}
	if strings.HasPrefix(signature, probePrefix) {
		return fmt.Errorf("the %s's signature is wrong: WeChat Pay was probing whether that is noticed", what)
	}
	key := find(serialKey(serial))
	if key == nil {
		return fmt.Errorf("the %s is signed with the key %.60q, which is not among platform_keys", what, serial)
	}
	if key.Certificate != nil && !now.Before(key.Certificate.NotAfter) {
		return fmt.Errorf("the %s is signed with the platform certificate %.60q, which expired at %s", what, serial, key.Certificate.NotAfter.UTC().Format(time.RFC3339))
	}
	text := append(make([]byte, 0, len(stamp)+len(nonce)+len(body)+3), stamp...)
	text = append(append(append(text, '\n'), nonce...), '\n')
	if !key.Verify(append(append(text, body...), '\n'), signature) {
		return fmt.Errorf("the %s's signature is wrong", what)
	}
	return nil
}

// serialKey normalizes a serial number for look-ups: some are written with leading zeros, or in
// lower case.
func serialKey(serial string) string { return strings.TrimLeft(strings.ToUpper(serial), "0") }
