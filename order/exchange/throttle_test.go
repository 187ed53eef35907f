package exchange

import (
	"net/http"
	"testing"
	"time"
)

func TestThrottled(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		status int
		value  string
		want   time.Duration
		asks   bool
	}{
		{429, "120", 2 * time.Minute, true},
		{429, " 7 ", 7 * time.Second, true},
		{429, "", 0, true},
		{429, "soon", 0, true},
		{429, "-5", 0, true},
		{429, "0", 0, true},
		{503, "0", 0, true},
		{503, "120", 2 * time.Minute, true},
		{503, "", 0, false},
		{503, "1.5", 0, false},
		{503, "Fri, 20 Nov 2026 12:01:30 GMT", 90 * time.Second, true},
		{503, "Fri, 20 Nov 2026 11:00:00 GMT", 0, true}, // gone by
		{503, "Fri, 20 Nov 2099 12:00:00 GMT", maxWait, true},
		{429, "86399", maxWait - time.Second, true},
		{429, "99999999999999999999", maxWait, true},
		{429, "9223372036854775807", maxWait, true},
		{200, "120", 0, false},
		{500, "120", 0, false},
		{302, "120", 0, false},
	}
	for _, tt := range tests {
		got, asks := throttled(tt.status, http.Header{"Retry-After": {tt.value}}, noon)
		if got != tt.want || asks != tt.asks {
			t.Errorf("throttled(%d, %q) = %v, %t; want %v, %t", tt.status, tt.value, got, asks, tt.want, tt.asks)
		}
	}
}
