package merchant

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// A Merchant is one that is told, as it is kept. Fields that are empty leave the
// matter to the queue.
type Merchant struct {
	No        string // as tasks name it
	Name      string // for people
	NotifyURL string // where tasks go that name no address of their own

	Sign     Sign
	Schedule string        // a preset's name or text, for tasks that give none
	Success  string        // a preset's name or an expression, for tasks that give none
	Timeout  time.Duration // of one attempt, for tasks that give none

	Concurrency int     // attempts in flight to its endpoint at most
	Rate        float64 // attempts a second to its endpoint at most

	Created, Updated time.Time // whole milliseconds, UTC

	kept []byte // the document that says all that; empty and not nil: none was kept yet
}

// Version names what is kept of the merchant: it is another one after each change.
func (m *Merchant) Version() string {
	sum := sha256.Sum256(m.kept)
	return hex.EncodeToString(sum[:8])
}

// A Sign says how what is sent to a merchant is signed. The zero Sign: as the
// queue says.
type Sign struct {
	Scheme  string   // one of sign.Schemes
	Serial  string   // for wechat_rsa alone
	Secrets []Secret // the newest first
}

// A Secret is a key as it is kept: sealed, so that neither a page, a log nor a copy
// of the store has it.
type Secret struct {
	Sealed string    // as Masters.Seal wrote it
	Ending string    // its last four characters; empty where that would tell too much
	Added  time.Time // whole milliseconds, UTC
	Until  time.Time // it signs no more from then on; zero: it stands
}

// Shown is what may be seen of a secret: three stars, and its last four characters.
func (s *Secret) Shown() string { return stars + s.Ending }

const stars = "***"

// Active returns the secrets that sign at a time, the newest first.
func (s *Sign) Active(now time.Time) []Secret {
	active, _ := s.active(now)
	return active
}

// active returns the secrets that sign at a time, and when that changes; zero:
// never.
func (s *Sign) active(now time.Time) (active []Secret, changes time.Time) {
	for _, secret := range s.Secrets {
		switch {
		case secret.Until.IsZero():
		case !secret.Until.After(now):
			continue
		case changes.IsZero() || secret.Until.Before(changes):
			changes = secret.Until
		}
		active = append(active, secret)
	}
	return active, changes
}
