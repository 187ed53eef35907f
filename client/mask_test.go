package client

import (
	"maps"
	"testing"
)

func TestMaskHeaders(t *testing.T) {
	in := map[string]string{
		"Authorization": "Bearer a", "proxy-authorization": "b", "COOKIE": "c", "Set-Cookie": "d",
		"X-Auth-Token": "e", "Client-Secret": "f", "X-PASSWORD": "g", "X-Api-Key": "h", "apikey": "",
		"Content-Type": "text/plain", "X-Cookies": "two", "Api": "key", "X-Authorization-Mode": "m",
	}
	given := maps.Clone(in)
	want := map[string]string{
		"Authorization": "***", "proxy-authorization": "***", "COOKIE": "***", "Set-Cookie": "***",
		"X-Auth-Token": "***", "Client-Secret": "***", "X-PASSWORD": "***", "X-Api-Key": "***", "apikey": "***",
		"Content-Type": "text/plain", "X-Cookies": "***", "Api": "***", "X-Authorization-Mode": "***",
	}
	if got := MaskHeaders(in); !maps.Equal(got, want) {
		t.Errorf("MaskHeaders = %v; want %v", got, want)
	}
	if !maps.Equal(in, given) {
		t.Errorf("MaskHeaders changed its argument to %v", in)
	}
	if got := MaskHeaders(nil); got == nil || len(got) != 0 {
		t.Errorf("MaskHeaders(nil) = %#v; want an empty map", got)
	}
}
