package mask

import "testing"

// No cell of an export is a formula.
func TestCell(t *testing.T) {
	for cell, want := range map[string]bool{"=1": true, " =1": true, "\u3000=1": true, "\u200b=1": true, "＝1": true, "＠x": true, "－1": true, "+1": true, "\tx": true, "": false, " ": false, "x;=1+1": false, "M1001": false, "é=1": false} {
		if got := Cell(cell); (got == "'"+cell) != want {
			t.Errorf("Cell(%q) = %q; want it guarded: %t", cell, got, want)
		}
	}
}
