package merchant

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// A Desk is where the API and the console read and change merchants. Errors are those of
// an engine; no answer has a secret, but for sealed ones.
type Desk interface {
	// List returns up to s.Limit merchants of a search behind a place; next is where to go
	// on, and empty only at the end.
	List(ctx context.Context, s client.MerchantSearch, after string) (page []client.Merchant, next string, err error)

	Get(ctx context.Context, no string) (client.Merchant, error)
	Stats(ctx context.Context, no string) (client.MerchantStats, error)

	// Put makes a merchant what in says; created says that there was none.
	Put(ctx context.Context, in Wanted, by bellman.By) (m client.Merchant, created bool, err error)

	// Import puts up to client.MaxBatch at once, with one result each, in order; with dry it only
	// says what it would do.
	Import(ctx context.Context, in []Wanted, dry bool, by bellman.By) ([]Imported, error)

	Delete(ctx context.Context, no string, by bellman.By) error

	// Rotate gives a merchant a new secret, beside which those that it has go on signing for
	// overlap; negative: for DefaultOverlap.
	Rotate(ctx context.Context, no, secret string, overlap time.Duration, by bellman.By) (client.Merchant, error)

	Pause(ctx context.Context, no string, by bellman.By) error
	Resume(ctx context.Context, no string, by bellman.By) error

	// Test adds a task that sends a merchant a test; no queue: the one there is.
	Test(ctx context.Context, no, queue string, by bellman.By) (*bellman.Task, error)

	Reseal(ctx context.Context, by bellman.By) (client.MerchantReseal, error)
}

// Shown is a merchant as the API answers it, but for its pause and its newest tasks; sealed:
// as an export has it.
func (r *Registry) Shown(m *Merchant, sealed bool) client.Merchant {
	out := client.Merchant{
		MerchantNo: m.No, Name: m.Name, NotifyURL: m.NotifyURL, Schedule: m.Schedule, Success: m.Success,
		PerEndpoint: client.MerchantLimits{Concurrency: m.Concurrency, Rate: schedule.FormatRate(m.Rate)},
		Created:     client.At(m.Created.Time), Updated: client.At(m.Updated.Time), Version: m.Version(),
	}
	if m.Timeout > 0 {
		out.Timeout = schedule.FormatDuration(m.Timeout)
	}
	if m.Scheme == "" {
		return out
	}
	active, _ := m.active(time.Now())
	out.Sign = &client.ShownMerchantSign{Scheme: m.Scheme, Serial: m.Serial, Secrets: []string{}, Keys: []client.MerchantKey{}}
	for _, secret := range active {
		text := secret.Shown()
		if sealed {
			text = secret.Exported()
		}
		out.Sign.Secrets = append(out.Sign.Secrets, text)
		id, _ := SealedUnder(secret.Sealed) // what is kept was looked at
		key := client.MerchantKey{LastFour: secret.Ending, MasterID: id, Added: client.At(secret.Added.Time)}
		if !secret.Until.IsZero() {
			until := client.At(secret.Until.Time)
			key.Until = &until
		}
		out.Sign.Keys = append(out.Sign.Keys, key)
	}
	if _, err := signer(r.masters, m.No, &m.Sign, active); err != nil {
		out.Problem = err.Error()
	}
	return out
}
