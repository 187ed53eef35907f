package schedule

import (
	"math"
	"strconv"
	"strings"
)

// MinRate is the lowest rate that a limit or a job can have: one an hour. Below it whoever
// waits would take it for standing still.
const MinRate = 1.0 / 3600

// MaxRate is the highest rate that a limit can have, a second.
const MaxRate = 1_000_000

// rateUnits are the units of rates, and how many seconds each has.
var rateUnits = [...]struct {
	name    string
	seconds float64
}{{"s", 1}, {"m", 60}, {"h", 3600}}

// ParseRate reads a rate as the API writes it, a decimal number above 0 by s, m or h:
// "50/s", "0.5/s", "30/m", "100/h". perSecond is 0 for the empty text, which is no rate.
// Whoever asks for one says how high and low it may be.
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

// FormatRate writes a rate so that ParseRate reads it again as it is: by the second, or
// by the minute or the hour where that is shorter. 0 is the empty text.
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
