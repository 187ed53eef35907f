package poll

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/wire"
)

// An Ask is a caller's request to poll a refund or transfer: the Body of its task, as JSON.
//
//	{"ref_no":"R1","vars":{"amount":"100","total":"100"},"notify":{"url":"https://…","json":{…}}}
type Ask struct {
	RefNo   string `json:"ref_no,omitempty"`  // its number at the channel; empty: see [DeriveRefNo]
	Account string `json:"account,omitempty"` // the account at the channel; empty: the queue's

	// ChannelOrderNo is the number by which the channel knows the order. Empty: the task's OrderNo.
	ChannelOrderNo string `json:"channel_order_no,omitempty"`

	// Vars are values for the channel. An amount must be a whole number of the smallest unit: an
	// answer that the money arrived counts only if it says the same amount and currency, or none.
	Vars    map[string]string `json:"vars,omitempty"`
	Notify  order.Notify      `json:"notify,omitzero"`  // how the merchant is notified
	Created time.Time         `json:"created,omitzero"` // zero: when the task was added
}

// Encode writes the JSON that ParseAsk reads. It returns an error if Notify.JSON is not JSON.
func (a *Ask) Encode() ([]byte, error) {
	out := *a
	out.Created = out.Created.UTC()
	return wire.Marshal(out)
}

// ParseAsk reads the Body of a task. An empty Body is the zero Ask. An error is an
// *[bellman.Invalid].
func ParseAsk(body []byte) (Ask, error) {
	var a Ask
	if len(bytes.TrimSpace(body)) == 0 {
		return a, nil
	}
	bad := new(bellman.Invalid)
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(&a)
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = fmt.Errorf("something follows the object")
	}
	switch {
	case err != nil:
		bad.Add("body", err.Error())
	case bytes.TrimSpace(body)[0] != '{':
		bad.Add("body", "want an object")
	}
	a.Notify.JSON = bytes.TrimSpace(a.Notify.JSON)
	if bytes.Equal(a.Notify.JSON, []byte("null")) {
		a.Notify.JSON = nil
	}
	if n := a.Notify.JSON; len(n) > 0 && n[0] != '{' {
		bad.Add("notify.json", "want an object: the fields of the result are added to it")
	}
	if _, ok := a.Vars[""]; ok {
		bad.Add("vars", "one has no name")
	}
	a.Created = a.Created.UTC()
	if y := a.Created.Year(); y < 1 || y > 9999 {
		bad.Add("created", "is not in the years 1 to 9999 of UTC")
	}
	if err := bad.Err(); err != nil {
		return Ask{}, err
	}
	return a, nil
}

// maxDerived is the length of a derived number, in bytes: what WeChat Pay and Alipay take.
const maxDerived = 64

// DeriveRefNo returns the number of the one refund of an order that bellman requests, if nobody
// chose one. orderNo is the order's number at the channel. The refund's number does not depend on
// when it is derived, or who requests the refund: after an unknown answer no second number may
// exist. An order's number that is too long is cut, and its hash keeps two orders apart.
func DeriveRefNo(orderNo string) string { return deriveRefNo(orderNo, "") }

// deriveRefNo is DeriveRefNo for any payment of the order: duplicate is the channel's number of a
// duplicate payment.
func deriveRefNo(orderNo, duplicate string) string {
	end := "-R1"
	if duplicate != "" {
		end = "-D" + hashed(duplicate)[:8]
	}
	if len(orderNo)+len(end) <= maxDerived {
		return orderNo + end
	}
	sum := "-" + hashed(orderNo)[:16]
	return strings.ToValidUTF8(orderNo[:maxDerived-len(sum)-len(end)], "") + sum + end
}

func hashed(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
