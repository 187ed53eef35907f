package access

import (
	"regexp"
	"slices"
	"strings"
	"testing"
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

func TestScopeOfItself(t *testing.T) {
	for _, tt := range []struct {
		scope                Scope
		limited, named       bool
		queue, merchant, say string
	}{
		{Scope{}, false, false, "", "", "all queues and merchants"},
		{Scope{Merchants: []string{"*"}}, false, true, "", "", "all queues and merchants"},
		{Scope{Merchants: []string{"M1", "*"}}, false, true, "", "", "all queues and merchants"},
		{Scope{Queues: []string{"pay"}}, true, true, "pay", "", "queues pay"},
		{Scope{Queues: []string{"pay", "refund"}, Merchants: []string{"M1"}}, true, true, "", "M1", "queues pay, refund and merchants M1"},
		{Scope{Merchants: []string{"M1*"}}, true, true, "", "", "merchants M1*"},
	} {
		s := tt.scope
		if s.Limited() != tt.limited || s.Named() != tt.named || s.OneQueue() != tt.queue || s.OneMerchant() != tt.merchant || s.String() != tt.say {
			t.Errorf("%+v: limited %t, named %t, one queue %q, one merchant %q, %q; want %+v", s, s.Limited(), s.Named(), s.OneQueue(), s.OneMerchant(), &s, tt)
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
