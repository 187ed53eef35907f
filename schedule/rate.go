package schedule

import (
	"math"
	"strconv"
	"strings"
)

// ParseRate reads a rate as the API writes it, a number above 0 by s, m or h: "50/s",
// "30/m", "100/h". perSecond is 0 for the empty text, which is no rate.
func ParseRate(text string) (perSecond float64, ok bool) {
	if text == "" {
		return 0, true
	}
	number, unit, _ := strings.Cut(text, "/")
	per := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if per == 0 || err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0, false
	}
	return n / per, true
}
