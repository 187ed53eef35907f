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

// record returns the audit record of a change. was is nil if the merchant was created, is is nil if it was
// deleted.
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

// changes lists the fields that differ between two versions of a merchant.
func changes(was, is *Merchant) (list []store.Changed) {
	before, after := recorded(was), recorded(is)
	for i := range before {
		if before[i][1] != after[i][1] {
			list = append(list, store.Changed{Field: before[i][0], Before: before[i][1], After: after[i][1]})
		}
	}
	return list
}

// recorded returns the fields of a merchant under the names of the API, with their values for an audit record:
// empty if there is none, and never a secret.
func recorded(m *Merchant) [12][2]string {
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
		{"name", m.Name}, {"notify_url", queryHidden(m.NotifyURL)}, {"sign.scheme", m.Sign.Scheme}, {"sign.serial", m.Sign.Serial}, {"sign.params", m.Params}, {"sign.header", m.Header},
		{"sign.secrets", strings.Join(secrets, ", ")}, {"schedule", m.Schedule}, {"success", m.Success}, {"timeout", timeout},
		{"per_endpoint.concurrency", concurrency}, {"per_endpoint.rate", rate},
	}
}

// queryHidden replaces the values in the query of an address by a fingerprint, because they may be secrets.
// Different values have different fingerprints.
func queryHidden(address string) string {
	rest, query, has := strings.Cut(address, "?")
	if !has {
		return address
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, is := strings.Cut(part, "=")
		if !is { // a value without a name may be the secret itself
			name, value = "", part
		}
		sum := sha256.Sum256([]byte(value))
		parts[i] = strings.TrimPrefix(name+"=", "=") + stars + hex.EncodeToString(sum[:4])
	}
	return rest + "?" + strings.Join(parts, "&")
}
