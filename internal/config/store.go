package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/nearest"
	contract "github.com/bellmanhq/bellman/store"
)

// The kinds of stores.
const (
	Pebble   = "pebble"   // a directory, used by one process
	Postgres = "postgres" // a PostgreSQL database
	MySQL    = "mysql"    // a MySQL or MariaDB database
	Redis    = "redis"    // a Redis server, the primary of a Sentinel, or a Cluster
)

// A StoreURL is the parsed address of a store.
type StoreURL struct {
	Kind string
	Dir  string // of an embedded store
	URL  string // of a database, for its driver. It contains the password: never show it

	Connections int // most connections to a database; 0: the store's default
	Shards      int // number of shards of a new database; 0: the store's default
}

const wantStore = "want pebble:DIR, postgres://USER:PASSWORD@HOST/DATABASE, mysql://USER:PASSWORD@HOST/DATABASE or redis://USER:PASSWORD@HOST:6379/0"

// ParseStore parses the address of a store, or that at env:NAME or file:PATH. No error contains a
// password.
func ParseStore(text string) (StoreURL, error) {
	resolved, err := sign.NewSecret(text).Resolve()
	if err != nil {
		return StoreURL{}, err
	}
	return parseStore(string(resolved))
}

func parseStore(text string) (StoreURL, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case Pebble:
		if rest == "" {
			return StoreURL{}, errors.New(`"pebble" names no directory: want pebble:DIR such as pebble:bellman-data`)
		}
		return StoreURL{Kind: Pebble, Dir: rest}, nil
	case "postgres", "postgresql":
		return parseDatabase(Postgres, text)
	case "mysql", "mariadb":
		return parseDatabase(MySQL, text)
	case "redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster":
		return parseRedis(scheme, text)
	}
	return StoreURL{}, fmt.Errorf("%.20q names no store: %s", scheme, wantStore) // the rest may contain a password
}

// parseDatabase parses the URL of a database, and removes bellman's own parameters from it.
func parseDatabase(kind, text string) (StoreURL, error) {
	s := StoreURL{Kind: kind}
	u, err := url.Parse(text)
	if err != nil {
		return s, fmt.Errorf("is no URL: want %s://USER:PASSWORD@HOST/DATABASE, with what is no letter or digit in USER and PASSWORD as %%XX", kind)
	}
	if u.Opaque != "" || strings.Trim(u.Path, "/") == "" {
		return s, fmt.Errorf("names no database: want %s://USER:PASSWORD@HOST/DATABASE", kind)
	}
	query, err := s.take(u.RawQuery)
	if err != nil {
		return s, err
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if err := misspelt(kind, name); err != nil {
			return s, err
		}
	}
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20") // PostgreSQL does not read a plus as a space
	s.URL = u.String()
	return s, nil
}

// The parameters of a database's driver. All others are settings of the server, which are many and
// depend on its version, so only names that resemble one of these, or that mean something for
// Redis, are mistakes.
var (
	parameters = map[string][]string{
		Postgres: {"host", "port", "database", "dbname", "user", "password", "passfile", "connect_timeout", "sslmode", "sslkey", "sslcert",
			"sslcertmode", "sslrootcert", "sslnegotiation", "sslpassword", "sslsni", "krbspn", "krbsrvname", "target_session_attrs", "service",
			"servicefile", "min_protocol_version", "max_protocol_version", "channel_binding", "require_auth", "application_name", "options"},
		MySQL: {"allowAllFiles", "allowCleartextPasswords", "allowFallbackToPlaintext", "allowNativePasswords", "allowOldPasswords", "charset",
			"checkConnLiveness", "clientFoundRows", "collation", "columnsWithAlias", "compress", "connectionAttributes", "interpolateParams", "loc",
			"maxAllowedPacket", "multiStatements", "parseTime", "readTimeout", "rejectReadOnly", "serverPubKey", "timeout", "timeTruncate", "tls",
			"writeTimeout"},
	}
	ours      = []string{"connections", "shards"}
	redisOnly = []string{"prefix", "durability", "replicas", "ca", "sentinel_user", "sentinel_password"}
)

// misspelt returns an error if a parameter of a database is probably a mistake.
func misspelt(kind, name string) error {
	known := slices.Concat(ours, parameters[kind])
	if slices.Contains(known, name) {
		return nil
	}
	if slices.Contains(redisOnly, name) {
		return fmt.Errorf("parameter %q is for Redis: want %s, or a parameter of the driver or the server", name, nearest.Either(ours))
	}
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return fmt.Errorf("parameter %.40q is unknown: want %s?", name, k)
		}
	}
	most := 1
	if len(name) > 7 {
		most = 2
	}
	if near := nearest.Of(name, most, known...); near != "" && len(name) > 3 {
		return fmt.Errorf("parameter %.40q is unknown: want %s?", name, near)
	}
	return nil
}

// parseRedis parses an address of Redis, which may name several hosts, and removes bellman's own
// parameters.
func parseRedis(scheme, text string) (StoreURL, error) {
	s := StoreURL{Kind: Redis}
	head, rest, _ := strings.Cut(text, "?")
	authority, is := strings.CutPrefix(head, scheme+"://")
	authority, _, _ = strings.Cut(authority, "/")
	hosts := authority[strings.LastIndexByte(authority, '@')+1:]
	if !is || hosts == "" {
		return s, fmt.Errorf("names no host: want %s://USER:PASSWORD@HOST:PORT", scheme)
	}
	if _, err := url.Parse(scheme + "://" + strings.TrimSuffix(authority, hosts) + "host"); err != nil {
		return s, fmt.Errorf("is no URL: want %s://USER:PASSWORD@HOST:PORT, with what is no letter or digit in USER and PASSWORD as %%XX", scheme)
	}
	query, err := s.take(rest)
	if err != nil {
		return s, err
	}
	if s.URL = head; len(query) > 0 {
		s.URL += "?" + query.Encode()
	}
	return s, nil
}

// take sets connections and shards from the parameters of a URL, and returns the other parameters.
func (s *StoreURL) take(parameters string) (url.Values, error) {
	query, err := url.ParseQuery(parameters)
	if err != nil {
		return nil, errors.New("has parameters that cannot be read: want ?name=value&name=value, with what is no letter or digit as %XX")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case len(query[name]) > 1:
			return nil, fmt.Errorf("parameter %.40q is given twice: want it once", name)
		case strings.HasPrefix(name, "pool_"):
			return nil, fmt.Errorf("parameter %.40q is not used: want connections=N for the size of the pool", name)
		}
	}
	for _, own := range []struct {
		name      string
		low, high int
		to        *int
	}{{ours[0], 2, 1000, &s.Connections}, {ours[1], 1, contract.MaxShards, &s.Shards}} {
		if !query.Has(own.name) {
			continue
		}
		n, err := strconv.Atoi(query.Get(own.name))
		if err != nil || n < own.low || n > own.high {
			return nil, fmt.Errorf("parameter %s=%.20q: want a whole number from %d to %d", own.name, query.Get(own.name), own.low, own.high)
		}
		*own.to = n
		query.Del(own.name)
	}
	return query, nil
}

// String returns the store for people: without the password, and without parameters except the
// prefix in Redis.
func (s StoreURL) String() string {
	if s.Kind == Pebble {
		return Pebble + ":" + s.Dir
	}
	if s.Kind == Redis { // net/url supports only one host
		scheme, rest, _ := strings.Cut(s.URL, "://")
		rest, parameters, _ := strings.Cut(rest, "?")
		user, hosts := "", rest
		if authority, _, _ := strings.Cut(rest, "/"); strings.Contains(authority, "@") {
			at := strings.LastIndexByte(authority, '@')
			user, hosts = authority[:at], rest[at+1:]
			if user, _, _ = strings.Cut(user, ":"); user != "" {
				user += "@"
			}
		}
		shown := scheme + "://" + user + hosts
		if query, err := url.ParseQuery(parameters); err == nil && query.Has("prefix") {
			shown += "?prefix=" + url.QueryEscape(query.Get("prefix")) // one Redis may have several stores
		}
		return shown
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.Kind
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if name := u.User.Username(); name != "" {
		shown.User = url.User(name)
	}
	return shown.String()
}

// GoString is String.
func (s StoreURL) GoString() string { return s.String() }

// store reads the address of a store. It does not look up env: and file:.
func store(to *string, s string) error {
	*to = s
	for _, elsewhere := range []string{"env:", "file:"} {
		if name, ok := strings.CutPrefix(s, elsewhere); ok {
			if name == "" {
				return fmt.Errorf("%q says not where the URL is: want env:NAME or file:PATH", s)
			}
			return nil
		}
	}
	_, err := parseStore(s)
	return err
}

// checkStore reports what fits finds in the address of the store, unless it is elsewhere or already
// wrong.
func (c *Config) checkStore(fits func(StoreURL) error) error {
	if fits == nil || elsewhere(sign.NewSecret(c.Store)) {
		return nil
	}
	u, err := parseStore(c.Store)
	if err != nil {
		return nil
	}
	if err := fits(u); err != nil {
		return Problems{c.places["store"].problem("store", err.Error())}
	}
	return nil
}
