package order

import "testing"

// An order stands as its own tasks say together.
func TestOverall(t *testing.T) {
	watch := Standing{State: "CLOSED", Late: "PAID", Beside: true}
	tests := []struct {
		newestFirst []Standing
		state, late string
		task        int // −1: none
	}{
		{nil, "", "", -1},
		{[]Standing{watch}, "", "PAID", -1},
		{[]Standing{{State: "PENDING"}}, "PENDING", "", 0},
		{[]Standing{watch, {State: "CLOSED"}}, "CLOSED", "PAID", 1},
		{[]Standing{{State: "CLOSED"}, {State: "PAID"}}, "PAID", "", 1},
		{[]Standing{{State: "CLOSED"}, {State: "PENDING"}, {State: "PAID_REFUNDED"}}, "PAID_REFUNDED", "", 2},
		{[]Standing{{State: "PAID_REFUNDED"}, {State: "PAID"}}, "PAID_REFUNDED", "", 0},
		{[]Standing{{State: "CLOSED"}, {State: "PENDING"}, {State: "UNKNOWN"}}, "PENDING", "", 1},
		{[]Standing{{State: "UNKNOWN"}, {State: "CLOSED"}}, "UNKNOWN", "", 0},
		{[]Standing{{State: "PENDING"}, {State: "PENDING"}}, "PENDING", "", 0},
	}
	for _, tt := range tests {
		got, own := Standing{}, -1
		for i, older := range tt.newestFirst {
			if got.take(older, own < 0) {
				own = i
			}
		}
		if got.State != tt.state || got.Late != tt.late || own != tt.task {
			t.Errorf("%+v: %s, %s of task %d; want %s, %s of %d", tt.newestFirst, got.State, got.Late, own, tt.state, tt.late, tt.task)
		}
	}
}
