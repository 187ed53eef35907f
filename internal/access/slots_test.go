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
	if !c.Enter("a", 6, 2) || c.Enter("a", 7, 2) || c.Len() != 6 {
		t.Errorf("after one caller of a left and another entered: %d open; want 6", c.Len())
	}
	for name, n := range map[string]int{"a": 2, "b": 1, "": 3} {
		for range n {
			c.Leave(name)
		}
	}
	if c.Len() != 0 || len(c.by) != 0 {
		t.Errorf("after all have left: %d open, %v remembered; want none", c.Len(), c.by)
	}
}
