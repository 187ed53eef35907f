package config

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/nearest"
)

// maxFile is the size limit of a file or variable, in bytes.
const maxFile = 4 << 20

// Read builds the configuration and checks it. Precedence: flags, then environment, then file, then
// defaults. path names the file; if it is empty,
// BELLMAN_CONFIG does; without either there is none. The keys of flags are names of settings:
// "listen", "store". fits checks the parameters of a store's address, as its driver reads them;
// nil: nothing checks them. The error is [Problems] with every mistake, unless a file could not be
// read.
func Read(path string, env func(string) (string, bool), flags map[string]string, fits func(StoreURL) error) (*Config, error) {
	if path == "" {
		path, _ = env("BELLMAN_CONFIG")
	}
	c, err := load(path)
	if c == nil {
		return nil, err
	}
	errs := []error{err, c.Apply(env)}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		errs = append(errs, c.Set(name, flags[name]))
	}
	if err := join(append(errs, c.Check(), c.checkStore(fits))...); err != nil {
		return nil, err
	}
	return c, nil
}

// load reads a file like Parse; an empty path means no file. The config is nil only if the file
// could not be read.
func load(path string) (*Config, error) {
	if path == "" {
		return Default(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return parse(text, path)
}

// Parse reads the text of a file over the defaults. If the error is [Problems], the config has all
// valid values, so that Apply, Set and Check can find further mistakes; do not use it for anything
// else. Check examines values that depend on one another, because variables may still change them.
func Parse(text []byte) (*Config, error) { return parse(text, "") }

func parse(text []byte, source string) (*Config, error) {
	c := Default()
	c.mentions(string(text))
	err := c.readYAML(string(text), source, func(r *reader, body ast.Node) { fill(r, body, "", configFields, c) })
	return c, err
}

// Apply sets the settings of the environment: BELLMAN_ and the name in capitals, with _ between
// groups, such as BELLMAN_FLOW_HIGH. BELLMAN_KEYS and BELLMAN_QUEUES contain YAML and replace the
// whole list; BELLMAN_EGRESS_ALLOW is a list with commas. env is [os.LookupEnv]. An empty variable
// counts as not set.
func (c *Config) Apply(env func(string) (string, bool)) error {
	var errs []error
	for _, f := range configFields {
		variable := variable(f.name)
		text, _ := env(variable)
		switch {
		case text == "":
		case f.set != nil:
			errs = append(errs, c.set(f, variable, text))
		default:
			errs = append(errs, c.readYAML(text, variable, func(r *reader, body ast.Node) { f.read(r, f.name, body, c) }))
		}
	}
	return join(errs...)
}

// Set sets one setting by its name in the file, such as "flow.high", as a flag does.
func (c *Config) Set(name, text string) error {
	f, _ := find(configFields, name)
	if f == nil || f.set == nil {
		return Problems{{Source: "--" + name, Text: "unknown setting"}}
	}
	c.mentions(text)
	return c.set(*f, "--"+name, text)
}

func (c *Config) set(f field[Config], source, text string) error {
	c.places[f.name] = place{source: source}
	if err := f.set(c, text); err != nil {
		return Problems{c.places[f.name].problem("", err.Error())}
	}
	return nil
}

// readYAML parses a text and passes its body to read, unless it is empty.
func (c *Config) readYAML(text, source string, read func(*reader, ast.Node)) error {
	r := &reader{source: source, anchors: anchors{}, places: c.places}
	if len(text) > maxFile {
		return Problems{{Source: source, Line: 1, Column: 1, Text: fmt.Sprintf("longer than %d bytes", maxFile)}}
	}
	if body := r.body(text); body != nil {
		read(r, body)
	}
	misplaced(r.problems, c.Queues)
	c.kept = append(c.kept, r.kept...)
	return r.problems.Err()
}

// misplaced says of unknown fields of a queue where they belong, if it is in a queue of another
// kind or beside queues.
func misplaced(ps Problems, queues []Queue) {
	for i, p := range ps {
		name, in := strings.CutPrefix(p.Field, "queues.")
		if !in || !strings.HasPrefix(p.Text, unknownField) {
			continue
		}
		q := slices.IndexFunc(queues, func(q Queue) bool { return strings.HasPrefix(name, q.Name+".") })
		if q < 0 {
			continue
		}
		name = name[len(queues[q].Name)+1:]
		var kinds []string
		for _, other := range []struct {
			kind   string
			fields []field[Queue]
		}{{"notify", queueFields}, {"order", orderFields}, {"poll", pollFields}} {
			if f, group := find(other.fields, name); f != nil || group {
				kinds = append(kinds, other.kind)
			}
		}
		switch f, group := find(configFields, name); {
		case len(kinds) > 0:
			ps[i].Text = fmt.Sprintf("is for a queue of kind %s, and this one is of kind %s: change kind, or leave it out", nearest.Either(kinds), queues[q].Kind)
		case f != nil || group:
			ps[i].Text = "is for the whole file, not for a queue: want it at the left margin, beside queues"
		}
	}
}

// Check examines values that depend on one another. Call it when all are set.
func (c *Config) Check() error {
	var ps Problems
	_, _, err := net.SplitHostPort(c.Listen) // an invalid address is reported already
	if err == nil && len(c.Keys) == 0 && !Loopback(c.Listen) {
		ps = append(ps, c.places["listen"].problem("listen",
			fmt.Sprintf("%.80q can be reached from beyond this machine, and there are no keys: add keys, or listen on 127.0.0.1", c.Listen)))
	}
	if sameListener(c.Listen, c.Notices.Listen) {
		ps = append(ps, c.problem("notices.listen", fmt.Sprintf("%.80q is the address of the API, too: want a port of its own", c.Notices.Listen), c.places["listen"]))
	}
	if len(c.MasterKeys) > 0 && !c.MasterKey.Equal(sign.Secret{}) {
		ps = append(ps, c.places["master_key"].problem("master_key", "stands beside master_keys: want one of the two"))
	}
	for _, q := range c.Queues {
		if at := "queues." + q.Name + ".channel.account"; q.Order.Channel.Account != "" && len(c.Masters()) == 0 {
			ps = append(ps, c.places[at].problem(at, "there is no master key, which seals and opens the keys of registered accounts: set master_key, such as env:MASTER_KEY"))
		}
	}
	if c.Flow.Low >= c.Flow.High {
		text := fmt.Sprintf("is %d and flow.high is %d: want low below high, such as %d", c.Flow.Low, c.Flow.High, c.Flow.High/2)
		ps = append(ps, c.problem("flow.low", text, c.places["flow.high"]))
	}
	if c.Pool.Ceiling < c.Pool.Floor {
		text := fmt.Sprintf("is %d and pool.floor is %d: want a ceiling that is not below the floor", c.Pool.Ceiling, c.Pool.Floor)
		ps = append(ps, c.problem("pool.ceiling", text, c.places["pool.floor"]))
	}
	ps = append(ps, c.checkKeys()...)
	ps = append(ps, c.checkBrokers()...)
	ps = append(ps, c.checkAlarms()...)
	ps = append(ps, c.checkTracing()...)
	return ps.Err()
}

// problem returns a problem of a setting, at otherwise if the setting was not read.
func (c *Config) problem(setting, text string, otherwise place) Problem {
	at, read := c.places[setting]
	if !read {
		at = otherwise
	}
	return at.problem(setting, text)
}

// Loopback reports whether only this machine can reach an address. A name other than localhost
// could be anywhere.
func Loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
