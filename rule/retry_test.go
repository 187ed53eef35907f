package rule_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/rule"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestPermanent(t *testing.T) {
	for status := range 600 {
		if got := rule.Permanent(status); got != (status == 410) {
			t.Errorf("Permanent(%d) = %t; want the opposite", status, got)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		status int
		value  string
		want   time.Duration
		ok     bool
	}{
		{429, "120", 2 * time.Minute, true},
		{503, "120", 2 * time.Minute, true},
		{503, " 7 ", 7 * time.Second, true},
		{503, "0", 0, true},
		{503, "007", 7 * time.Second, true},
		{503, "-5", 0, true},
		{503, "86400", 24 * time.Hour, true},
		{503, "86401", 24 * time.Hour, true},
		{503, "99999999999999999999999999", 24 * time.Hour, true},
		{429, "Fri, 20 Nov 2026 12:01:30 GMT", 90 * time.Second, true},
		{429, "Friday, 20-Nov-26 12:01:30 GMT", 90 * time.Second, true},
		{429, "Fri Nov 20 12:01:30 2026", 90 * time.Second, true},
		{429, "Fri, 20 Nov 2026 11:59:00 GMT", 0, true},
		{429, "Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour, true},

		{200, "120", 0, false},
		{500, "120", 0, false},
		{301, "120", 0, false},
		{503, "", 0, false},
		{503, "-", 0, false},
		{503, "--5", 0, false},
		{503, "1.5", 0, false},
		{503, "1e3", 0, false},
		{503, "+5", 0, false},
		{503, "5s", 0, false},
		{503, "soon", 0, false},
		{503, "٥", 0, false},
		{503, "2026-11-20T12:01:30Z", 0, false},
	}
	for _, tt := range tests {
		got, ok := rule.RetryAfter(tt.status, http.Header{"Retry-After": {tt.value}}, noon)
		if got != tt.want || ok != tt.ok {
			t.Errorf("RetryAfter(%d, %q) = %v, %t; want %v, %t", tt.status, tt.value, got, ok, tt.want, tt.ok)
		}
	}
	if got, ok := rule.RetryAfter(503, nil, noon); got != 0 || ok {
		t.Errorf("RetryAfter(503, no header) = %v, %t; want 0, false", got, ok)
	}
}
