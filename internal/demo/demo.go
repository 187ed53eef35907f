// Package demo runs a whole bellman on a temporary store, with a simulated merchant and payment
// channel on loopback, and plays scenes over real HTTP: it prints what a payment platform requests,
// what merchant and channel answer, and what bellman records.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// Options of a demo. Out is required.
type Options struct {
	Out     io.Writer    // the timeline is written here
	Listen  string       // address of the API; default: a free port of loopback
	Version string       // of the program; default dev
	Logger  *slog.Logger // of the server; default: discards
	Once    bool         // end after the last scene
}

// channelSecret is what the channel signs its notices with.
const channelSecret = "the demo's channel signs with this"

// settings are the server's configuration. CHANNEL stands for the channel's address. Orders expire
// after a moment, so that nobody has to wait.
const settings = `
listen: 127.0.0.1:0
notices: {listen: "127.0.0.1:0"}
queues:
  merchant-notify:
    schedule: 0s, 1s, 2s, 3s
    success: success_text
    timeout: 30s
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/orders/{order_no}"}
    close: {method: POST, url: "CHANNEL/orders/{order_no}/close"}
    notice: {verify: {scheme: hmac_sha256, header: X-Signature, secrets: ["SECRET"]}, order: json.out_trade_no, states: wechat_v3}
    states: wechat_v3
    close_states: wechat_v3
    schedule: 500ms*
    expires: 1500ms
    on_exhausted: close
    confirm: 200ms
    late_watch: 1s
    then: merchant-notify
  refunds:
    kind: poll
    query: {method: GET, url: "CHANNEL/refunds/{ref_no}"}
    states: {done: json.status == "SUCCESS", failed: json.status == "CLOSED", waiting: json.status == "PROCESSING", not_found: status == 404}
    about: json.out_refund_no
    schedule: 500ms*
    then: merchant-notify
egress: {allow: ["127.0.0.0/8", "::1"]}
`

// patience is the longest time of the whole story. Tests set a longer one.
var patience = 2 * time.Minute

// Run plays the story, and then serves until ctx ends, unless Once is set. It returns nil if
// everything went as expected, however ctx ended.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "bellman-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	line := newTimeline(o.Out)
	ch, err := newChannel(line)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer ch.close()
	c, err := config.Parse([]byte(strings.NewReplacer("CHANNEL", ch.url, "SECRET", channelSecret).Replace(settings)))
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	c.Store = "pebble:" + filepath.Join(dir, "store")
	if o.Listen != "" {
		if err := errors.Join(c.Set("listen", o.Listen), c.Check()); err != nil {
			return err
		}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s, err := server.Open(server.Options{Config: c, Version: o.Version, Logger: o.Logger})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	m, err := newMerchant(line)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer m.close()
	api := "http://" + s.Addr()
	caller, err := client.New(client.Options{Server: api})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	events, unsubscribe := s.Engine().Subscribe(1024)
	defer unsubscribe()
	st := &stage{timeline: line, client: caller, api: api, notices: "http://" + s.NoticesAddr() + "/notices/orders", merchant: m, channel: ch, events: events,
		ended: map[string]string{}}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	g.Go(m.serve)
	g.Go(ch.serve)
	g.Go(func() error {
		defer m.close()
		defer ch.close()
		if err := st.tell(ctx, story()); err != nil {
			return err
		}
		if o.Once {
			stop()
			return nil
		}
		st.linger(ctx)
		return nil
	})
	return g.Wait()
}

// story returns the scenes in order.
func story() []scene { return slices.Concat(notifyScenes(), orderScenes(), noticeScenes()) }
