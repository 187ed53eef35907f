package access

import "testing"

func TestDirect(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:8080": true, "[::1]:8080": true, "[::1]": true, "LocalHost:8080": true, "": true,
		"evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
	} {
		if got := Direct(host); got != want {
			t.Errorf("Direct(%q) = %t; want %t", host, got, want)
		}
	}
}
