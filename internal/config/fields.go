package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/brokers"
	"github.com/bellmanhq/bellman/internal/nearest"
	"github.com/bellmanhq/bellman/rule"
	"github.com/bellmanhq/bellman/schedule"
)

var configFields = []field[Config]{
	{name: "listen", set: func(c *Config, s string) error { return address(&c.Listen, s) }},
	{name: "store", set: func(c *Config, s string) error { return store(&c.Store, s) }},
	{name: "advertise", set: func(c *Config, s string) error { return reachable(&c.Advertise, s) }},
	{name: "node", set: func(c *Config, s string) error { return name(&c.Node, s) }},
	prefixesField("trusted_proxies", func(c *Config) *[]netip.Prefix { return &c.TrustedProxies }),
	{name: "public_url", set: func(c *Config, s string) error { return origin(&c.PublicURL, s) }},
	{name: "console.name", set: func(c *Config, s string) error { return title(&c.Console.Name, s) }},
	{name: "console.colour", set: func(c *Config, s string) error { return colour(&c.Console.Colour, s) }},
	{name: "notices.listen", set: func(c *Config, s string) error { return address(&c.Notices.Listen, s) }},
	{name: "notices.public_url", set: func(c *Config, s string) error { return origin(&c.Notices.PublicURL, s) }},
	{name: "log_level", set: func(c *Config, s string) error { return level(&c.LogLevel, s) }},
	{name: "stop_timeout", set: func(c *Config, s string) error { return duration(&c.StopTimeout, s, time.Second, time.Hour) }},
	{name: "master_key", set: setMasterKey, read: readMasterKey},
	{name: "master_keys", set: setMasterKeys, read: readMasterKeys},
	{name: "keys", read: readKeys},
	{name: "queues", read: readQueues},
	{name: "connections", read: readConnections},
	{name: "sources", read: readSources},
	{name: "alarms", read: readAlarms},
	{name: "tracing.endpoint", set: func(c *Config, s string) error { return collector(&c.Tracing.Endpoint, s) }},
	{name: "tracing.headers", read: readTracingHeaders},
	{name: "tracing.sample", set: func(c *Config, s string) error { return part(&c.Tracing.Sample, s) }},
	{name: "tracing.service", set: func(c *Config, s string) error { return oneLine(&c.Tracing.Service, s) }},
	{name: "tracing.attributes", read: readTracingAttributes},
	{name: "http.connections", set: func(c *Config, s string) error { return number(&c.HTTP.Connections, s, 1, 1_000_000) }},
	{name: "http.per_address", set: func(c *Config, s string) error { return number(&c.HTTP.PerAddress, s, 1, 1_000_000) }},
	{name: "pool.floor", set: func(c *Config, s string) error { return number(&c.Pool.Floor, s, 1, 100_000) }},
	{name: "pool.ceiling", set: func(c *Config, s string) error { return number(&c.Pool.Ceiling, s, 1, 100_000) }},
	{name: "flow.high", set: func(c *Config, s string) error { return number(&c.Flow.High, s, 1, 100_000_000) }},
	{name: "flow.low", set: func(c *Config, s string) error { return number(&c.Flow.Low, s, 0, 100_000_000) }},
	{name: "flow.heap", set: func(c *Config, s string) error { return size(&c.Flow.Heap, s, leastHeap, 1<<40) }},
	{name: "retention.succeeded", set: func(c *Config, s string) error { return atLeast(&c.Retention.Succeeded, s, time.Second) }},
	{name: "retention.failed", set: func(c *Config, s string) error { return atLeast(&c.Retention.Failed, s, time.Second) }},
	{name: "retention.cancelled", set: func(c *Config, s string) error { return atLeast(&c.Retention.Cancelled, s, time.Second) }},
	{name: "egress.allow_private", set: func(c *Config, s string) error { return boolean(&c.Egress.AllowPrivate, s) }},
	prefixesField("egress.allow", func(c *Config) *[]netip.Prefix { return &c.Egress.Allow }),
	prefixesField("egress.deny", func(c *Config) *[]netip.Prefix { return &c.Egress.Deny }),
	{name: "egress.https_only", set: func(c *Config, s string) error { return boolean(&c.Egress.HTTPSOnly, s) }},
	{name: "egress.proxy", set: func(c *Config, s string) error { return proxy(&c.Egress.Proxy, s) }},
}

// leastHeap leaves room: an idle server has about 20 MiB of live heap, and the heap must fall below
// seven eighths of the mark before new tasks are accepted.
const leastHeap = 64 << 20

// The fields that queues of several kinds have.
var (
	kindOfQueue      = field[Queue]{name: "kind", set: func(q *Queue, s string) error { return kind(&q.Kind, s) }}
	scheduleField    = field[Queue]{name: "schedule", set: func(q *Queue, s string) error { return compiled(&q.Schedule, s, schedule.Parse) }}
	timeoutField     = field[Queue]{name: "timeout", set: func(q *Queue, s string) error { return duration(&q.Timeout, s, time.Millisecond, bellman.MaxTimeout) }}
	concurrencyField = field[Queue]{name: "concurrency", set: func(q *Queue, s string) error { return limit(&q.Concurrency, s) }}
	rateField        = field[Queue]{name: "rate", set: func(q *Queue, s string) error { return rate(&q.Rate, s) }}
	traceField       = field[Queue]{name: "propagate_trace", set: func(q *Queue, s string) error { return boolean(&q.PropagateTrace, s) }}
	signField        = field[Queue]{name: "sign", read: readSign}
	channelField     = field[Queue]{name: "channel", read: readChannel}
	queryField       = field[Queue]{name: "query", read: requestField(func(q *Queue) *Request { return &q.Order.Query })}
	aboutField       = field[Queue]{name: "about", set: func(q *Queue, s string) error { return compiled(&q.Order.About, s, rule.CompileValue) }}
	thenField        = field[Queue]{name: "then", read: readThen}
)

// queueFields are the fields of a queue of kind notify.
var queueFields = []field[Queue]{
	kindOfQueue, scheduleField,
	{name: "success", set: func(q *Queue, s string) error { return compiled(&q.Success, s, rule.Compile) }},
	timeoutField,
	{name: "max_age", set: func(q *Queue, s string) error { return atLeast(&q.MaxAge, s, time.Second) }},
	{name: "url", read: readRecipient},
	{name: "require_merchant_url", set: func(q *Queue, s string) error { return boolean(&q.RequireMerchantURL, s) }},
	{name: "connections", read: readQueueConnections},
	{name: "delay", set: func(q *Queue, s string) error { return atLeast(&q.Delay, s, 0) }},
	concurrencyField, rateField,
	{name: "per_endpoint.concurrency", set: func(q *Queue, s string) error { return limit(&q.PerEndpoint.Concurrency, s) }},
	{name: "per_endpoint.rate", set: func(q *Queue, s string) error { return rate(&q.PerEndpoint.Rate, s) }},
	{name: "event_json", set: func(q *Queue, s string) error { return compiled(&q.EventJSON, s, rule.CompileValue) }},
	traceField, signField,
}

var signFields = []field[sign.Config]{
	{name: "scheme", set: func(c *sign.Config, s string) error { return choice(&c.Scheme, s, sign.Schemes()...) }},
	{name: "secrets", read: func(r *reader, path string, n ast.Node, c *sign.Config) { c.Secrets = r.secrets(n, path) }},
	{name: "serial", set: func(c *sign.Config, s string) error { c.Serial = s; return nil }},
	{name: "header", set: func(c *sign.Config, s string) error { return filled(&c.Header, s) }},
	{name: "params", read: func(r *reader, path string, n ast.Node, c *sign.Config) { fill(r, n, path, paramsFields, &c.Params) }},
}

// paramsFields are the fields of sign.params. sign.New says what is wrong with their values.
var paramsFields = []field[sign.Params]{
	{name: "preset", set: func(p *sign.Params, s string) error { return filled(&p.Preset, s) }},
	{name: "name", set: func(p *sign.Params, s string) error { return filled(&p.Name, s) }},
	{name: "order", set: func(p *sign.Params, s string) error { return filled(&p.Order, s) }},
	{name: "key", set: func(p *sign.Params, s string) error { return filled(&p.Key, s) }},
	{name: "case", set: func(p *sign.Params, s string) error { return filled(&p.Case, s) }},
	{name: "empty", set: func(p *sign.Params, s string) error { return filled(&p.Empty, s) }},
	{name: "fields", read: func(r *reader, path string, n ast.Node, p *sign.Params) {
		for _, e := range r.elements(n, path) {
			text, _ := r.scalar(e.value, e.at)
			p.Fields = append(p.Fields, text)
		}
	}},
}

// readQueues replaces the queues.
func readQueues(r *reader, path string, n ast.Node, c *Config) {
	noted := len(r.problems)
	entries := r.entries(n, path)
	if len(entries) == 0 && len(r.problems) == noted {
		r.note(n, path, "has no queue: want one, or leave it out for one that is called default")
	}
	c.Queues, c.kept = nil, nil
	for _, e := range entries {
		r.places[e.at] = r.place(e.value)
		q := DefaultQueue(e.name)
		if err := name(&q.Name, e.name); err != nil {
			r.note(e.key, e.at, err.Error())
		}
		switch r.kindOf(e.value, e.at) {
		case "order":
			q = DefaultOrderQueue(e.name)
			fill(r, e.value, e.at, slices.Concat(orderFields, onEndFields), &q)
			checkOrder(r, e.value, e.at, &q)
		case "poll":
			q = DefaultPollQueue(e.name)
			if fill(r, e.value, e.at, slices.Concat(pollFields, onEndFields), &q) {
				checkPoll(r, e.value, e.at, &q)
			}
		case "", "notify":
			fill(r, e.value, e.at, slices.Concat(queueFields, onEndFields), &q)
		default:
			wrongKind(r, e.value, e.at, kindOfQueue, &q)
		}
		c.Queues = append(c.Queues, q)
	}
	checkThen(r, path, c.Queues)
	checkReconcileAlarms(r, path, c.Queues)
	checkOnEnd(r, path, c.Queues)
}

func readSign(r *reader, path string, n ast.Node, q *Queue) {
	if !fill(r, n, path, signFields, &q.Sign) {
		return
	}
	switch s := q.Sign; {
	case s.Scheme == "":
		r.note(n, path+".scheme", "is missing: want "+nearest.Either(sign.Schemes()))
	case len(s.Secrets) == 0:
		r.note(n, path+".secrets", `is missing: want at least one, such as ["env:MERCHANT_SECRET"]`)
	case s.Serial != "" && s.Scheme != sign.WechatRSA:
		r.note(n, path+".serial", "is for wechat_rsa alone: leave it out")
	case slices.ContainsFunc(s.Secrets, elsewhere) && (s.Scheme == sign.MD5Key || s.Scheme == sign.TV1):
		s.Secrets = []sign.Secret{sign.NewSecret("any")} // every text is a key of these
		fallthrough
	case !slices.ContainsFunc(s.Secrets, elsewhere):
		// A complete configuration is tried out; the error shows no key.
		if _, err := sign.New(s); err != nil {
			r.note(n, path, err.Error())
		}
	}
}

// elsewhere reports whether a secret is a place outside the file.
func elsewhere(s sign.Secret) bool {
	text := s.String()
	return strings.HasPrefix(text, "env:") || strings.HasPrefix(text, "file:")
}

func address(to *string, s string) error {
	*to = s
	_, port, err := net.SplitHostPort(s)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		return fmt.Errorf("%.80q is no address: want HOST:PORT such as 127.0.0.1:2355", s)
	}
	return nil
}

func reachable(to *string, s string) error {
	*to = s
	if s == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(s)
	n, portErr := strconv.ParseUint(port, 10, 16)
	addr, addrErr := netip.ParseAddr(host)
	if err != nil || portErr != nil || n == 0 || host == "" || strings.ContainsAny(host, "/@?#\\ ") || addrErr == nil && addr.IsUnspecified() {
		return fmt.Errorf("%.80q is no address that others can reach: want HOST:PORT such as 10.0.0.5:2355", s)
	}
	return nil
}

var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func name(to *string, s string) error {
	*to = s
	if !names.MatchString(s) {
		return fmt.Errorf("%.120q is no name: want at most 100 letters, digits, dots, dashes and underscores", s)
	}
	return nil
}

func level(to *slog.Level, s string) error {
	levels := []string{"debug", "info", "warn", "error"}
	if !slices.Contains(levels, s) {
		return fmt.Errorf("%.40q is no level: want %s", s, nearest.Either(levels))
	}
	return to.UnmarshalText([]byte(s))
}

func kind(to *string, s string) error { return choice(to, s, "notify", "order", "poll") }

func choice(to *string, s string, of ...string) error {
	*to = s
	if !slices.Contains(of, s) {
		return fmt.Errorf("%.40q does not exist: want %s", s, nearest.Either(of))
	}
	return nil
}

func boolean(to *bool, s string) error {
	*to = s == "true"
	if s != "true" && s != "false" {
		return fmt.Errorf("%.40q: want true or false", s)
	}
	return nil
}

func number(to *int, s string, low, high int) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return fmt.Errorf("%.40q: want a whole number from %d to %d", s, low, high)
	}
	*to = n
	return nil
}

func limit(to *int, s string) error {
	if s == "0" {
		return fmt.Errorf("0 would stop it: want 1 to %d, or leave it out for no limit", bellman.MaxConcurrency)
	}
	return number(to, s, 1, bellman.MaxConcurrency)
}

func duration(to *time.Duration, s string, low, high time.Duration) error {
	d, err := schedule.ParseDuration(s)
	if err != nil {
		return err
	}
	if d < low || d > high {
		return fmt.Errorf("%s: want %s to %s", s, schedule.FormatDuration(low), schedule.FormatDuration(high))
	}
	*to = d
	return nil
}

// atLeast reads a duration of at least low; there is no upper limit.
func atLeast(to *time.Duration, s string, low time.Duration) error {
	d, err := schedule.ParseDuration(s)
	if err != nil {
		return err
	}
	if d < low {
		return fmt.Errorf("%s: want %s or more", s, schedule.FormatDuration(low))
	}
	*to = d
	return nil
}

// rate reads "200/s", "10/m" or "1/h" as a number per second.
func rate(to *float64, s string) error {
	n, ok := schedule.ParseRate(s)
	if !ok || n < schedule.MinRate || n > schedule.MaxRate {
		return fmt.Errorf("%.40q is no rate: want a number of attempts a second, minute or hour, 1/h to %d/s: 200/s, 10/m", s, schedule.MaxRate)
	}
	*to = n
	return nil
}

// recipient checks where tasks of a queue go: a web server, or a connection to a broker.
func recipient(s string) error {
	if brokers.Schemes.Has(s) {
		_, err := brokers.Schemes.Parse(s)
		return err
	}
	return target(new(string), s, ", env:NAME, file:PATH, or empty")
}

// target reads the address of a web server. others says what the setting takes besides.
func target(to *string, s, others string) error {
	*to = s
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || deliver.DefaultPort(u.Scheme) == "" {
		return errors.New("is no address of a web server: want http://HOST/… or https://HOST/…" + others) // the text may contain a token
	}
	return nil
}

func proxy(to *string, s string) error {
	*to = s
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) {
		return errors.New("is no address of a proxy: want http://, https:// or socks5:// and a host, or empty") // the text may contain a password
	}
	return nil
}

// prefixesField reads a list of address ranges: of a file, or with commas.
func prefixesField(name string, of func(*Config) *[]netip.Prefix) field[Config] {
	return field[Config]{name: name, set: func(c *Config, s string) error {
		to := of(c)
		*to = nil
		var errs []error
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				errs = append(errs, appendPrefix(to, part))
			}
		}
		return errors.Join(errs...)
	}, read: func(r *reader, path string, n ast.Node, c *Config) {
		to := of(c)
		*to = nil
		for e, text := range r.texts(r.elements(n, path)) {
			if err := appendPrefix(to, text); err != nil {
				r.note(e.value, e.at, err.Error())
			}
		}
	}}
}

func appendPrefix(to *[]netip.Prefix, s string) error {
	p, err := netip.ParsePrefix(s)
	if addr, addrErr := netip.ParseAddr(s); addrErr == nil && addr.Zone() == "" {
		p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return fmt.Errorf("%.60q is no range of addresses: want one such as 10.1.0.0/16, or an address", s)
	}
	if p != p.Masked() {
		return fmt.Errorf("%.60q has bits beyond its length: want %s", s, p.Masked())
	}
	*to = append(*to, p)
	return nil
}

// title reads a name that stands at the top of pages.
func title(to *string, s string) error {
	*to = strings.TrimSpace(s)
	if utf8.RuneCountInString(*to) > 30 || oneLine(to, *to) != nil {
		return fmt.Errorf("%.80q is too long for the top of a page, or no text: want one line of at most 30 letters, such as production", s)
	}
	return nil
}

func colour(to *string, s string) error {
	all := []string{"grey", "blue", "green", "orange", "red"}
	if *to = s; s != "" && !slices.Contains(all, s) {
		return fmt.Errorf("%.40q is no colour: want one of %s", s, strings.Join(all, ", "))
	}
	return nil
}

// origin reads the address of a server: only scheme and host.
func origin(to *string, s string) error {
	*to = strings.TrimSuffix(s, "/")
	if s == "" {
		return nil
	}
	u, err := url.Parse(*to)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || *u != (url.URL{Scheme: u.Scheme, Host: u.Host}) {
		return fmt.Errorf("%.80q is not where a server is reached: want https:// and a host, such as https://bellman.example, and no path", s)
	}
	return nil
}

// size reads a number of bytes; low and high are whole MiB.
func size(to *int64, s string, low, high int64) error {
	for unit, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		count, is := strings.CutSuffix(s, unit)
		if n, err := strconv.ParseInt(count, 10, 32); is && err == nil && n*bytes >= low && n*bytes <= high {
			*to = n * bytes
			return nil
		}
	}
	return fmt.Errorf("%.40q: want a size from %dMiB to %dGiB, such as 512MiB or 2GiB", s, low>>20, high>>30)
}
