package alipay

import (
	"fmt"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// CheckOrder returns an *[bellman.Invalid] if Alipay cannot have an order with this number. A
// number has at most 64 characters. Alipay's documents name letters, digits and underscores. Other
// ASCII characters are accepted here, because there are orders with a hyphen.
// https://opendocs.alipay.com/open/02ekfh (alipay.trade.query)
func (c *Channel) CheckOrder(o *order.Order) error {
	if n := len(o.OrderNo); n < 1 || n > 64 {
		return bellman.InvalidField("order_no", fmt.Sprintf("Alipay takes 1 to 64 characters, not %d", n))
	}
	if strings.ContainsFunc(o.OrderNo, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return bellman.InvalidField("order_no", "Alipay takes letters, digits and signs of ASCII alone, without white space")
	}
	return nil
}
