package states_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/states"
)

func TestQueryPresets(t *testing.T) {
	for _, tt := range rows {
		q, err := states.CompileQuery(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		a := q.Read(order.Answer{Status: tt.status, Body: []byte(tt.body)}, 10*time.Minute)
		if got := described(a); a.Reading != tt.want || got != tt.more || (tt.why == "") != (a.Error == "") || !strings.Contains(a.Error, tt.why) {
			t.Errorf("%s of %d %.120q\n  = %v %s, %q\nwant %v %s, %q", tt.name, tt.status, tt.body, a.Reading, got, a.Error, tt.want, tt.more, tt.why)
		}
		result := bellman.Accepted
		if tt.want == qerr {
			result = bellman.Refused
			if tt.status >= 300 {
				result = bellman.ErrorStatus
			}
		}
		if a.Result != result || strings.Contains(a.Error, "\n") {
			t.Errorf("%s of %d %.120q: result %v, error %q; want %v, and one line", tt.name, tt.status, tt.body, a.Result, a.Error, result)
		}
	}
}

func described(a order.QueryAnswer) string {
	var parts []string
	if a.Wait == 5*time.Second {
		parts = append(parts, "wait")
	} else if a.Wait != 0 {
		parts = append(parts, a.Wait.String())
	}
	if a.Throttled {
		parts = append(parts, "throttled")
	}
	if a.Taken != nil {
		text, _ := json.Marshal(a.Taken)
		parts = append(parts, string(text))
	}
	return strings.Join(parts, " ")
}

// Every preset has a row for each reading that section 4 gives it, and one that
// says nothing.
func TestRowsAreComplete(t *testing.T) {
	seen := map[string]map[order.Reading]bool{}
	for _, tt := range rows {
		name, _, _ := strings.Cut(tt.name, " ")
		if seen[name] == nil {
			seen[name] = map[order.Reading]bool{}
		}
		seen[name][tt.want] = true
	}
	for _, p := range states.Presets() {
		for _, r := range []order.Reading{qerr, open, paid} {
			if !seen[p.Name][r] {
				t.Errorf("preset %s has no row that reads %v", p.Name, r)
			}
		}
		if len(seen[p.Name]) < 4 || p.Source == "" {
			t.Errorf("preset %s: readings %v, source %q", p.Name, seen[p.Name], p.Source)
		}
	}
}
