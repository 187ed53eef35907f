package deliver

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

// The address of a text is its own, although another text has its place in the cache.
func TestAddressesOfOnePlace(t *testing.T) {
	a := newAddresses()
	place := func(text string) uint64 { return maphash.String(a.seed, text) % uint64(len(a.slots)) }
	first := "https://m0.example/notify"
	second := first
	for i := 1; second == first; i++ {
		if other := fmt.Sprintf("https://m%d.example/notify", i); place(other) == place(first) {
			second = other
		}
	}
	for _, text := range []string{first, first, second, second, first} {
		if to, err := a.parse(text); err != nil || to.url.String() != text {
			t.Errorf("parse(%s) = %v, %v; want its own address", text, to.url, err)
		}
	}
	if k := a.slots[place(first)].Load(); k == nil || k.text != first {
		t.Errorf("kept %+v; want the last", k)
	}
	if to, err := a.parse("https://x y/"); err == nil {
		t.Errorf("a text that is no URL is the address %v", to.url)
	}
}

// An address is sent in ASCII, with its host in one form.
func TestAddressText(t *testing.T) {
	for text, want := range map[string]string{
		"https://m.example/a?b=c":                                     "https://m.example/a?b=c",
		"https://Merchant.Example:8443/A?名=值&b=%20":                   "https://merchant.example:8443/A?%E5%90%8D=%E5%80%BC&b=%20",
		"https://[2606:2800:220:1::0001]:8443/x":                      "https://[2606:2800:220:1::1]:8443/x",
		"https://[2606:2800:220:1::0001]/x?":                          "https://[2606:2800:220:1::1]/x?",
		"https://m.example:65535/":                                    "https://m.example:65535/",
		"https://m.example:1/?\u007e\u0080":                           "https://m.example:1/?~%C2%80",
		"https://0xyz/":                                               "https://0xyz/",
		"https://Zz-90_a/":                                            "https://zz-90_a/",
		"https://" + strings.Repeat("a", 63) + ".x/":                  "https://" + strings.Repeat("a", 63) + ".x/",
		"https://" + strings.Repeat("a.", 126) + "x":                  "https://" + strings.Repeat("a.", 126) + "x",
		"https://m.example/" + strings.Repeat("a", bellman.MaxURL-18): "https://m.example/" + strings.Repeat("a", bellman.MaxURL-18),
	} {
		if to, err := parseAddress(text); err != nil || to.url.String() != want {
			t.Errorf("parseAddress(%.60s) = %v, %v; want %.60s", text, to.url, err, want)
		}
	}
	for text, want := range map[string]string{
		"http://0x7f000001/": "ends in a number", "http://0xa/": "ends in a number", "http://0x/": "ends in a number", "http://a.0X1F/": "ends in a number",
		"http://m.example/\x7f": "control character", "http://m.example:99999999999999999999/": "not a number from 1 to 65535",
		"http://m*.example/": "not a domain name", "http://m{.example/": "not a URL", "http://[1::2::3]/": "not a URL",
	} {
		if to, err := parseAddress(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseAddress(%s) = %v, %v; want %q", text, to.url, err, want)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for name, want := range map[string]string{
		"https://M.example": "https://m.example:443", "http://m.example:8080": "http://m.example:8080", "http://[2606::1]": "http://[2606::1]:80",
		"https://m.example/": "", "https://m.example?": "", "https://m.example?a=1": "", "m.example:443": "", "nats://m.example": "", "": "",
	} {
		if got, ok := Endpoint(name); got != want || ok != (want != "") {
			t.Errorf("Endpoint(%s) = %s, %t; want %s", name, got, ok, want)
		}
	}
}
