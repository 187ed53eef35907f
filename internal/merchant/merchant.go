package merchant

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// A Merchant is a merchant as it is kept. Fields that are empty leave the matter to the
// queue. Its JSON is the document in the store.
type Merchant struct {
	No        string `json:"-"`                    // as tasks name it; the document's name
	Name      string `json:"name,omitempty"`       // for people
	NotifyURL string `json:"notify_url,omitempty"` // where tasks go that name no address of their own

	Sign
	Schedule string        `json:"schedule,omitempty"`   // a preset's name or text, for tasks that give none
	Success  string        `json:"success,omitempty"`    // a preset's name or an expression, for tasks that give none
	Timeout  time.Duration `json:"timeout_ns,omitempty"` // of one attempt, for tasks that give none

	Concurrency int     `json:"concurrency,omitempty"` // attempts in flight to its endpoint at most
	Rate        float64 `json:"rate,omitempty"`        // attempts a second to its endpoint at most

	Created stamp `json:"created_ms"`
	Updated stamp `json:"updated_ms"`

	kept []byte // the document; empty and not nil: none was kept yet
}

// A stamp is a time in UTC, in whole milliseconds. Its JSON is Unix ms.
type stamp struct{ time.Time }

func (s stamp) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, s.UnixMilli(), 10), nil }

func (s *stamp) UnmarshalJSON(text []byte) error {
	ms, err := strconv.ParseInt(string(text), 10, 64)
	s.Time = time.UnixMilli(ms).UTC()
	return err
}

// Version names what is kept of the merchant: it is another one after each change.
func (m *Merchant) Version() string {
	sum := sha256.Sum256(m.kept)
	return hex.EncodeToString(sum[:8])
}

// A Sign says how what is sent to a merchant is signed. The zero Sign: as the
// queue says.
type Sign struct {
	Scheme  string   `json:"scheme,omitempty"`  // one of sign.Schemes
	Serial  string   `json:"serial,omitempty"`  // for wechat_rsa alone
	Secrets []Secret `json:"secrets,omitempty"` // the newest first
}

// A Secret is a key as it is kept: sealed, so that neither a page, a log nor a copy
// of the store has it.
type Secret struct {
	Sealed string `json:"sealed"`           // as Masters.Seal wrote it
	Ending string `json:"ending,omitempty"` // its last four characters; empty where that would tell too much
	Added  stamp  `json:"added_ms"`
	Until  stamp  `json:"until_ms,omitzero"` // it signs no more from then on; zero: it stands
}

// Shown is what may be seen of a secret: three stars, and its last four characters.
func (s *Secret) Shown() string { return stars + s.Ending }

const stars = "***"

// active returns the secrets that sign at a time, and when that changes; zero:
// never.
func (s *Sign) active(now time.Time) (active []Secret, changes time.Time) {
	for _, secret := range s.Secrets {
		switch {
		case secret.Until.IsZero():
		case !secret.Until.After(now):
			continue
		case changes.IsZero() || secret.Until.Before(changes):
			changes = secret.Until.Time
		}
		active = append(active, secret)
	}
	return active, changes
}
