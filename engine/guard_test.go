package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/engine/figures"
)

// A panic of Hint, Ask, Spare, Failing or Refused is logged once for each, and Ask returns an
// error.
func TestGuardOfNodes(t *testing.T) {
	var log bytes.Buffer
	o := Options{
		Hint:    func(context.Context, string, Hint) { panic("no hint") },
		Ask:     func(context.Context, string, figures.Ask) (figures.Report, error) { panic("no report") },
		Spare:   func() { panic("no spare") },
		Failing: func(context.Context) []figures.FailingMerchant { panic("nobody") },
		Refused: func() []figures.Refusal { panic("nothing") },
	}
	(&guard{log: slog.New(slog.NewTextHandler(&log, nil))}).around(&o)
	for range 2 {
		o.Hint(t.Context(), "node:1", Hint{})
		if _, err := o.Ask(t.Context(), "node:1", figures.Ask{}); err == nil {
			t.Error("Ask() that panics returned no error")
		}
		o.Spare()
		o.Failing(t.Context())
		o.Refused()
	}
	for _, callback := range []string{"Hint", "Ask", "Spare", "Failing", "Refused"} {
		if n := strings.Count(log.String(), "callback="+callback+" "); n != 1 {
			t.Errorf("the panics of %s are %d times in the log; want once: %s", callback, n, &log)
		}
	}
}
