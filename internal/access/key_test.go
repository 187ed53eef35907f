package access

import (
	"crypto/sha256"
	"testing"
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
