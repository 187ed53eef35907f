package cell

import "testing"

// No cell of an export is a formula.
func TestNoFormula(t *testing.T) {
	for cell, want := range map[string]bool{"=1": true, " =1": true, "\u3000=1": true, "\u200b=1": true, "＝1": true, "＠x": true, "－1": true, "+1": true, "\tx": true, "": false, " ": false, "x;=1+1": false, "M1001": false, "é=1": false} {
		if got := NoFormula(cell); (got == "'"+cell) != want {
			t.Errorf("NoFormula(%q) = %q; want it guarded: %t", cell, got, want)
		}
	}
}

// A spreadsheet keeps all digits of a number that it would change, and still counts with small
// ones.
func TestSpreadsheetsKeepNumbers(t *testing.T) {
	for cell, want := range map[string]string{
		"4200001234567890123456789012": "4200001234567890123456789012\t", "202611200001": "202611200001\t", "007": "007\t", "12E5": "12E5\t",
		"20261120000": "20261120000", "0": "0", "9900": "9900", "12.50": "12.50", "": "", "M1001": "M1001", "2026-11-20T15:04:05.000Z": "2026-11-20T15:04:05.000Z",
		"0199b5a0-7c1e-7d55-8c13-1f2a3b4c5d6e": "0199b5a0-7c1e-7d55-8c13-1f2a3b4c5d6e",
	} {
		if got := AllDigits(NoFormula(cell)); got != want {
			t.Errorf("%q is exported as %q; want %q", cell, got, want)
		}
	}
}
