package wechatpay

import (
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// away is how long requests go to the second domain before one looks whether the first is back.
const away = 5 * time.Minute

// domains are the addresses of one account. A request goes to one of them. After one that got no
// answer at all, be it for want of a connection or of time, the next request goes to the other.
// https://pay.weixin.qq.com/docs/merchant/development/practices/cross-city-disaster-escalation-guidelines.html
type domains struct {
	first, second string       // second is empty if there is one alone
	until         atomic.Int64 // in Unix nanoseconds: until then the second is asked; 0: the first is
}

// pick returns where the next request goes.
func (d *domains) pick(now time.Time) string {
	until := d.until.Load()
	if until == 0 || until <= now.UnixNano() && d.until.CompareAndSwap(until, now.Add(away).UnixNano()) {
		return d.first
	}
	return d.second
}

// learn takes note of what came of a request to base, and reports whether the next one goes
// elsewhere than it would have gone without.
func (d *domains) learn(base string, a *order.Answer, now time.Time) bool {
	lost := a.Result == bellman.Unreachable || a.Result == bellman.TimedOut
	switch {
	case d.second == "", a.Status == 0 && !lost:
		return false // there is no other, or nobody knows whether there was an answer
	case a.Status != 0 && base == d.second:
		return false
	case a.Status == 0 && base == d.first:
		return d.until.Swap(now.Add(away).UnixNano()) == 0
	}
	return d.until.Swap(0) != 0
}
