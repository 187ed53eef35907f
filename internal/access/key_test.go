package access

import (
	"crypto/sha256"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestFind(t *testing.T) {
	key := func(name, secret string) Key {
		return Key{Name: name, Role: Read, SHA256: sha256.Sum256([]byte(secret))}
	}
	keys := []Key{key("a", "one"), key("b", "two"), key("c", "two")}
	for _, tt := range []struct{ name, secret, plain, named string }{
		{"a", "one", "a", "a"}, {"b", "two", "c", "b"}, {"c", "two", "c", "c"}, {"a", "two", "c", ""}, {"d", "one", "a", ""}, {"a", "", "", ""},
	} {
		name := func(k *Key) string {
			if k == nil {
				return ""
			}
			return k.Name
		}
		if plain, named := name(Find(keys, tt.secret)), name(FindNamed(keys, tt.name, tt.secret)); plain != tt.plain || named != tt.named {
			t.Errorf("%q, %q: Find() = %q, FindNamed() = %q; want %q and %q", tt.name, tt.secret, plain, named, tt.plain, tt.named)
		}
	}
}

func TestIncludes(t *testing.T) {
	for role, want := range map[Role]string{Submit: "s", Read: "r", Operate: "ro", Decide: "rd", Admin: "sroda", "boss": ""} {
		got := ""
		for _, other := range []Role{Submit, Read, Operate, Decide, Admin, "boss"} {
			if role.Includes(other) {
				got += string(other[:1])
			}
		}
		if got != want {
			t.Errorf("role %s includes %q; want %q", role, got, want)
		}
	}
}

func TestRightsAreNamed(t *testing.T) {
	for right, want := range map[Rights]string{
		MayCreate: "submit or admin", MayGet: "submit, read, operate, decide or admin", MayAdmin: "admin", MayDecide: "decide or admin",
		MayReport | MayOperate: "submit, operate or admin", Open: "",
	} {
		if got := right.String(); got != want {
			t.Errorf("right %b has the name %q; want %q", right, got, want)
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

func TestCheckRejects(t *testing.T) {
	hash := func(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }
	good := Key{Name: "a", Role: Read, SHA256: hash("k1-8f2e6b")}
	for _, tt := range []struct {
		name string
		key  Key
		want string
	}{
		{"another name", Key{Name: "b", Role: Admin, SHA256: hash("k2-77b3a0")}, ""},
		{"no name", Key{Role: Read, SHA256: good.SHA256}, "key 2: name"},
		{"the same name", good, "key 2: name"},
		{"an unknown role", Key{Name: "b", Role: "boss", SHA256: good.SHA256}, "role \"boss\""},
		{"a weak key", Key{Name: "b", Role: Read, SHA256: hash("secret")}, "sha256: is the hash of secret"},
	} {
		err := Check([]Key{good, tt.key})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Check() = %v; want %q", tt.name, err, tt.want)
		}
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
