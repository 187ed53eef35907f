package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/config"
)

// peers carries hints and figures between the nodes of one store, over HTTP, and only to addresses
// in the table of nodes. Each message is signed with a secret that is kept in the store, so exactly
// those who can read the database are peers. All of it is best effort.
type peers struct {
	self string // address of this node for the others
	log  *slog.Logger
	http *http.Client
	take func(engine.Hint) // receives hints

	report func(context.Context, figures.Ask) engine.Report // this node's figures

	secret *secret

	mu      sync.Mutex
	resting map[string]time.Time // addresses that did not answer, and when to try again
	silent  map[string]silence   // nodes that could not be reached, by address
	heard   map[string]int64     // time of the newest hint of each node, Unix ns

	sent, failed, received, refused atomic.Int64
}

const (
	hintPath    = "/v1/nodes/hint"
	figuresPath = "/v1/nodes/figures"
	answered    = " answered" // suffix of the path in the signature of an answer

	hintHeader = "Bellman-Hint" // t=UNIX NANOSECONDS,v1=HMAC-SHA256 in hexadecimal
	hintBytes  = 64 << 10

	figuresBytes = 16 << 20

	hintWindow = 10 * time.Second // largest accepted age of a hint, by the clocks of both nodes
	restAfter  = 500 * time.Millisecond
)

// newPeers makes the peers of a node, which sign with a secret.
func newPeers(secret *secret, self string, take func(engine.Hint), log *slog.Logger) *peers {
	return &peers{
		secret: secret, self: self, take: take, log: log,
		http: &http.Client{
			// No proxy and no redirects.
			Transport:     &http.Transport{DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		resting: map[string]time.Time{},
		silent:  map[string]silence{},
		heard:   map[string]int64{},
	}
}

// signature signs a message for a path of the node at an address. It is valid nowhere else.
func (p *peers) signature(at int64, path, addr string, body []byte) []byte {
	mac := hmac.New(sha256.New, p.secret.bytes())
	said := path
	if path == hintPath {
		said = "hint"
	}
	fmt.Fprintf(mac, "bellman %s\n%d\n%s\n", said, at, addr)
	mac.Write(body)
	return mac.Sum(nil)
}

// tell sends a hint to the node at an address in the table of nodes. An address that did not answer
// is skipped for a moment, and the hint is lost.
func (p *peers) tell(ctx context.Context, addr string, h engine.Hint) {
	p.mu.Lock()
	rests := time.Now().Before(p.resting[addr])
	p.mu.Unlock()
	if addr == p.self {
		p.unreached(addr, errSelf)
		return
	}
	if rests {
		return
	}
	err := p.post(ctx, addr, hintPath, h, nil)
	p.unreached(addr, err)
	if err == nil {
		p.sent.Add(1)
		return
	}
	p.failed.Add(1)
	p.log.Debug("a hint was rejected", "peer", addr, "err", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.resting, func(_ string, until time.Time) bool { return time.Now().After(until) })
	p.resting[addr] = time.Now().Add(restAfter)
}

// A silence is how long a node could not be reached at its address.
type silence struct {
	first, last time.Time
	said        bool
}

const (
	sayAfter = 10 * time.Second // a dead node is no longer in the table by then
	sayAgain = time.Minute      // after this time without a try a new silence begins
)

var errSelf = errors.New("it is this node's own address")

// unreached records whether a node could be reached at its address. A node that sends heartbeats
// and cannot be reached for a while advertises a wrong address; that is logged once.
func (p *peers) unreached(addr string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		delete(p.silent, addr)
		return
	}
	now := time.Now()
	s, ok := p.silent[addr]
	if !ok || now.Sub(s.last) > sayAgain && !s.said {
		s.first = now
	}
	s.last = now
	if !s.said && now.Sub(s.first) >= sayAfter {
		s.said = true
		p.log.Warn("another node cannot be reached at its advertised address: changes are found later by polling, and its figures are missing; set advertise on that node", "addr", addr, "err", err)
	}
	p.silent[addr] = s
}

// ask requests the figures of the node at an address in the table of nodes.
func (p *peers) ask(ctx context.Context, addr string, ask figures.Ask) (r engine.Report, err error) {
	err = p.post(ctx, addr, figuresPath, ask, &r)
	p.unreached(addr, err)
	return r, err
}

// post sends a signed message to the node at an address and reads its answer, which must be signed
// too. to is nil if there is no answer to read.
func (p *peers) post(ctx context.Context, addr, path string, what, to any) error {
	host, port, err := net.SplitHostPort(addr)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || strings.ContainsAny(host, "/@?#\\ ") {
		return fmt.Errorf("%.80q is no address: want HOST:PORT", addr)
	}
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	u := url.URL{Scheme: "http", Host: addr, Path: path}
	for again := false; ; again = true {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
		if err != nil {
			return err
		}
		at := time.Now().UnixNano()
		r.Header.Set(hintHeader, fmt.Sprintf("t=%d,v1=%x", at, p.signature(at, path, addr, body)))
		r.Header.Set("Content-Type", "application/json")
		resp, err := p.http.Do(r)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(resp.Body, figuresBytes))
		resp.Body.Close()
		switch {
		case err != nil:
			return err
		case resp.StatusCode == http.StatusNoContent && to == nil:
			return nil
		case resp.StatusCode == http.StatusOK && to != nil:
			if then, signed, ok := parseSignature(resp.Header.Get(hintHeader)); !ok || then != at || !hmac.Equal(signed, p.signature(at, path+answered, addr, text)) {
				return errors.New("answered without the signature of a node")
			}
			return json.Unmarshal(text, to)
		case resp.StatusCode != http.StatusUnauthorized || again || !p.secret.Refresh(ctx):
			return fmt.Errorf("answered with %s", resp.Status)
		}
	}
}

// ServeHTTP receives a hint, or answers with this node's figures.
func (p *peers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	path := r.URL.Path
	at, signed, ok := parseSignature(r.Header.Get(hintHeader))
	if ok && time.Since(time.Unix(0, at)).Abs() <= hintWindow {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, hintBytes))
		if err == nil && p.signedBy(r.Context(), at, path, signed, body) && p.answer(w, r, path, at, body) {
			return
		}
	}
	p.refused.Add(1)
	w.WriteHeader(http.StatusUnauthorized)
}

// answer handles a message that a peer has signed. It returns false for a message that makes no
// sense.
func (p *peers) answer(w http.ResponseWriter, r *http.Request, path string, at int64, body []byte) bool {
	if path == figuresPath {
		var ask figures.Ask
		if json.Unmarshal(body, &ask) != nil {
			return false
		}
		text, err := json.Marshal(p.report(r.Context(), ask))
		if err != nil {
			p.log.Error("figures cannot be encoded", "err", err)
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		w.Header().Set(hintHeader, fmt.Sprintf("t=%d,v1=%x", at, p.signature(at, path+answered, p.self, text)))
		w.Write(text)
		return true
	}
	var h engine.Hint
	if json.Unmarshal(body, &h) != nil || !p.fresh(h.From, at) {
		return false
	}
	p.received.Add(1)
	p.take(h)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// signedBy reports whether a peer signed what came for this node.
func (p *peers) signedBy(ctx context.Context, at int64, path string, signed, body []byte) bool {
	return hmac.Equal(signed, p.signature(at, path, p.self, body)) ||
		p.secret.Refresh(ctx) && hmac.Equal(signed, p.signature(at, path, p.self, body))
}

// fresh reports whether a hint is newer than all others of its node. So a hint that somebody
// recorded and repeats is rejected.
func (p *peers) fresh(from string, at int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from == "" || at <= p.heard[from] {
		return false
	}
	// Older hints are outside of the window and rejected anyway.
	maps.DeleteFunc(p.heard, func(_ string, last int64) bool { return time.Since(time.Unix(0, last)) > 2*hintWindow })
	p.heard[from] = at
	return true
}

func parseSignature(text string) (at int64, signed []byte, ok bool) {
	when, mac, _ := strings.Cut(text, ",")
	digits, timed := strings.CutPrefix(when, "t=")
	digest, keyed := strings.CutPrefix(mac, "v1=")
	at, err := strconv.ParseInt(digits, 10, 64)
	signed, hexErr := hex.DecodeString(digest)
	return at, signed, timed && keyed && err == nil && hexErr == nil
}

// besidePeers serves the messages of other nodes, and everything else with rest.
func (s *Server) besidePeers(rest http.Handler) http.Handler {
	if s.peers == nil {
		return rest
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == hintPath || r.URL.Path == figuresPath {
			s.peers.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// close closes the idle connections.
func (p *peers) close() { p.http.CloseIdleConnections() }

// advertised returns the address at which other nodes reach the API: as configured, else where it
// listens. If the server listens on all addresses, it is the address from which this machine
// reaches the database, so that a cluster works without the setting; empty if that cannot be
// determined.
func advertised(c *config.Config, listens string) string {
	if c.Advertise != "" {
		return c.Advertise
	}
	host, port, err := net.SplitHostPort(listens)
	if err != nil {
		return ""
	}
	if addr, err := netip.ParseAddr(host); err != nil || !addr.IsUnspecified() {
		return listens
	}
	s, err := config.ParseStore(c.Store)
	if err != nil || s.Kind == config.Pebble {
		return ""
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	// UDP: an address is chosen, and nothing is sent.
	conn, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), "9"))
	if err != nil {
		return ""
	}
	defer conn.Close()
	from, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		return ""
	}
	return net.JoinHostPort(from, port)
}
