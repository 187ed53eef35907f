package sharelink

import (
	"time"

	"github.com/bellmanhq/bellman"
)

// A Link shows a merchant's notices, or those of one order, to whoever has its
// address, until it expires or is revoked.
type Link struct {
	ID         bellman.ID `json:"id"`
	MerchantNo string     `json:"merchant_no"`
	OrderNo    string     `json:"order_no,omitempty"` // empty: all of the merchant's
	Made       time.Time  `json:"made"`
	Expires    time.Time  `json:"expires"`
	Who        string     `json:"who"` // the key's name; empty: nobody had to say
	Reason     string     `json:"reason"`
	From       string     `json:"from,omitempty"`   // the address of who made it; empty: not known
	Revoked    time.Time  `json:"revoked,omitzero"` // zero: it is not

	Token string `json:"-"` // what its address says, and nobody can guess
}

// Over reports whether the link shows nothing any more.
func (l *Link) Over(now time.Time) bool { return !l.Revoked.IsZero() || !now.Before(l.Expires) }
