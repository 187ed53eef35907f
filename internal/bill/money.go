package bill

import (
	"errors"
	"math"
	"strings"
)

// digits returns how many decimals a currency has (ISO 4217, list one).
func digits(currency string) int {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	}
	return 2
}

// parseAmount reads a decimal number such as -88.80 and returns it in units of 10^-decimals. More
// decimals than that must be zeros.
func parseAmount(text string, decimals int) (int64, error) {
	unsigned := strings.TrimPrefix(text, "-")
	whole, fraction, point := strings.Cut(unsigned, ".")
	if whole == "" || point && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, errors.New("want a decimal number")
	}
	if len(fraction) > decimals {
		if strings.Trim(fraction[decimals:], "0") != "" {
			return 0, errors.New("the number has too many decimals for its currency")
		}
		fraction = fraction[:decimals]
	}
	var n int64
	for _, c := range []byte(whole + fraction + strings.Repeat("0", decimals-len(fraction))) {
		if n > (math.MaxInt64-9)/10 {
			return 0, errors.New("the number is too large")
		}
		n = n*10 + int64(c-'0')
	}
	if len(unsigned) < len(text) {
		n = -n
	}
	return n, nil
}

// add adds to a total.
func add(total *int64, n int64) error {
	if n > 0 && *total > math.MaxInt64-n || n < 0 && *total < math.MinInt64-n {
		return errors.New("the sum of the lines is too large")
	}
	*total += n
	return nil
}

func abs(n int64) int64 { return max(n, -n) }
