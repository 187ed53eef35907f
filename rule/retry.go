package rule

import (
	"net/http"
	"strings"
	"time"
)

// MaxRetryAfter is the longest wait that RetryAfter returns.
const MaxRetryAfter = 24 * time.Hour

// Permanent reports whether a status means that every further attempt will fail: 410 Gone (RFC
// 9110, section 15.5.11).
func Permanent(status int) bool { return status == http.StatusGone }

// Throttles reports whether a status asks for fewer requests: 429 and 503 (RFC 6585, section 4; RFC
// 9110, section 15.6.4). The answer need not say for how long.
func Throttles(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// RetryAfter returns how long after now an answer asks to wait, from 0 to MaxRetryAfter. It reads
// the header Retry-After of a 429 or 503 (RFC 9110, section 10.2.3), in seconds or as a date. A
// negative number and a date in the past are 0. It returns false if there is no valid Retry-After.
func RetryAfter(status int, h http.Header, now time.Time) (time.Duration, bool) {
	if !Throttles(status) {
		return 0, false
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	digits, negative := strings.CutPrefix(text, "-")
	if isDigits(digits) {
		if negative {
			return 0, true
		}
		return seconds(digits), true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter), true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// seconds reads digits, however many, and stops at MaxRetryAfter.
func seconds(digits string) time.Duration {
	var d time.Duration
	for _, c := range digits {
		if d = d*10 + time.Duration(c-'0')*time.Second; d > MaxRetryAfter {
			return MaxRetryAfter
		}
	}
	return d
}
