package merchant

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// record is the audit record of what was done to a merchant. Either was or is may be nil: there
// was none, or there is none any more.
func record(by bellman.By, at time.Time, action string, was, is *Merchant) store.Audit {
	no := ""
	for _, m := range [...]*Merchant{was, is} {
		if m != nil {
			no = m.No
		}
	}
	a := store.AuditOf(by, at, action, target(no))
	a.Changes = changes(was, is)
	return a
}

// changes lists the fields in which a merchant differs from what it was.
func changes(was, is *Merchant) (list []store.Changed) {
	before, after := recorded(was), recorded(is)
	for i := range before {
		if before[i][1] != after[i][1] {
			list = append(list, store.Changed{Field: before[i][0], Before: before[i][1], After: after[i][1]})
		}
	}
	return list
}

// recorded returns the fields of a merchant as the API names them, each with its value as an
// audit record has it: empty for none, and no secret.
func recorded(m *Merchant) [10][2]string {
	if m == nil {
		m = new(Merchant)
	}
	secrets := make([]string, len(m.Sign.Secrets))
	for i, s := range m.Sign.Secrets {
		secrets[i] = s.Shown() + " of " + s.Added.Format(millis)
		if !s.Until.IsZero() {
			secrets[i] += " until " + s.Until.Format(millis)
		}
	}
	timeout, concurrency, rate := "", "", ""
	if m.Timeout > 0 {
		timeout = schedule.FormatDuration(m.Timeout)
	}
	if m.Concurrency > 0 {
		concurrency = strconv.Itoa(m.Concurrency)
	}
	if m.Rate > 0 {
		rate = schedule.FormatRate(m.Rate)
	}
	return [...][2]string{
		{"name", m.Name}, {"notify_url", queryHidden(m.NotifyURL)}, {"sign.scheme", m.Sign.Scheme}, {"sign.serial", m.Sign.Serial},
		{"sign.secrets", strings.Join(secrets, ", ")}, {"schedule", m.Schedule}, {"success", m.Success}, {"timeout", timeout},
		{"per_endpoint.concurrency", concurrency}, {"per_endpoint.rate", rate},
	}
}

// queryHidden is an address in which a fingerprint stands for the values of the query, which
// may be secrets: another value is another fingerprint.
func queryHidden(address string) string {
	rest, query, has := strings.Cut(address, "?")
	if !has {
		return address
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, is := strings.Cut(part, "=")
		if !is { // what has no name may be the secret itself
			name, value = "", part
		}
		sum := sha256.Sum256([]byte(value))
		parts[i] = strings.TrimPrefix(name+"=", "=") + stars + hex.EncodeToString(sum[:4])
	}
	return rest + "?" + strings.Join(parts, "&")
}
