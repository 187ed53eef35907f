package money_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bellmanhq/bellman/internal/money"
)

func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"CNY": "CNY", "cny": "CNY", "156": "CNY", "008": "ALL", "8": "", "usd": "USD", "840": "USD", "xcg": "XCG",
		"": "", "RMB": "", "XAU": "", "XXX": "", "999": "", " CNY": "", "CNYCNY": "",
	} {
		if got := money.Code(text); got != want {
			t.Errorf("Code(%q) = %q; want %q", text, got, want)
		}
	}
}

func TestDecimals(t *testing.T) {
	for code, want := range map[string]string{
		"CNY": "2 true", "JPY": "0 true", "KWD": "3 true", "CLF": "4 true", "IDR": "2 true", "IQD": "3 true", "TWD": "2 true",
		"cny": "0 false", "156": "0 false", "XAU": "0 false", "": "0 false",
	} {
		n, known := money.Decimals(code)
		if got := fmt.Sprint(n, known); got != want {
			t.Errorf("Decimals(%q) = %s; want %s", code, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	const none = -1
	tests := []struct {
		text, code string
		want       int64
	}{
		{"88.88", "CNY", 8888},
		{"88.8", "CNY", 8880},
		{"88", "CNY", 8800},
		{"0.01", "CNY", 1},
		{"0", "CNY", 0},
		{"00.10", "CNY", 10},
		{"300.500", "CNY", 30050},
		{"50.000000000", "USD", 5000},
		{"500", "JPY", 500},
		{"500.00", "JPY", 500},
		{"5.124", "KWD", 5124},
		{"5.1", "KWD", 5100},
		{"1.0001", "CLF", 10001},
		{"92233720368547758.07", "CNY", math.MaxInt64},
		{"9223372036854775807", "JPY", math.MaxInt64},

		{"88.885", "CNY", none}, // more decimals than the currency has
		{"500.5", "JPY", none},
		{"-1", "CNY", none},
		{"+1", "CNY", none},
		{"92233720368547758.08", "CNY", none}, // more than an int64
		{"9223372036854775808", "JPY", none},
		{"1e2", "CNY", none},
		{"1.5e2", "CNY", none},
		{"1.", "CNY", none},
		{".5", "CNY", none},
		{".", "CNY", none},
		{"", "CNY", none},
		{"1.2.3", "CNY", none},
		{"1,000.00", "CNY", none},
		{"¥1", "CNY", none},
		{" 1", "CNY", none},
		{"0x10", "CNY", none},
		{"1_0", "CNY", none},
		{"NaN", "CNY", none},
		{"1", "", none},
		{"1", "RMB", none},
		{"1", "cny", none},
	}
	for _, tt := range tests {
		n, ok := money.Parse(tt.text, tt.code)
		if !ok {
			n = none
		}
		if n != tt.want {
			t.Errorf("Parse(%q, %q) = %d, %t; want %d", tt.text, tt.code, n, ok, tt.want)
		}
	}
}

// What is read is exactly what was written, and what is left out is no whole number of the smallest
// unit.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"88.88", "0.01", "1e3", "-1", "92233720368547758.08", "50.000000000", "1/3", "0x1p-2"} {
		f.Add(text, "CNY")
		f.Add(text, "JPY")
		f.Add(text, "KWD")
	}
	f.Fuzz(func(t *testing.T, text, code string) {
		n, ok := money.Parse(text, code)
		decimals, known := money.Decimals(code)
		exact, isNumber := new(big.Rat).SetString(text)
		if !known || !isNumber || len(text) > 100 || strings.Trim(text, "0123456789.") != "" {
			if ok && (!known || !isNumber) {
				t.Fatalf("Parse(%q, %q) = %d", text, code, n)
			}
			return
		}
		exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)))
		if ok && (n < 0 || exact.Cmp(new(big.Rat).SetInt64(n)) != 0) {
			t.Errorf("Parse(%q, %q) = %d; want %s", text, code, n, exact)
		}
		plain := text[0] != '.' && text[len(text)-1] != '.'
		if fits := exact.IsInt() && exact.Num().IsInt64(); ok != (fits && plain) {
			t.Errorf("Parse(%q, %q) = %t; want %t", text, code, ok, fits && plain)
		}
	})
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		n          int64
		code, want string
	}{
		{8799, "CNY", "87.99 CNY"}, {5, "CNY", "0.05 CNY"}, {50, "CNY", "0.50 CNY"}, {0, "CNY", "0.00 CNY"}, {-5, "CNY", "-0.05 CNY"},
		{8799, "JPY", "8799 JPY"}, {1, "KWD", "0.001 KWD"}, {1234, "KWD", "1.234 KWD"}, {10001, "CLF", "1.0001 CLF"},
		{math.MaxInt64, "CNY", "92233720368547758.07 CNY"}, {math.MinInt64, "CNY", "-92233720368547758.08 CNY"},
		{8799, "XYZ", "8799 XYZ"}, {8799, "", "8799"}, {8799, "cny", "8799 cny"},
	} {
		if got := money.Format(tt.n, tt.code); got != tt.want {
			t.Errorf("Format(%d, %q) = %q; want %q", tt.n, tt.code, got, tt.want)
		}
	}
	for text, want := range map[string]string{"8799": "87.99 CNY", "": `""`, "-1": `"-1"`, "many": `"many"`} {
		if got := money.Shown(text, "CNY"); got != want {
			t.Errorf("Shown(%q) = %s; want %s", text, got, want)
		}
	}
}

// What Format writes of any amount in any currency, Parse reads.
func TestFormatIsRead(t *testing.T) {
	codes := 0
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			for c := 'A'; c <= 'Z'; c++ {
				code := string([]rune{a, b, c})
				if money.Code(code) == "" {
					continue
				}
				codes++
				rapid.Check(t, func(t *rapid.T) {
					n := rapid.Int64Min(0).Draw(t, "amount")
					text, suffix, _ := strings.Cut(money.Format(n, code), " ")
					if got, ok := money.Parse(text, code); got != n || !ok || suffix != code {
						t.Fatalf("Parse(Format(%d, %s) = %q) = %d, %t", n, code, text+" "+suffix, got, ok)
					}
				})
			}
		}
	}
	if codes < 150 {
		t.Errorf("only %d currencies were tried", codes)
	}
}
