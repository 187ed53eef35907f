package wechatpay

import (
	"fmt"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// CheckOrder returns an *[bellman.Invalid] if WeChat Pay cannot have an order with this number. A
// number has at most 32 digits, letters and _-|*
// (https://pay.weixin.qq.com/wiki/doc/api/wxa/wxa_api.php?chapter=9_1), and at least six of them
// (wechatpay-go, docs/lovefeast/MerchantOrder.md).
func (c *Channel) CheckOrder(o *order.Order) error {
	if n := len(o.OrderNo); n < 6 || n > 32 {
		return bellman.InvalidField("order_no", fmt.Sprintf("WeChat Pay takes 6 to 32 characters, not %d", n))
	}
	if strings.ContainsFunc(o.OrderNo, outside) {
		return bellman.InvalidField("order_no", "WeChat Pay takes letters, digits and _-|* alone")
	}
	return nil
}

func outside(r rune) bool {
	switch {
	case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', strings.ContainsRune("_-|*", r):
		return false
	}
	return true
}
