package server_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/server"
)

type noChannel struct{}

func (noChannel) Query(context.Context, *order.Order) (a order.QueryAnswer) { return a }

func (noChannel) Close(context.Context, *order.Order) (a order.CloseAnswer) { return a }

// Handlers and channels of the program belong to queues of the configuration. A mistake ends Open,
// and names the queue.
func TestOwnHandlersAndChannels(t *testing.T) {
	const queues = "queues: {pay: {kind: order, channel: {kind: program}, on_exhausted: alert, schedule: 1s*}, notify: {}}"
	handler := bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict { return bellman.Verdict{} })
	for _, tt := range []struct {
		name     string
		handlers map[string]bellman.Handler
		channels map[string]order.Channel
		want     string
	}{
		{"both", map[string]bellman.Handler{"notify": handler}, map[string]order.Channel{"pay": noChannel{}}, ""},
		{"no handler", nil, map[string]order.Channel{"pay": noChannel{}}, ""},
		{"no channel", nil, nil, "queues.pay.channel.kind: this program has no channel"},
		{"a channel of another queue", nil, map[string]order.Channel{"pay": noChannel{}, "pya": noChannel{}}, `Options.Channels has "pya"`},
		{"a channel of a notify queue", nil, map[string]order.Channel{"pay": noChannel{}, "notify": noChannel{}}, `Options.Channels has "notify"`},
		{"a handler of another queue", map[string]bellman.Handler{"notfy": handler}, map[string]order.Channel{"pay": noChannel{}}, `Options.Handlers has "notfy"`},
		{"a handler of an order queue", map[string]bellman.Handler{"pay": handler}, map[string]order.Channel{"pay": noChannel{}}, `Options.Handlers has "pay"`},
	} {
		c, err := server.ParseConfig([]byte("listen: 127.0.0.1:0\n" + queues))
		if err != nil {
			t.Fatal(err)
		}
		c.Store = "pebble:" + t.TempDir()
		s, err := server.Open(server.Options{Config: c, Logger: slog.New(slog.DiscardHandler), Handlers: tt.handlers, Channels: tt.channels})
		switch {
		case err == nil:
			s.Close()
			if tt.want != "" {
				t.Errorf("%s: opened; want %s", tt.name, tt.want)
			}
		case tt.want == "" || !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}

// A program may read no environment.
func TestReadConfigWithoutEnvironment(t *testing.T) {
	if c, err := server.ReadConfig("", nil, map[string]string{"listen": "127.0.0.1:0"}); err != nil || c.Listen != "127.0.0.1:0" {
		t.Errorf("ReadConfig() = %v; want the defaults with the setting", err)
	}
}

func TestParseConfigNamesTheMistake(t *testing.T) {
	if _, err := server.ParseConfig([]byte("lsten: x")); err == nil || !strings.Contains(err.Error(), "lsten") {
		t.Errorf("%v; want an error that names lsten", err)
	}
	if _, err := server.Open(server.Options{}); err == nil || !strings.Contains(err.Error(), "Options.Config") {
		t.Errorf("%v; want an error that names Options.Config", err)
	}
}
