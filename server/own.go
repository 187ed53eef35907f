package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
)

// A Config is the configuration of a server. Its settings are those of the configuration file; see
// docs/reference/configuration.md. Make one with ReadConfig or ParseConfig.
type Config = config.Config

// ReadConfig reads a configuration as bellman serve does. Precedence: settings (by name, such as
// "listen" and "store"), then env ([os.LookupEnv]), then the file at path, then the defaults. An
// empty path is the file that BELLMAN_CONFIG names, or none. A nil env is an empty environment. The
// error lists every mistake.
func ReadConfig(path string, env func(string) (string, bool), settings map[string]string) (*Config, error) {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	return config.Read(path, env, settings, CheckStore)
}

// ParseConfig reads the text of a configuration file over the defaults. It reads no environment.
// The error lists every mistake.
func ParseConfig(text []byte) (*Config, error) {
	c, err := config.Parse(text)
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Run opens a server, runs it until ctx ends, and closes it. It returns nil after an orderly stop.
func Run(ctx context.Context, o Options) error {
	s, err := Open(o)
	if err != nil {
		return err
	}
	return errors.Join(s.Run(ctx), s.Close())
}

// programChannel is the kind of a channel that Options.Channels has.
const programChannel = "program"

// checkOwn returns an error if Options.Handlers or Options.Channels are not of queues of c, or if a
// queue lacks its channel.
func checkOwn(c *Config, handlers map[string]bellman.Handler, channels map[string]order.Channel) error {
	notify, program := make(map[string]bool), make(map[string]bool)
	for i := range c.Queues {
		switch q := &c.Queues[i]; {
		case q.Kind == "notify":
			notify[q.Name] = true
		case q.Order.Channel.Kind == programChannel:
			program[q.Name] = true
			if channels[q.Name] == nil {
				return c.Refused("queues."+q.Name+".channel.kind", errors.New("this program has no channel for the queue: want the kind wechatpay or alipay, or query and close")).Err()
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(handlers)) {
		if !notify[name] {
			return fmt.Errorf("Options.Handlers has %q: want a configured queue of kind notify, one of %s", name, names(notify))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		if !program[name] {
			return fmt.Errorf("Options.Channels has %q: want a configured queue with channel: {kind: program}, one of %s", name, names(program))
		}
	}
	return nil
}

func names(set map[string]bool) string {
	if len(set) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}
