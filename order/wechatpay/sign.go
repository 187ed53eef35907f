package wechatpay

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"time"
)

// authorization is the value of the header that signs a request. What is signed
// is the method, the address without scheme and host, the time in seconds, a
// number used once and the body, each with a newline behind it.
// https://pay.weixin.qq.com/wiki/doc/api_external/ch/wechatpay/wechatpay4_0.shtml
func (c *Channel) authorization(method, uri string, body []byte, now time.Time) (string, error) {
	nonce, stamp := rand.Text(), strconv.FormatInt(now.Unix(), 10)
	text := method + "\n" + uri + "\n" + stamp + "\n" + nonce + "\n" + string(body) + "\n"
	signature, err := c.sign([]byte(text))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`WECHATPAY2-SHA256-RSA2048 mchid="%s",nonce_str="%s",signature="%s",timestamp="%s",serial_no="%s"`,
		c.mchID, nonce, signature, stamp, c.serial), nil
}
