package clients_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

const adminKey, readKey = "a-key-that-may-everything", "a-key-that-may-read"

// A world is a server with keys and its surroundings: a merchant that answers success, and a
// channel that says of every order that nobody paid.
type world struct{ server, merchant string }

func newWorld(t *testing.T) world {
	t.Helper()
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/channel/") {
			io.WriteString(w, `{"trade_state":"NOTPAY"}`)
			return
		}
		io.WriteString(w, "success")
	}))
	t.Cleanup(outside.Close)
	master := ""
	if os.Getenv("MASTER") != "" { // what merchants' secrets are sealed with
		master = "master_key: env:MASTER\n"
	}
	c, err := config.Parse(fmt.Appendf(nil, `
listen: 127.0.0.1:0
store: "pebble:%s"
keys:
  - {name: admin, role: admin, sha256: "%x"}
  - {name: read, role: read, sha256: "%x"}
queues:
  default: {}
  orders:
    kind: order
    query: {method: GET, url: "%[4]s/channel/{order_no}"}
    close: {method: POST, url: "%[4]s/channel/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: order_poll
    expires: 30m
    on_exhausted: close
    then: default
egress: {allow: ["127.0.0.1/32"]}
%[5]s`, filepath.Join(t.TempDir(), "store"), sha256.Sum256([]byte(adminKey)), sha256.Sum256([]byte(readKey)), outside.URL, master))
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(server.Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return world{"http://" + s.Addr(), outside.URL + "/notify"}
}
