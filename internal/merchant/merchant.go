package merchant

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// A Merchant is a merchant as stored. An empty field leaves the choice to the queue. Its JSON is the document
// in the store.
type Merchant struct {
	No        string `json:"-"`                    // as tasks name it; the document's name
	Name      string `json:"name,omitempty"`       // for people
	NotifyURL string `json:"notify_url,omitempty"` // the address of tasks without an address of their own

	Sign
	Schedule string        `json:"schedule,omitempty"`   // a preset's name or a text, for tasks without a schedule
	Success  string        `json:"success,omitempty"`    // a preset's name or an expression, for tasks without one
	Timeout  time.Duration `json:"timeout_ns,omitempty"` // of one attempt, for tasks without a timeout

	Concurrency int     `json:"concurrency,omitempty"` // most attempts in flight to its endpoint
	Rate        float64 `json:"rate,omitempty"`        // most attempts a second to its endpoint

	Created stamp `json:"created_ms"`
	Updated stamp `json:"updated_ms"`

	kept []byte // the stored document; empty but not nil: none was stored yet
}

// A stamp is a time in UTC, in whole milliseconds. Its JSON is Unix ms.
type stamp struct{ time.Time }

func (s stamp) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, s.UnixMilli(), 10), nil }

func (s *stamp) UnmarshalJSON(text []byte) error {
	ms, err := strconv.ParseInt(string(text), 10, 64)
	s.Time = time.UnixMilli(ms).UTC()
	return err
}

// Version identifies the stored state of the merchant: every change changes it.
func (m *Merchant) Version() string {
	sum := sha256.Sum256(m.kept)
	return hex.EncodeToString(sum[:8])
}

// A Sign says how requests to a merchant are signed. The zero Sign: as the queue says.
type Sign struct {
	Scheme  string   `json:"scheme,omitempty"`  // one of sign.Schemes
	Serial  string   `json:"serial,omitempty"`  // only for wechat_rsa
	Params  string   `json:"params,omitempty"`  // only for md5_key: the text of sign.Params
	Header  string   `json:"header,omitempty"`  // only for t_v1
	Secrets []Secret `json:"secrets,omitempty"` // the newest first
}

// A Secret is a stored key. It is sealed, so that pages, logs and copies of the store do not reveal it.
type Secret struct {
	Sealed string `json:"sealed"`           // the result of Masters.Seal
	Ending string `json:"ending,omitempty"` // its last four characters; empty if they would reveal too much
	Added  stamp  `json:"added_ms"`
	Until  stamp  `json:"until_ms,omitzero"` // when it stops signing; zero: never
}

// Shown returns the visible part of a secret: three stars and its last four characters.
func (s *Secret) Shown() string { return stars + s.Ending }

const stars = "***"

// active returns the secrets that sign at a time, and when that set changes; zero: never.
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
