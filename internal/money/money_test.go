package money_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

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

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		n          int64
		code, want string
	}{
		{8888, "CNY", "88.88"}, {1, "CNY", "0.01"}, {10, "CNY", "0.10"}, {0, "CNY", "0.00"}, {500, "JPY", "500"}, {5124, "KWD", "5.124"},
		{-5, "CNY", "-0.05"}, {math.MaxInt64, "CNY", "92233720368547758.07"}, {math.MinInt64, "JPY", "-9223372036854775808"}, {1, "XAU", ""},
	} {
		if got := money.Format(tt.n, tt.code); got != tt.want {
			t.Errorf("Format(%d, %s) = %q; want %q", tt.n, tt.code, got, tt.want)
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

// What is read is exactly what was written, and what is left out is no whole number of the smallest unit.
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
