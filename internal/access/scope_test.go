package access

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestScope(t *testing.T) {
	for _, tt := range []struct {
		scope           Scope
		queue, merchant string
		want            bool
	}{
		{Scope{}, "pay", "M1", true},
		{Scope{}, "pay", "", true},
		{Scope{Queues: []string{"pay", "orders"}}, "orders", "M1", true},
		{Scope{Queues: []string{"pay"}}, "pay2", "M1", false},
		{Scope{Queues: []string{"pay"}}, "PAY", "M1", false},
		{Scope{Queues: []string{"*"}}, "pay", "M1", false}, // "*" is a pattern for merchants only; queue names are exact
		{Scope{Merchants: []string{"M1"}}, "pay", "M1", true},
		{Scope{Merchants: []string{"M1"}}, "pay", "M10", false},
		{Scope{Merchants: []string{"M1"}}, "pay", "m1", false},
		{Scope{Merchants: []string{"M1"}}, "pay", "", false},
		{Scope{Merchants: []string{"M1*"}}, "pay", "M10", true},
		{Scope{Merchants: []string{"M1*"}}, "pay", "M1", true},
		{Scope{Merchants: []string{"M1*"}}, "pay", "M", false},
		{Scope{Merchants: []string{"M1*"}}, "pay", "XM1", false},
		{Scope{Merchants: []string{"*"}}, "pay", "", true},
		{Scope{Queues: []string{"pay"}, Merchants: []string{"M1", "N*"}}, "pay", "N7", true},
		{Scope{Queues: []string{"pay"}, Merchants: []string{"M1", "N*"}}, "orders", "N7", false},
		{Scope{Queues: []string{"pay"}, Merchants: []string{"M1", "N*"}}, "pay", "M2", false},
	} {
		if got := tt.scope.Has(tt.queue, tt.merchant); got != tt.want {
			t.Errorf("scope %s includes queue %q, merchant %q: %t; want %t", tt.scope.String(), tt.queue, tt.merchant, got, tt.want)
		}
	}
}

// FuzzScope compares the matching with regular expressions, and checks what a scope says about
// itself.
func FuzzScope(f *testing.F) {
	f.Add("pay,orders", "M1001,M2*", "pay", "M2001")
	f.Add("", "*", "pay", "")
	f.Add("pay", "M.*,(", "pay", "M.1")
	f.Add("", "M1,M1", "", "M1*")
	f.Fuzz(func(t *testing.T, queues, merchants, queue, merchant string) {
		s := Scope{Queues: list(queues), Merchants: list(merchants)}
		for _, pattern := range s.Merchants {
			if CheckMerchant(pattern) != nil || !utf8.ValidString(pattern) || !utf8.ValidString(merchant) { // YAML and JSON have no such texts
				return
			}
		}
		wantQueue := s.Queues == nil || slices.Contains(s.Queues, queue)
		wantMerchant := s.Merchants == nil
		for _, pattern := range s.Merchants {
			text := regexp.QuoteMeta(pattern)
			if strings.HasSuffix(pattern, "*") {
				text = strings.TrimSuffix(text, `\*`) + `(?s:.*)`
			}
			wantMerchant = wantMerchant || regexp.MustCompile(`\A`+text+`\z`).MatchString(merchant)
		}
		if got := s.Has(queue, merchant); got != (wantQueue && wantMerchant) {
			t.Errorf("scope %q, %q includes queue %q, merchant %q: %t; want %t, %t", queues, merchants, queue, merchant, got, wantQueue, wantMerchant)
		}
		one, only := s.OneQueue(), s.OneMerchant()
		switch {
		case one != "" && (!s.HasQueue(one) || queue != one && s.HasQueue(queue)):
			t.Errorf("queues %q: %q is reported as the only one", queues, one)
		case only != "" && (!s.HasMerchant(only) || merchant != only && s.HasMerchant(merchant)):
			t.Errorf("merchants %q: %q is reported as the only one", merchants, only)
		case !s.Limited() && !s.Has(queue, merchant):
			t.Errorf("scope %q, %q excludes %q, %q and reports that it excludes nothing", queues, merchants, queue, merchant)
		}
	})
}

// list splits a text at commas; an empty text has no elements.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func TestCheckMerchant(t *testing.T) {
	for pattern, good := range map[string]bool{
		"M1001": true, "M2*": true, "*": true, "商户*": true, strings.Repeat("商", 128) + "*": true,
		"": false, "**": false, "M*1": false, strings.Repeat("M", 129): false,
	} {
		if err := CheckMerchant(pattern); (err == nil) != good {
			t.Errorf("CheckMerchant(%.20q) = %v; want it valid: %t", pattern, err, good)
		}
		err := Check([]Key{{Name: "a", Role: Read, Scope: Scope{Merchants: []string{pattern}}}})
		if (err == nil) != good {
			t.Errorf("Check of a key with the merchant %.20q: %v; want it valid: %t", pattern, err, good)
		}
	}
}

// A key is valid through the day of its expiry.
func TestExpiry(t *testing.T) {
	for _, tt := range []struct {
		text, now string
		expired   bool
	}{
		{"2027-01-31", "2027-01-31T23:59:59Z", false},
		{"2027-01-31", "2027-02-01T00:00:00Z", true},
		{"2027-01-31T18:00:00+08:00", "2027-01-31T09:59:59Z", false},
		{"2027-01-31T18:00:00+08:00", "2027-01-31T10:00:00Z", true},
	} {
		expires, err := ParseExpiry(tt.text)
		now, wrong := time.Parse(time.RFC3339, tt.now)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		if k := (Key{Expires: expires}); k.Expired(now) != tt.expired {
			t.Errorf("expires %s: at %s expired: %t; want %t", tt.text, tt.now, !tt.expired, tt.expired)
		}
	}
	if k := (Key{}); k.Expired(time.Now().AddDate(1000, 0, 0)) {
		t.Error("a key without an expiry has expired; want it valid")
	}
	for _, text := range []string{"", "soon", "31.01.2027", "2027-02-30", "2027-01-31 18:00"} {
		if at, err := ParseExpiry(text); err == nil {
			t.Errorf("ParseExpiry(%q) = %v; want an error", text, at)
		}
	}
}

func TestUsableFrom(t *testing.T) {
	k := Key{From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/32")}}
	for from, want := range map[string]bool{"10.1.2.3": true, "192.0.2.7": true, "192.0.2.8": false, "2001:db8::1": true, "::1": false} {
		if got := k.UsableFrom(netip.MustParseAddr(from)); got != want {
			t.Errorf("UsableFrom(%s) = %t; want %t", from, got, want)
		}
	}
	if k.UsableFrom(netip.Addr{}) {
		t.Error("an unknown address is accepted for a key with a range")
	}
	if k := (Key{}); !k.UsableFrom(netip.Addr{}) {
		t.Error("an unknown address is rejected for a key for all addresses")
	}
}

func TestLimits(t *testing.T) {
	k := Key{Scope: Scope{Queues: []string{"a"}, Merchants: []string{"M1", "M2*"}}, From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Expires: time.Unix(0, 0)}
	if got, want := k.Limits(), "queues a and merchants M1, M2*; expires 1970-01-01T00:00:00Z; from 10.0.0.0/8"; got != want {
		t.Errorf("Limits() = %q; want %q", got, want)
	}
	if got := (&Key{}).Limits(); got != "" {
		t.Errorf("Limits() of a key without limits = %q; want none", got)
	}
}
