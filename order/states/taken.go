package states

import (
	"fmt"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order"
)

// A sum is an amount of money in the currency's smallest unit.
type sum struct {
	amount   int64
	known    bool   // false: the answer says no amount, or one that cannot be written so
	currency string // an ISO 4217 code; empty: none, or another
}

// smallest reads an amount that is written in the smallest unit. 990.0 is 990, as programs write a
// float. 990.00 is not read: it may be whole units.
func smallest(amount, currency string) sum {
	n, known := money.Smallest(strings.TrimSuffix(amount, ".0"))
	return sum{n, known, money.Code(currency)}
}

// whole reads an amount that is written in whole units, such as 88.88.
func whole(amount, currency string) sum {
	code := money.Code(currency)
	n, known := money.Parse(amount, code)
	return sum{n, known, code}
}

// rescaled returns the sum of a provider that writes some currencies with other decimals than ISO
// 4217.
func (s sum) rescaled(decimals map[string]int) sum {
	theirs, differs := decimals[s.currency]
	if !s.known || !differs {
		return s
	}
	digits := fmt.Sprintf("%0*d", theirs+1, s.amount)
	point := len(digits) - theirs
	text := digits[:point]
	if theirs > 0 {
		text += "." + digits[point:]
	}
	return whole(text, s.currency)
}

// taken returns what is known of a payment; nil if nothing is. See order.Taken.
func taken(id string, s sum, paidAt string) order.Taken {
	t := order.Taken{}
	if id != "" {
		t["transaction_id"] = id
	}
	if s.known {
		t["amount"] = s.amount
		if s.currency != "" {
			t["currency"] = s.currency
		}
	}
	if paidAt != "" {
		t["paid_at"] = paidAt
	}
	if len(t) == 0 {
		return nil
	}
	return t
}

// china is the time zone of times that WeChat Pay and Alipay write without one. It has no summer
// time.
var china = time.FixedZone("UTC+8", 8*60*60)

// timed reads the time of a payment, in UTC+8 if the layout has no zone. It returns RFC 3339 in
// UTC; empty: the text is no such time.
func timed(layout, text string) string {
	t, err := time.ParseInLocation(layout, text, china)
	if t = t.UTC(); err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
