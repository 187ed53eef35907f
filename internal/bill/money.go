package bill

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bellmanhq/bellman/internal/money"
)

// parseAmount reads an amount in whole units of a currency, such as -88.80, as a number of the
// smallest unit.
func parseAmount(text, currency string) (int64, error) {
	if _, known := money.Decimals(currency); !known {
		return 0, fmt.Errorf("there is no currency %.10q", currency)
	}
	n, ok := signed(text, func(s string) (int64, bool) { return money.Parse(s, currency) })
	if !ok {
		return 0, errors.New("want an amount in " + currency + ", without separators and with no more decimals than the currency has")
	}
	return n, nil
}

// parseWhole reads a whole number.
func parseWhole(text string) (int64, error) {
	n, ok := signed(text, money.Smallest)
	if !ok {
		return 0, errors.New("want a whole number")
	}
	return n, nil
}

// signed reads a number that may have a minus sign.
func signed(text string, parse func(string) (int64, bool)) (int64, bool) {
	unsigned, negative := strings.CutPrefix(text, "-")
	n, ok := parse(unsigned)
	if negative {
		n = -n
	}
	return n, ok
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
