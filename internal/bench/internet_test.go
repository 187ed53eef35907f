package bench

import (
	"testing"
)

func TestInternet(t *testing.T) {
	t.Parallel()
	report := runTiny(t, Options{Scenarios: []string{"internet"}})
	if f, _ := report.Figure("internet", "arrived at healthy hosts"); f.Value != 100 {
		t.Errorf("%g %% arrived at healthy hosts; want all", f.Value)
	}
	for _, who := range []string{"", "net/http: "} {
		for _, name := range []string{"arrived at healthy hosts", "requests in flight, most"} {
			if f, _ := report.Figure("internet", who+name); f.Value <= 0 {
				t.Errorf("%s%s is %g; want more than 0", who, name, f.Value)
			}
		}
	}
}
