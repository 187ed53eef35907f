package schedule

import (
	"math"
	"strconv"
	"strings"
)

// MinRate is the lowest rate of a limit or a job, in attempts a second: one an hour. A lower rate
// would look like a standstill.
const MinRate = 1.0 / 3600

// MaxRate is the highest rate of a limit, in attempts a second.
const MaxRate = 1_000_000

// rateUnits are the units of rates, and how many seconds each has.
var rateUnits = [...]struct {
	name    string
	seconds float64
}{{"s", 1}, {"m", 60}, {"h", 3600}}

// ParseRate reads a rate of the API: a decimal number above 0, and s, m or h: "50/s", "0.5/s",
// "30/m", "100/h". For the empty text it returns 0, which means no rate. It does not check MinRate
// and MaxRate.
func ParseRate(text string) (perSecond float64, ok bool) {
	if text == "" {
		return 0, true
	}
	number, name, _ := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.Trim(number, "0123456789.") != "" || !(n > 0) || math.IsInf(n, 0) {
		return 0, false
	}
	for _, unit := range rateUnits {
		if unit.name == name {
			return n / unit.seconds, n/unit.seconds > 0
		}
	}
	return 0, false
}

// FormatRate writes a rate so that ParseRate reads back the same value. It writes the rate per
// second, minute or hour, whichever is exact first with six decimals; otherwise per second with all
// decimals. For 0 it returns the empty text.
func FormatRate(perSecond float64) string {
	if perSecond == 0 {
		return ""
	}
	const decimals = 6
	for _, unit := range rateUnits {
		text := strconv.FormatFloat(perSecond*unit.seconds, 'f', decimals, 64)
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "/" + unit.name
		if again, ok := ParseRate(text); ok && again == perSecond {
			return text
		}
	}
	return strconv.FormatFloat(perSecond, 'f', -1, 64) + "/s"
}
