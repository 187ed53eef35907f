package merchant

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/rule"
	"github.com/bellmanhq/bellman/schedule"
)

// maxSecrets is how many secrets of a merchant may be valid at one time.
const maxSecrets = 8

// A Wanted is the requested state of a merchant. Sign nil: as the queue signs.
type Wanted struct {
	client.PutMerchant

	// Wrong are fields that could not be parsed. They are reported together with all other errors.
	Wrong []bellman.FieldError
}

// A request is a Wanted with what its check needs.
type request struct {
	Wanted
	checkURL func(string) error
}

// Names implements [registry.Request].
func (w *request) Names() (id, version string, wrong []bellman.FieldError) {
	return w.MerchantNo, w.Version, w.Wrong
}

// Make implements [registry.Request].
func (w *request) Make(was *Merchant, masters *registry.Masters, now time.Time) (Merchant, *bellman.Invalid) {
	m, bad := w.merchant(w.checkURL)
	if was == nil {
		registry.CheckNew(bad, "merchant_no", w.MerchantNo)
		was = new(Merchant)
	}
	m.Sign, m.Secrets = w.signed(bad, was, masters, now)
	registry.InOrder(bad.Fields, fieldOrder)
	return m, bad
}

// merchant returns the requested merchant without its signature, and the errors of its fields.
func (w *Wanted) merchant(url func(string) error) (m Merchant, bad *bellman.Invalid) {
	bad = &bellman.Invalid{Fields: slices.Clip(w.Wrong)}
	m = Merchant{Head: registry.Head{ID: w.MerchantNo, Name: w.Name}, NotifyURL: w.NotifyURL, Schedule: w.Schedule, Success: w.Success}
	if !bad.Has("merchant_no") {
		registry.CheckID(bad, "merchant_no", w.MerchantNo)
	}
	registry.Text(bad, "name", w.Name, registry.MaxEntryName)
	registry.Address(bad, "notify_url", w.NotifyURL, url)
	if w.Schedule != "" && registry.Text(bad, "schedule", w.Schedule, bellman.MaxRule) {
		if _, err := schedule.Parse(w.Schedule); err != nil {
			bad.Note("schedule", err)
		}
	}
	if w.Success != "" && registry.Bounded(bad, "success", w.Success, bellman.MaxRule) {
		if _, err := rule.Compile(w.Success); err != nil {
			bad.Fields = append(bad.Fields, bellman.FieldError{Field: "success", Problem: strings.TrimPrefix(err.Error(), "rule: "), Why: err})
		}
	}
	if w.Timeout != "" {
		var err error
		m.Timeout, err = schedule.ParseDuration(w.Timeout)
		switch {
		case err != nil:
		case m.Timeout <= 0:
			err = coded.Errorf("merchant.timeout_none", "want 1ms to 10m")
		case m.Timeout < time.Millisecond || m.Timeout > bellman.MaxTimeout:
			err = coded.Errorf("merchant.timeout", "%s is out of range: want 1ms to 10m", schedule.FormatDuration(m.Timeout))
		}
		if err != nil {
			bad.Note("timeout", err)
		}
	}
	if w.PerEndpoint == nil {
		return m, bad
	}
	if m.Concurrency = w.PerEndpoint.Concurrency; m.Concurrency < 0 || m.Concurrency > bellman.MaxConcurrency {
		bad.Note("per_endpoint.concurrency", coded.Errorf("merchant.concurrency", "want 1 to %d, or nothing for the queue's", bellman.MaxConcurrency))
	}
	var ok bool
	if m.Rate, ok = schedule.ParseRate(w.PerEndpoint.Rate); !ok {
		bad.Note("per_endpoint.rate", coded.Errorf("merchant.no_rate", "want a rate such as 50/s, 30/m or 100/h, from 1/h to 1000000/s, or nothing for the queue's"))
	} else if m.Rate != 0 && (m.Rate < schedule.MinRate || m.Rate > schedule.MaxRate) {
		bad.Note("per_endpoint.rate", coded.Errorf("merchant.rate", "want a rate from 1/h to 1000000/s, or nothing for the queue's"))
	}
	return m, bad
}

// fieldOrder is the order of reported errors: that of the document.
var fieldOrder = []string{"merchant_no", "name", "notify_url", "sign.scheme", "sign.serial", "sign.params", "sign.header", "sign.secrets", "schedule", "success", "timeout", "per_endpoint.concurrency", "per_endpoint.rate"}

// secretsField is the field for which secrets are sealed.
const secretsField = "sign.secrets"

// signed returns the requested Sign with its secrets, given the present merchant, and reports
// errors. It drops expired secrets.
func (w *Wanted) signed(bad *bellman.Invalid, was *Merchant, masters *registry.Masters, now time.Time) (s Sign, secrets []registry.Secret) {
	noted := len(bad.Fields)
	switch {
	case w.Sign == nil:
		return s, nil
	case w.Sign.Scheme == "":
		if !bad.Has("sign.scheme") {
			bad.Note("sign.scheme", coded.Errorf("merchant.missing_scheme", "is missing: leave sign out to sign as the queue does"))
		}
		return s, nil
	}
	s.Scheme, s.Serial, s.Params, s.Header = w.Sign.Scheme, w.Sign.Serial, w.Sign.Params, w.Sign.Header
	active, _ := was.Active(now)
	switch {
	case w.Sign.Secrets != nil:
		sealer := registry.Sealer{Masters: masters, ID: w.MerchantNo, Field: secretsField, Now: now}
		secrets = make([]registry.Secret, 0, len(w.Sign.Secrets))
		for i, want := range w.Sign.Secrets {
			secret, err := sealer.Wanted(want, active)
			if err != nil {
				bad.Note(registry.Place(secretsField, i), err)
				continue
			}
			secrets = append(secrets, secret)
		}
	case was.Sign.Scheme == s.Scheme:
		secrets = active
	}
	if len(secrets) > maxSecrets {
		bad.Note(secretsField, coded.Errorf("merchant.many_secrets", "are more than %d that stand at one time", maxSecrets))
	}
	if len(bad.Fields) > noted {
		return s, secrets
	}
	if _, err := signer(masters, w.MerchantNo, &s, secrets); err != nil {
		f := bellman.FieldError{Field: "sign", Problem: err.Error(), Why: err}
		if wrong, is := errors.AsType[*signError](err); is {
			f.Field, f.Problem = wrong.field, wrong.problem
		}
		bad.Fields = append(bad.Fields, f)
	}
	return s, secrets
}
