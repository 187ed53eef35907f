package merchant

import (
	"strconv"
	"time"

	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/schedule"
)

// A Merchant is a merchant as stored. Its ID is its number, as tasks name it. An empty field leaves
// the choice to the queue. Its JSON is the document in the store.
type Merchant struct {
	registry.Head        // the secrets are those of Sign
	NotifyURL     string `json:"notify_url,omitempty"` // the address of tasks without an address of their own

	Sign
	Schedule string        `json:"schedule,omitempty"`   // a preset's name or a text, for tasks without a schedule
	Success  string        `json:"success,omitempty"`    // a preset's name or an expression, for tasks without one
	Timeout  time.Duration `json:"timeout_ns,omitempty"` // of one attempt, for tasks without a timeout

	Concurrency int     `json:"concurrency,omitempty"` // most attempts in flight to its endpoint
	Rate        float64 `json:"rate,omitempty"`        // most attempts a second to its endpoint
}

// A Sign says how requests to a merchant are signed. The zero Sign: as the queue says.
type Sign struct {
	Scheme string `json:"scheme,omitempty"` // one of sign.Schemes
	Serial string `json:"serial,omitempty"` // only for wechat_rsa
	Params string `json:"params,omitempty"` // only for md5_key: the text of sign.Params
	Header string `json:"header,omitempty"` // only for t_v1
}

// recorded returns the fields of a merchant under the names of the API, with their values for an
// audit record: never a secret.
func recorded(m *Merchant) [][2]string {
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
	return [][2]string{
		{"name", m.Name}, {"notify_url", registry.RecordedURL(m.NotifyURL)}, {"sign.scheme", m.Sign.Scheme}, {"sign.serial", m.Sign.Serial},
		{"sign.params", m.Params}, {"sign.header", m.Header}, {secretsField, registry.Recorded(m.Secrets)}, {"schedule", m.Schedule}, {"success", m.Success}, {"timeout", timeout},
		{"per_endpoint.concurrency", concurrency}, {"per_endpoint.rate", rate},
	}
}
