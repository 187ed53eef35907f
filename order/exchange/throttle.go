package exchange

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxWait is the longest wait that an answer can ask for: what is longer is a
// mistake, or nothing that an order could wait for.
const maxWait = 24 * time.Hour

// throttled reports whether an answer asks for fewer requests, and for how long
// it asks to wait; 0: it does not say. 429 asks always, and 503 where it says for
// how long.
func throttled(status int, h http.Header, now time.Time) (time.Duration, bool) {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0, false
	}
	wait, said := retryAfter(h.Get("Retry-After"), now)
	return wait, said || status == http.StatusTooManyRequests
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3), in seconds or as a
// date. It reports false for what is neither.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if text != "" && strings.Trim(text, "0123456789") == "" {
		// Digits alone fail to parse where there are too many of them.
		if s, err := strconv.Atoi(text); err == nil && s < int(maxWait/time.Second) {
			return time.Duration(s) * time.Second, true
		}
		return maxWait, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxWait), true
}
