package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// Resuming something that is not paused does nothing, writes no audit record, and returns
// ErrNotPaused. A pause that another node began just now is ended.
func TestResumeWhatIsNotPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New()
		q := engine.Queue{Name: "q", Handler: &receiver{answer: accept}}
		e, stop := run(t, db, q)
		defer stop()
		by := bellman.By{Who: "op", Reason: "r"}
		resume := map[string]func() error{
			"queue":    func() error { return e.ResumeQueue(t.Context(), "q", by) },
			"endpoint": func() error { return e.ResumeEndpoint(t.Context(), "https://m.example:443", by) },
			"merchant": func() error { return e.ResumeMerchant(t.Context(), "M1", by) },
		}
		for name, do := range resume {
			if err := do(); !errors.Is(err, bellman.ErrNotPaused) {
				t.Errorf("resume a %s that is not paused = %v; want ErrNotPaused", name, err)
			}
		}
		for _, target := range []string{"queue/q", "endpoint/https://m.example:443", "merchant/M1"} {
			other := &store.Batch{Docs: []store.Doc{{Kind: "pause", Name: target, Value: []byte(`{"who":"another"}`)}}}
			if err := db.Commit(t.Context(), other); err != nil {
				t.Fatal(err)
			}
		}
		for name, do := range resume {
			if err := do(); err != nil {
				t.Errorf("resume a %s that another node paused = %v; want no error", name, err)
			}
			if err := do(); !errors.Is(err, bellman.ErrNotPaused) {
				t.Errorf("resume a %s again = %v; want ErrNotPaused", name, err)
			}
		}
		if records, err := db.Audits(t.Context(), time.Now().Add(time.Hour), 10); err != nil || len(records) != 3 {
			t.Errorf("%d audit records, %v; want one for each pause that was ended", len(records), err)
		}
	})
}

// An empty endpoint or merchant is refused: it would pause nothing, and a task without an endpoint
// would go out although its pause seemed to succeed.
func TestPauseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		for field, err := range map[string]error{
			"endpoint":    e.PauseEndpoint(t.Context(), "", bellman.By{}),
			"merchant_no": e.PauseMerchant(t.Context(), "", bellman.By{}),
		} {
			if bad := new(bellman.Invalid); !errors.As(err, &bad) || !bad.Has(field) {
				t.Errorf("pause with an empty %s = %v; want an Invalid that names it", field, err)
			}
		}
	})
}
