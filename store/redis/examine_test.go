package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// TestExamine makes each condition that hurts, and sees it found with what to do.
func TestExamine(t *testing.T) {
	s := start(t, "--maxmemory", "1gb")
	s.do(t, "ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@read", "+info", "+config|get", "+time", "+hello", "+ping")
	at := func(more string) string { return "redis://" + s.address + more }
	opened, err := Open(t.Context(), at(""), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, address string
		set, to, back string // a setting, its value for the test, and its value afterwards
		found         string // empty: nothing
		level         store.Level
		what, do      string
	}{
		{name: "nothing", address: at("")},
		{"appendonly", at(""), "appendonly", "no", "yes", "durability", store.Error, "keeps nothing on disk", "does not start"},
		{"appendfsync", at(""), "appendfsync", "no", "always", "durability", store.Error, "appendfsync no", "does not start"},
		{"lazy rewrites", at(""), "no-appendfsync-on-rewrite", "yes", "no", "durability", store.Error, "no-appendfsync-on-rewrite", "does not start"},
		{"durability", at("?durability=none"), "", "", "", "durability", store.Warning, "durability=none", "appendfsync always"},
		{"eviction", at(""), "maxmemory-policy", "allkeys-lru", "noeviction", "maxmemory_policy", store.Error, "allkeys-lru", "noeviction"},
		{"no limit", at(""), "maxmemory", "0", "1gb", "maxmemory", store.Warning, "no memory limit", "set maxmemory"},
		{"little memory", at(""), "maxmemory", "100kb", "1gb", "memory", store.Warning, "are in use", "raise maxmemory"},
		{"replicas", at("?replicas=1"), "", "", "", "replicas", store.Error, "0 replicas are connected, and each write waits for 1", "start the replicas"},
		{"no store", at("/3"), "", "", "", "no_store", store.Warning, "no store named", "bellman migrate"},
		{"rights", "redis://reader:x@" + s.address, "", "", "", "writes", store.Error, "NOPERM", "run scripts"},
		{"another kind", "redis+cluster://" + s.address, "", "", "", "unsuitable", store.Error, "not part of a Cluster", "does not start"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.set != "" {
				s.do(t, "CONFIG", "SET", tt.set, tt.to)
				defer s.do(t, "CONFIG", "SET", tt.set, tt.back)
			}
			all, err := Examine(t.Context(), tt.address, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var found []store.Finding
			for _, f := range all {
				if f.Name != "clock" { // a busy machine may delay the comparison
					found = append(found, f)
				}
			}
			if tt.found == "" {
				if len(found) > 0 {
					t.Errorf("Examine() = %+v; want nothing", found)
				}
				return
			}
			if len(found) == 0 || found[0].Name != tt.found || found[0].Level != tt.level || !strings.Contains(found[0].What, tt.what) || !strings.Contains(found[0].Do, tt.do) {
				t.Errorf("Examine() = %+v; want %s %s with %q and %q", found, tt.level, tt.found, tt.what, tt.do)
			}
		})
	}

	a, err := ParseAddress(at(""))
	if err != nil {
		t.Fatal(err)
	}
	x := &Store{prefix: "{bellman}"}
	if err := x.connect(a, Options{Connections: 2, ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	found, err := examiner{x, a, -time.Second, 0}.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range found {
		names[f.Name] = true
	}
	for _, want := range []string{"memory", "connections", "pool", "clock"} {
		if !names[want] {
			t.Errorf("with limits at which everything counts the findings are %+v; want %s too", found, want)
		}
	}
	if found := (examiner{s: x, used: 1}).state(infoOf("aof_last_write_status:err\r\n")); len(found) != 2 || found[0].Name != "aof_last_write_status" {
		t.Errorf("state() after a failed write = %+v; want aof_last_write_status and pool", found)
	}
}
