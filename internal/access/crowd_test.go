package access

import "testing"

// One name has its share, the others theirs, and who has no name only the bound of all.
func TestCrowd(t *testing.T) {
	var c Crowd
	for i, tt := range []struct {
		name string
		want bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"", true}, {"", true}, {"", false}, {"b", false}} {
		if got := c.Enter(tt.name, 5, 2); got != tt.want {
			t.Errorf("%d: Enter(%q) = %v with %d open; want %v", i, tt.name, got, c.Len(), tt.want)
		}
	}
	c.Leave("a")
	if !c.Enter("a", 5, 2) || c.Len() != 5 {
		t.Errorf("%d open; want 5: one of a left, and another came", c.Len())
	}
}
