package merchant

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/rule"
	"github.com/bellmanhq/bellman/schedule"
)

// Limits of a merchant's fields.
const (
	MaxName    = 100      // characters
	MaxSecrets = 8        // valid at one time
	MaxSecret  = 16 << 10 // bytes: an RSA key with its certificate

	// MaxOverlap is the longest time for which two secrets sign.
	MaxOverlap = 90 * 24 * time.Hour

	// DefaultOverlap is the default of that time.
	DefaultOverlap = 24 * time.Hour
)

// A Wanted is the requested state of a merchant. Sign nil: as the queue signs.
type Wanted struct {
	client.PutMerchant

	// Wrong are fields that could not be parsed. They are reported together with all other errors.
	Wrong []bellman.FieldError
}

// None is the Version of a merchant that does not exist.
const None = "none"

// stands returns an error if the merchant no longer has the expected version. was is nil if it does not exist.
func (w *Wanted) stands(was *Merchant) *ChangedError {
	switch {
	case w.Version == "", w.Version == None && was == nil, was != nil && w.Version == was.Version():
		return nil
	case was == nil:
		return &ChangedError{No: w.MerchantNo}
	}
	return &ChangedError{No: w.MerchantNo, Version: was.Version(), At: was.Updated.Time}
}

// merchant returns the requested merchant without its signature, and the errors of its fields.
func (w *Wanted) merchant(url func(string) error) (m Merchant, bad *bellman.Invalid) {
	bad = &bellman.Invalid{Fields: slices.Clip(w.Wrong)}
	m = Merchant{No: w.MerchantNo, Name: w.Name, NotifyURL: w.NotifyURL, Schedule: w.Schedule, Success: w.Success}
	if !w.known("merchant_no") {
		CheckNo(bad, w.MerchantNo)
	}
	text(bad, "name", w.Name, MaxName)
	if w.NotifyURL != "" {
		if text(bad, "notify_url", w.NotifyURL, bellman.MaxURL) && url != nil {
			if err := url(w.NotifyURL); err != nil {
				bad.Note("notify_url", err)
			}
		}
	}
	if w.Schedule != "" && text(bad, "schedule", w.Schedule, bellman.MaxRule) {
		if _, err := schedule.Parse(w.Schedule); err != nil {
			bad.Note("schedule", err)
		}
	}
	if w.Success != "" && bounded(bad, "success", w.Success, bellman.MaxRule) {
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

// known reports whether a field is already reported as wrong.
func (w *Wanted) known(field string) bool {
	return slices.ContainsFunc(w.Wrong, func(f bellman.FieldError) bool { return f.Field == field })
}

// CheckNo reports the errors of a merchant's number.
func CheckNo(bad *bellman.Invalid, no string) {
	if no == "" {
		bad.Note("merchant_no", coded.Errorf("merchant.required", "is required"))
		return
	}
	if !text(bad, "merchant_no", no, bellman.MaxName) {
		return
	}
	// Numbers that look alike on every page would be different merchants.
	for i, r := range no {
		if !unicode.IsPrint(r) || r == ' ' && (i == 0 || i == len(no)-1) {
			bad.Note("merchant_no", coded.Errorf("merchant.unseen", "has a character that nobody sees, %U: want none", r))
			return
		}
	}
}

// checkNew reports the errors of a new merchant's number. An earlier version allowed blanks inside: such
// merchants can still be changed.
func checkNew(bad *bellman.Invalid, no string) {
	if strings.Contains(no, " ") {
		bad.Note("merchant_no", coded.Errorf("merchant.blank", "has a blank: want a number without one"))
	}
}

// fieldOrder is the order of reported errors: that of the document.
var fieldOrder = []string{"merchant_no", "name", "notify_url", "sign.scheme", "sign.serial", "sign.params", "sign.header", "sign.secrets", "schedule", "success", "timeout", "per_endpoint.concurrency", "per_endpoint.rate"}

func inOrder(fields []bellman.FieldError) {
	at := func(f bellman.FieldError) int {
		name, _, _ := strings.Cut(f.Field, "[")
		if i := slices.Index(fieldOrder, name); i >= 0 {
			return i
		}
		return len(fieldOrder)
	}
	slices.SortStableFunc(fields, func(a, b bellman.FieldError) int { return at(a) - at(b) })
}

func text(bad *bellman.Invalid, field, s string, most int) bool {
	if !bounded(bad, field, s, most) {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			bad.Note(field, coded.Errorf("merchant.control", "has a control character"))
			return false
		}
	}
	return true
}

func bounded(bad *bellman.Invalid, field, s string, most int) bool {
	switch {
	case !utf8.ValidString(s):
		bad.Note(field, coded.Errorf("merchant.not_utf8", "is not UTF-8"))
	case len(s) > most && utf8.RuneCountInString(s) > most:
		bad.Note(field, coded.Errorf("merchant.long", "is longer than %d characters", most))
	default:
		return true
	}
	return false
}

// secretsField is the field for which secrets are sealed.
const secretsField = "sign.secrets"

const sealedPrefix = "sealed:"

// untilMark separates a sealed secret from its end in an export.
const untilMark = " until "

// Exported returns a secret as it appears in an export: sealed.
func (s *Secret) Exported() string {
	if s.Until.IsZero() {
		return sealedPrefix + s.Sealed
	}
	return sealedPrefix + s.Sealed + untilMark + s.Until.Format(millis)
}

const millis = "2006-01-02T15:04:05.000Z07:00"

// signed returns the requested Sign, given the present one, and reports errors. It drops expired secrets.
func (w *Wanted) signed(bad *bellman.Invalid, was *Sign, masters *Masters, now time.Time) Sign {
	var s Sign
	noted := len(bad.Fields)
	switch {
	case w.Sign == nil:
		return s
	case w.Sign.Scheme == "":
		if !w.known("sign.scheme") {
			bad.Note("sign.scheme", coded.Errorf("merchant.missing_scheme", "is missing: leave sign out to sign as the queue does"))
		}
		return s
	}
	s.Scheme, s.Serial, s.Params, s.Header = w.Sign.Scheme, w.Sign.Serial, w.Sign.Params, w.Sign.Header
	active, _ := was.active(now)
	switch {
	case w.Sign.Secrets != nil:
		s.Secrets = w.sealed(bad, active, masters, now)
	case was.Scheme == s.Scheme:
		s.Secrets = active
	}
	if len(s.Secrets) > MaxSecrets {
		bad.Note(secretsField, coded.Errorf("merchant.many_secrets", "are more than %d that stand at one time", MaxSecrets))
	}
	if len(bad.Fields) > noted {
		return s
	}
	if _, err := signer(masters, w.MerchantNo, &s, s.Secrets); err != nil {
		f := bellman.FieldError{Field: "sign", Problem: err.Error(), Why: err}
		if wrong := new(signError); errors.As(err, &wrong) {
			f.Field, f.Problem = wrong.field, wrong.problem
		}
		bad.Fields = append(bad.Fields, f)
	}
	return s
}

// sealed returns the requested secrets.
func (w *Wanted) sealed(bad *bellman.Invalid, active []Secret, masters *Masters, now time.Time) []Secret {
	secrets := make([]Secret, 0, len(w.Sign.Secrets))
	for i, want := range w.Sign.Secrets {
		secret, err := w.secret(want, active, masters, now)
		if err != nil {
			bad.Note(fmt.Sprintf("%s[%d]", secretsField, i), err)
			continue
		}
		secrets = append(secrets, secret)
	}
	return secrets
}

func (w *Wanted) secret(want string, active []Secret, masters *Masters, now time.Time) (Secret, error) {
	if _, shown := strings.CutPrefix(want, stars); shown {
		return keep(want, active)
	}
	sealed, is := strings.CutPrefix(want, sealedPrefix)
	if !is {
		if s, is := same(masters, w.MerchantNo, strings.TrimSpace(want), time.Time{}, active); is {
			return s, nil
		}
		return newSecret(masters, w.MerchantNo, want, now)
	}
	s := Secret{Added: stamp{now}}
	sealed, until, timed := strings.Cut(sealed, untilMark)
	if timed {
		t, err := time.Parse(millis, until)
		if err != nil {
			return s, coded.Errorf("merchant.until", "has no time after until: want one such as 2026-11-20T15:04:05.123Z")
		}
		s.Until = stamp{t.UTC()}
	}
	key, err := masters.Open(w.MerchantNo, secretsField, sealed)
	if err != nil {
		return s, err
	}
	if s, is := same(masters, w.MerchantNo, string(key), s.Until.Time, active); is {
		return s, nil
	}
	s.Sealed, s.Ending = sealed, ending(string(key))
	return s, nil
}

// same finds a key among the present secrets: setting it again is no change.
func same(masters *Masters, no, key string, until time.Time, active []Secret) (Secret, bool) {
	for _, s := range active {
		known, err := masters.Open(no, secretsField, s.Sealed)
		if err == nil && subtle.ConstantTimeCompare(known, []byte(key)) == 1 && s.Until.Equal(until) {
			return s, true
		}
	}
	return Secret{}, false
}

// keep finds the secret with this visible part.
func keep(shown string, active []Secret) (Secret, error) {
	var found []Secret
	for _, s := range active {
		if s.Shown() == shown {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Secret{}, coded.Errorf("merchant.keep_none", "%.20q: there is no secret that ends so to keep", shown)
	}
	return Secret{}, coded.Errorf("merchant.keep_several", "%.20q: several secrets are shown so: leave secrets out to keep all of them", shown)
}

// newSecret seals a key.
func newSecret(masters *Masters, no, key string, now time.Time) (Secret, error) {
	key = strings.TrimSpace(key)
	switch {
	case key == "":
		return Secret{}, coded.Errorf("merchant.empty_secret", "is empty")
	case len(key) > MaxSecret:
		return Secret{}, coded.Errorf("merchant.long_secret", "is longer than %d bytes, which no key is", MaxSecret)
	case !utf8.ValidString(key):
		return Secret{}, coded.Errorf("merchant.not_utf8", "is not UTF-8")
	case strings.HasPrefix(key, "env:"), strings.HasPrefix(key, "file:"):
		return Secret{}, coded.Errorf("merchant.place", "names a place: want the key itself, for what a merchant is given must not read this machine's variables and files")
	}
	sealed, err := masters.Seal(no, secretsField, []byte(key))
	if err != nil {
		return Secret{}, coded.Errorf("merchant.unkept", "cannot be kept: %w", err)
	}
	return Secret{Sealed: sealed, Ending: ending(key), Added: stamp{now}}, nil
}

// ending returns the visible part of a key, as sign.Secret shows it.
func ending(key string) string {
	return strings.TrimPrefix(sign.NewSecret(key).String(), stars)
}
