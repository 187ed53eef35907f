package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseStore(t *testing.T) {
	t.Setenv("BELLMAN_TEST_URL", "postgres://u:geheim@h/db")
	tests := []struct {
		text  string
		want  StoreURL
		shown string
	}{
		{"pebble:/var/lib/bellman", StoreURL{Kind: Pebble, Dir: "/var/lib/bellman"}, "pebble:/var/lib/bellman"},
		{"postgres://u:geheim@h:5432/db", StoreURL{Kind: Postgres, URL: "postgres://u:geheim@h:5432/db"}, "postgres://u@h:5432/db"},
		{"postgresql://h/db", StoreURL{Kind: Postgres, URL: "postgresql://h/db"}, "postgresql://h/db"},
		{"env:BELLMAN_TEST_URL", StoreURL{Kind: Postgres, URL: "postgres://u:geheim@h/db"}, "postgres://u@h/db"},
		{"mysql://u:geheim@h/db?tls=true&connections=20&shards=16", StoreURL{Kind: MySQL, URL: "mysql://u:geheim@h/db?tls=true", Connections: 20, Shards: 16}, "mysql://u@h/db"},
		{"mariadb://h/db?shards=1", StoreURL{Kind: MySQL, URL: "mariadb://h/db", Shards: 1}, "mariadb://h/db"},
		{"postgres://u:geheim@a:5432,b:5433/db?target_session_attrs=read-write&password=geheim",
			StoreURL{Kind: Postgres, URL: "postgres://u:geheim@a:5432,b:5433/db?password=geheim&target_session_attrs=read-write"}, "postgres://u@a:5432,b:5433/db"},
		{"postgres://h/db?application_name=x&search_path=y&sslmode=disable&jit=off", StoreURL{Kind: Postgres, URL: "postgres://h/db?application_name=x&jit=off&search_path=y&sslmode=disable"}, "postgres://h/db"},
		{"mysql://h/db?wsrep_sync_wait=1&readTimeout=1s&sql_mode=x", StoreURL{Kind: MySQL, URL: "mysql://h/db?readTimeout=1s&sql_mode=x&wsrep_sync_wait=1"}, "mysql://h/db"},
		{"postgres://h/db?options=-c%20a%3Db%2Bc", StoreURL{Kind: Postgres, URL: "postgres://h/db?options=-c%20a%3Db%2Bc"}, "postgres://h/db"},
		{"redis://u:geheim@h:6379/1?connections=20&prefix=pay", StoreURL{Kind: Redis, URL: "redis://u:geheim@h:6379/1?prefix=pay", Connections: 20}, "redis://u@h:6379/1?prefix=pay"},
		{"rediss+sentinel://:geheim@a:26379,b:26379/main/2?sentinel_password=geheim", StoreURL{Kind: Redis, URL: "rediss+sentinel://:geheim@a:26379,b:26379/main/2?sentinel_password=geheim"}, "rediss+sentinel://a:26379,b:26379/main/2"},
		{"redis+cluster://a,b:7000?shards=16", StoreURL{Kind: Redis, URL: "redis+cluster://a,b:7000", Shards: 16}, "redis+cluster://a,b:7000"},
		{"postgres:///db?host=/run/postgresql", StoreURL{Kind: Postgres, URL: "postgres:///db?host=%2Frun%2Fpostgresql"}, "postgres:///db"},
	}
	for _, tt := range tests {
		got, err := ParseStore(tt.text)
		if err != nil || got != tt.want {
			t.Errorf("ParseStore(%q) = %s, %v; want %s", tt.text, got.URL, err, tt.want.URL)
		}
		for _, shown := range []string{got.String(), fmt.Sprint(got), fmt.Sprintf("%v %+v %#v", got, got, got)} {
			if !strings.HasPrefix(shown, tt.shown) || strings.Contains(shown, "geheim") {
				t.Errorf("%q is shown as %s; want %s", tt.text, shown, tt.shown)
			}
		}
	}
}

func TestParseStoreRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "names no store: want pebble:DIR, postgres://"},
		{"/var/lib/bellman", "names no store"},
		{"pebble:", "names no directory"},
		{"sqlite:geheim", `"sqlite" names no store`},
		{"postgres://u:geheim@h", "names no database"},
		{"postgres://u:geheim@h/", "names no database"},
		{"postgres:geheim", "names no database"},
		{"mysql://u:ge%heim@h/db", "is no URL: want mysql://USER:PASSWORD@HOST/DATABASE"},
		{"mysql://u:geheim@h:port/db", "is no URL"},
		{"postgres://u:geheim@h/db?connections=1", `connections="1": want a whole number from 2 to 1000`},
		{"postgres://u:geheim@h/db?shards=0", `shards="0": want a whole number from 1 to 1024`},
		{"postgres://u:geheim@h/db?shards=1025", `shards="1025": want a whole number from 1 to 1024`},
		{"postgres://u:geheim@h/db?shards=many", "want a whole number"},
		{"postgres://u:geheim@h/db?shards=1&shards=2", `"shards" is given twice`},
		{"postgres://u:geheim@h/db?pool_max_conns=9", "want connections=N"},
		{"postgres://u:geheim@h/db?sslmod=geheim", `parameter "sslmod" is unknown: want sslmode?`},
		{"postgres://u:geheim@h/db?conections=4", `parameter "conections" is unknown: want connections?`},
		{"postgres://u:geheim@h/db?replicas=4", `parameter "replicas" is for Redis: want connections or shards, or a parameter of the driver or the server`},
		{"mysql://u:geheim@h/db?connection=4", `parameter "connection" is unknown: want connections?`},
		{"mysql://u:geheim@h/db?TLS=true", `parameter "TLS" is unknown: want tls?`},
		{"mysql://u:geheim@h/db?durability=none", `parameter "durability" is for Redis`},
		{"postgres://u:geheim@h/db?a=%zz", "cannot be read"},
		{"redis:geheim", "names no host: want redis://"},
		{"redis://u:geheim@", "names no host"},
		{"redis://u:ge%heim@h", "is no URL"},
		{"redis+cluster://u:geheim@a,b?shards=0", "want a whole number from 1"},
		{"env:BELLMAN_TEST_NOT_SET", "BELLMAN_TEST_NOT_SET is not set"},
		{"file:/none", "/none"},
	}
	for _, tt := range tests {
		s, err := ParseStore(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("ParseStore(%q) = %v, %v; want an error with %q", tt.text, s, err, tt.want)
		}
	}
}
