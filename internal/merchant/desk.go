package merchant

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/schedule"
)

// A Desk reads and changes merchants for the API and the console. Its errors are those of an
// engine. No answer has a secret, except sealed ones.
type Desk interface {
	// List returns up to s.Limit merchants after a place. next is the place to continue from; it is
	// empty only at the end.
	List(ctx context.Context, s client.MerchantSearch, after string) (page []client.Merchant, next string, err error)

	// Named returns up to limit merchants whose numbers begin with a text, in order, without what
	// their newest tasks say. It costs no read of tasks.
	Named(ctx context.Context, begin string, limit int) ([]client.Merchant, error)

	Get(ctx context.Context, no string) (client.Merchant, error)
	Stats(ctx context.Context, no string) (client.MerchantStats, error)

	// Put registers or changes a merchant; created reports that it did not exist.
	Put(ctx context.Context, in Wanted, by bellman.By) (m client.Merchant, created bool, err error)

	// Import puts up to client.MaxBatch merchants at once, and returns one result each, in order.
	// With dry it only reports what it would do.
	Import(ctx context.Context, in []Wanted, dry bool, by bellman.By) ([]registry.Imported, error)

	Delete(ctx context.Context, no string, by bellman.By) error

	// Rotate gives a merchant a new secret. The present secrets also sign for overlap; a negative
	// overlap means registry.DefaultOverlap.
	Rotate(ctx context.Context, no, secret string, overlap time.Duration, by bellman.By) (client.Merchant, error)

	Pause(ctx context.Context, no string, by bellman.By) error
	Resume(ctx context.Context, no string, by bellman.By) error

	// Test adds a task that sends a test to a merchant. An empty queue means the only queue of kind
	// notify.
	Test(ctx context.Context, no, queue string, by bellman.By) (*bellman.Task, error)

	Reseal(ctx context.Context, by bellman.By) (client.MerchantReseal, error)
}

// Shown returns a merchant as the API shows it, without its pause and its newest tasks. sealed:
// with sealed secrets, as in an export.
func (r *Registry) Shown(m *Merchant, sealed bool) client.Merchant {
	out := client.Merchant{
		MerchantNo: m.ID, Name: m.Name, NotifyURL: m.NotifyURL, Schedule: m.Schedule, Success: m.Success,
		PerEndpoint: client.MerchantLimits{Concurrency: m.Concurrency, Rate: schedule.FormatRate(m.Rate)},
		Created:     client.At(m.Created.Time), Updated: client.At(m.Updated.Time), Version: m.Version(),
	}
	if m.Timeout > 0 {
		out.Timeout = schedule.FormatDuration(m.Timeout)
	}
	if m.Scheme == "" {
		return out
	}
	active, _ := m.Active(time.Now())
	out.Sign = &client.ShownMerchantSign{Scheme: m.Scheme, Serial: m.Serial, Params: m.Params, Header: m.Header, Secrets: []string{}, Keys: []client.MerchantKey{}}
	for _, secret := range active {
		text := secret.Shown()
		if sealed {
			text = secret.Exported()
		}
		out.Sign.Secrets = append(out.Sign.Secrets, text)
		id, _ := registry.SealedUnder(secret.Sealed) // stored secrets were checked
		key := client.MerchantKey{LastFour: secret.Ending, MasterID: id, Added: client.At(secret.Added.Time)}
		if !secret.Until.IsZero() {
			until := client.At(secret.Until.Time)
			key.Until = &until
		}
		out.Sign.Keys = append(out.Sign.Keys, key)
	}
	if _, err := signer(r.Masters(), m.ID, &m.Sign, active); err != nil {
		out.Problem = err.Error()
	}
	return out
}
