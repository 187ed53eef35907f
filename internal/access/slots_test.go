package access

import "testing"

// Each name has a share of its own. Callers without a name are only limited by the total.
func TestSlots(t *testing.T) {
	var c Slots
	for i, tt := range []struct {
		name string
		want bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"", true}, {"", true}, {"", true}, {"", false}, {"b", false}} {
		if got := c.Enter(tt.name, 6, 2); got != tt.want {
			t.Errorf("step %d: Enter(%q) = %v with %d open; want %v", i, tt.name, got, c.Len(), tt.want)
		}
	}
	c.Leave("a")
	if !c.Enter("a", 6, 2) || c.Len() != 6 {
		t.Errorf("after one caller of a left and another entered: %d open; want 6", c.Len())
	}
}
