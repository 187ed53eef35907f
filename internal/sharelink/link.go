package sharelink

import (
	"time"

	"github.com/bellmanhq/bellman"
)

// A Link shows the notices of a merchant, or of one order, to whoever has its address, until it
// expires or is revoked.
type Link struct {
	ID         bellman.ID `json:"id"`
	MerchantNo string     `json:"merchant_no"`
	OrderNo    string     `json:"order_no,omitempty"` // empty: all of the merchant's
	Made       time.Time  `json:"made"`
	Expires    time.Time  `json:"expires"`
	Who        string     `json:"who"` // the name of the API key; empty: authentication is off
	Reason     string     `json:"reason"`
	From       string     `json:"from,omitempty"`   // the address of its creator; empty: unknown
	Revoked    time.Time  `json:"revoked,omitzero"` // zero: not revoked

	Token string `json:"-"` // the secret part of its address
}

// Over reports whether the link expired or was revoked.
func (l *Link) Over(now time.Time) bool { return !l.Revoked.IsZero() || !now.Before(l.Expires) }
