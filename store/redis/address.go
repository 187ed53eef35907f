package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// The kinds of addresses.
const (
	Single   = "redis"          // one server
	Sentinel = "redis+sentinel" // the primary, found through Sentinels
	Cluster  = "redis+cluster"
)

// An Address is the location of a store:
//
//	redis://USER:PASSWORD@HOST:6379/0
//	redis+sentinel://USER:PASSWORD@HOST:26379,HOST:26379/MASTER/0
//	redis+cluster://USER:PASSWORD@HOST:6379,HOST:6379
//
// rediss, rediss+sentinel and rediss+cluster are the same with TLS. The number of the database is
// optional. Parameters follow a question mark: prefix (of all keys, default bellman), durability,
// replicas, ca (a file of certificates), sentinel_user and sentinel_password.
type Address struct {
	Kind   string
	Hosts  []string
	TLS    bool
	Master string // name of the primary at the Sentinels
	User   string
	DB     int
	Prefix string

	// Unsafe accepts any settings of the server, although it may lose writes that it has answered:
	// durability=none.
	Unsafe bool

	Replicas     int    // how many replicas must have a write before it is answered
	CA           string // name of the file
	SentinelUser string

	password, sentinelPassword string
}

const wantAddress = "want redis://USER:PASSWORD@HOST:6379/0, redis+sentinel://HOST:26379,HOST:26379/MASTER/0 or redis+cluster://HOST:6379,HOST:6379"

// ParseAddress reads an address. No error has a password in it.
func ParseAddress(text string) (Address, error) {
	a := Address{Prefix: "bellman"}
	scheme, rest, _ := strings.Cut(text, "://")
	kind, secure := scheme, false
	if plain, is := strings.CutPrefix(scheme, "rediss"); is {
		kind, secure = "redis"+plain, true
	}
	if kind != Single && kind != Sentinel && kind != Cluster {
		return a, fmt.Errorf("%.20q begins no address of Redis: %s", scheme, wantAddress)
	}
	a.Kind, a.TLS = kind, secure
	// The hosts are taken out first: net/url knows one host only.
	rest, parameters, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	hosts := authority[strings.LastIndexByte(authority, '@')+1:]
	u, err := url.Parse(scheme + "://" + strings.TrimSuffix(authority, hosts) + "hosts/" + path + "?" + parameters)
	if err != nil {
		return a, fmt.Errorf("is no URL: %s, with what is no letter or digit in USER and PASSWORD as %%XX", wantAddress)
	}
	a.User = u.User.Username()
	a.password, _ = u.User.Password()
	if err := a.hosts(hosts); err != nil {
		return a, err
	}
	if err := a.path(strings.Trim(u.Path, "/")); err != nil {
		return a, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return a, errors.New("has parameters that cannot be read: want ?name=value&name=value, with what is no letter or digit as %XX")
	}
	for name, values := range query {
		if len(values) > 1 {
			return a, fmt.Errorf("parameter %.40q is given twice: want it once", name)
		}
		if err := a.set(name, values[0]); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *Address) hosts(text string) error {
	port := "6379"
	if a.Kind == Sentinel {
		port = "26379"
	}
	for host := range strings.SplitSeq(text, ",") {
		switch name, number, err := net.SplitHostPort(host); {
		case host == "":
			return fmt.Errorf("names no host: %s", wantAddress)
		case err != nil && !strings.Contains(err.Error(), "missing port"):
			return fmt.Errorf("%.60q is no HOST:PORT", host)
		case err != nil:
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		default:
			if n, err := strconv.ParseUint(number, 10, 16); name == "" || err != nil || n == 0 {
				return fmt.Errorf("%.60q is no HOST:PORT", host)
			}
		}
		a.Hosts = append(a.Hosts, host)
	}
	if a.Kind == Single && len(a.Hosts) > 1 {
		return errors.New("names several hosts: begin with redis+sentinel:// or redis+cluster://")
	}
	return nil
}

func (a *Address) path(path string) error {
	number := path
	if a.Kind == Sentinel {
		if a.Master, number, _ = strings.Cut(path, "/"); a.Master == "" {
			return errors.New("names no primary: want redis+sentinel://HOST:26379/MASTER, with the name that the Sentinels have for it")
		}
	}
	if number == "" {
		return nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return fmt.Errorf("%.20q is no number of a database", number)
	}
	if a.Kind == Cluster && n > 0 {
		return errors.New("a Cluster has one database, 0")
	}
	a.DB = n
	return nil
}

func (a *Address) set(name, value string) error {
	switch name {
	case "prefix":
		if value == "" || len(value) > 64 || strings.ContainsAny(value, "{}") {
			return fmt.Errorf("parameter prefix=%.80q: want 1 to 64 characters without braces", value)
		}
		a.Prefix = value
	case "durability":
		if value != "checked" && value != "none" {
			return fmt.Errorf("parameter durability=%.20q: want checked, or none if tasks that were taken in may be lost", value)
		}
		a.Unsafe = value == "none"
	case "replicas":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 100 {
			return fmt.Errorf("parameter replicas=%.20q: want a whole number from 0 to 100", value)
		}
		a.Replicas = n
	case "ca":
		if !a.TLS {
			return errors.New("parameter ca is for TLS: begin with rediss")
		}
		if value == "" {
			return errors.New("parameter ca= names no file: want one with certificates in PEM, or leave it out for those of the system")
		}
		a.CA = value
	case "sentinel_user", "sentinel_password":
		if a.Kind != Sentinel {
			return fmt.Errorf("parameter %s is for an address with Sentinels", name)
		}
		if name == "sentinel_user" {
			a.SentinelUser = value
		} else {
			a.sentinelPassword = value
		}
	default:
		return fmt.Errorf("parameter %.40q is not known: want connections, shards, prefix, durability, replicas, ca, sentinel_user or sentinel_password", name)
	}
	return nil
}

// tls returns the TLS settings of connections; nil: no TLS.
func (a Address) tls() (*tls.Config, error) {
	if !a.TLS {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.CA != "" {
		text, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, fmt.Errorf("parameter ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("parameter ca: %s has no certificate", a.CA)
		}
	}
	return c, nil
}
