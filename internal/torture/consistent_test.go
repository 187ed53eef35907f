package torture

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// A silent test counts errors instead of reporting them.
type silent struct {
	testing.TB
	told []string
}

func (s *silent) Helper() {}
func (s *silent) Errorf(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

// TestConsistent checks consistent with made-up logs.
func TestConsistent(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	made := func(number, node, started int, result string, status int) client.Attempt {
		return client.Attempt{Number: number, Due: client.At(at(0)), Started: client.At(at(started)), TookMS: 10, Node: agent(node) + "/7", Result: result, Status: status}
	}
	saw := func(number, node, ms, status int) sight {
		return sight{at: at(ms), node: node, number: number, status: status}
	}
	tests := []struct {
		name    string
		log     []client.Attempt
		sights  []sight
		wrong   int // number of faults
		explain int // number of deliveries to be explained
	}{
		{"once", []client.Attempt{made(1, 0, 1, "accepted", 200)}, []sight{saw(1, 0, 2, 200)}, 0, 0},
		{"after a refusal", []client.Attempt{made(1, 0, 1, "refused", 500), made(2, 1, 20, "accepted", 200)}, []sight{saw(1, 0, 2, 500), saw(2, 1, 21, 200)}, 0, 0},
		{"in no log", []client.Attempt{made(1, 1, 6000, "accepted", 200)}, []sight{saw(1, 0, 2, 200), saw(1, 1, 6001, 200)}, 0, 1},
		{"late", []client.Attempt{made(1, 1, 6000, "accepted", 200), made(2, 0, 1, "accepted", 200)}, []sight{saw(1, 0, 2, 200), saw(1, 1, 6001, 200)}, 0, 1},
		{"late and not answered", []client.Attempt{made(1, 1, 6000, "accepted", 200), made(2, 0, 1, "timeout", 0)}, []sight{saw(1, 1, 6001, 200)}, 0, 1},
		{"early", []client.Attempt{made(1, 0, -1, "accepted", 200)}, []sight{saw(1, 0, 0, 200)}, 1, 0},
		{"after it was accepted", []client.Attempt{made(1, 0, 1, "accepted", 200), made(2, 0, 20, "accepted", 200)}, []sight{saw(1, 0, 2, 200), saw(2, 0, 21, 200)}, 1, 0},
		{"never accepted", []client.Attempt{made(1, 0, 1, "refused", 500)}, []sight{saw(1, 0, 2, 500)}, 1, 0},
		{"not seen", []client.Attempt{made(1, 0, 1, "accepted", 200)}, nil, 1, 0},
		{"another's", []client.Attempt{made(1, 0, 1, "accepted", 200)}, []sight{saw(1, 1, 2, 200)}, 1, 1},
		{"a gap", []client.Attempt{made(2, 0, 1, "accepted", 200)}, []sight{saw(2, 0, 2, 200)}, 1, 0},
		{"no log", nil, nil, 1, 0},
	}
	for _, tt := range tests {
		var told silent
		explained := 0
		consistent(&faults{tb: &told}, client.TaskDetail{AttemptLog: tt.log}, tt.sights, func(string, sight) { explained++ })
		if len(told.told) != tt.wrong || explained != tt.explain {
			t.Errorf("%s: %d deliveries to explain, faults %q; want %d and %d", tt.name, explained, told.told, tt.explain, tt.wrong)
		}
	}
}
