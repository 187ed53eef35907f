package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/cause"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// Limits of notices.
const (
	maxNotice    = 256 << 10       // bytes of a body
	maxHeading   = 16 << 10        // bytes of a header; each open connection may hold one
	usualNotice  = 4 << 10         // bytes of a body; longer ones are few at one time
	noticeWithin = 4 * time.Second // WeChat Pay waits 5 s for the answer

	// Notices longer than usualNotice that arrive at one time, in all and from one network. Without
	// a limit, senders that are slow on purpose would fill the memory.
	maxLong, maxLongOf = 128, 32

	// Notices that cannot be verified may cause this many queries of one account in a second, at
	// one node.
	maxHints = 10

	// Refused notices of one account may leave this many records in a minute, at one node, beside
	// one for each order.
	maxRefused = 10
)

// notices receives the notices of payment channels: it verifies a notice, applies it to its order,
// and only then answers the channel.
type notices struct {
	server    *Server
	receivers atomic.Pointer[map[string]*queueReceivers] // by queue
	listener  net.Listener                               // nil: notices are received by the API alone
	http      *http.Server
	limits    noticeLimits
	long      access.Slots // long notices that arrive
	refused   figures.Refusals
	kept      time.Duration // how long a paid order is kept
}

// limits bound what refused notices of one account cause.
type limits struct {
	hints   access.Sampler // queries, and lines in the log
	records access.Sampler
}

// noticeLimits are the limits of all accounts.
type noticeLimits struct {
	mu sync.Mutex
	of map[string]*limits // by identity
}

// maxLimited is how many accounts have limits of their own. All further ones share the limits of
// the empty identity.
const maxLimited = 4096

func (n *noticeLimits) account(identity string) *limits {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = make(map[string]*limits)
	}
	if n.of[identity] == nil && len(n.of) >= maxLimited {
		identity = ""
	}
	l := n.of[identity]
	if l == nil {
		l = &limits{access.Sampler{Every: time.Second, Most: maxHints}, access.Sampler{Every: time.Minute, Most: maxRefused}}
		n.of[identity] = l
	}
	return l
}

// set replaces the queues that receive notices.
func (n *notices) set(receivers map[string]*queueReceivers) { n.receivers.Store(&receivers) }

// ServeHTTP answers POST /notices/{queue} and POST /notices/{queue}/{account}.
func (n *notices) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	queue, account := r.PathValue("queue"), r.PathValue("account")
	ctx, cancel := context.WithTimeout(r.Context(), noticeWithin)
	defer cancel()
	to, err := n.receiver(ctx, queue, account)
	if refused, is := errors.AsType[*order.RefusedNotice](err); is {
		n.misdirected(ctx, queue, refused)
		http.Error(w, refused.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		if left, ok := n.limits.account("unread:" + queue).hints.Enter(""); ok {
			n.server.log.Error("a notice cannot be received", "queue", queue, "account", fmt.Sprintf("%.64s", account), "err", cause.Line(err.Error()), "others", left)
		}
		http.Error(w, "the notice cannot be read now", http.StatusServiceUnavailable)
		return
	}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), usualNotice)) + bytes.MinRead)
	in := http.MaxBytesReader(w, r.Body, maxNotice)
	_, err = body.ReadFrom(io.LimitReader(in, usualNotice+1))
	if err == nil && body.Len() > usualNotice {
		from := access.Network(access.Proxies(n.server.config.TrustedProxies).From(r)).String()
		if !n.long.Enter(from, maxLong, maxLongOf) {
			n.busy(w, queue)
			return
		}
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(noticeWithin)) // then the channel waits no longer
		_, err = body.ReadFrom(in)
		n.long.Leave(from)
	}
	if err != nil {
		err = fmt.Errorf("the notice cannot be read, or is larger than %d bytes", maxNotice)
		n.refuse(ctx, to, "", time.Now(), err)
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	_, err = n.receive(ctx, to, nil, &order.RawNotice{Header: r.Header, Body: body.Bytes(), At: time.Now()})
	why := ""
	if err != nil {
		why = err.Error()
	}
	answer := to.reader.AnswerNotice(err == nil, why)
	if answer.ContentType != "" {
		w.Header().Set("Content-Type", answer.ContentType)
	}
	w.WriteHeader(answer.Status)
	io.WriteString(w, answer.Body) // an error means that the channel has gone
}

// busy refuses a long notice for now: the channel sends it again.
func (n *notices) busy(w http.ResponseWriter, queue string) {
	const why = "too many long notices come at once"
	if left, ok := n.limits.account("").hints.Enter(why); ok {
		n.server.log.Warn("a notice was refused", "queue", queue, "err", why, "others", left)
	}
	n.server.metrics.Noticed(queue, string(order.NoticeRefused))
	w.Header().Set("Connection", "close") // instead of reading the rest
	http.Error(w, why+": send it again", http.StatusServiceUnavailable)
}

// misdirected handles a notice to an address that receives none. Only a queue of orders can have a
// record of it.
func (n *notices) misdirected(ctx context.Context, queue string, why error) {
	if n.server.kind(queue) == "order" {
		nobody := "queue:" + queue
		n.refuse(ctx, &receiver{queue: queue, account: nobody, limits: n.limits.account(nobody)}, "", time.Now(), why)
		return
	}
	n.server.metrics.Noticed("", string(order.NoticeRefused)) // not by name: a caller can invent names of queues
	if left, ok := n.limits.account("").hints.Enter(why.Error()); ok {
		n.server.log.Warn("a notice was refused", "queue", fmt.Sprintf("%.64s", queue), "err", why, "others", left)
	}
}

// Receive verifies a notice for an account of a queue, or for the queue's own, and applies each of
// its items. When it returns nil, all is committed. about says which aliases it may be about; if
// one of its items is about another, nothing is applied.
func (n *notices) Receive(ctx context.Context, queue, account string, about func(alias string) bool, raw *order.RawNotice) ([]*order.Told, error) {
	if to := (*n.receivers.Load())[queue]; to != nil && to.accounts == nil {
		account = "" // it is for the channel alone
	}
	to, err := n.receiver(ctx, queue, account)
	if err != nil {
		return nil, err
	}
	return n.receive(ctx, to, about, raw)
}

// errOtherOrder refuses a notice that was handed in for one order and is about another.
var errOtherOrder = &order.RefusedNotice{Why: errors.New("the notice is about another order")}

func (n *notices) receive(ctx context.Context, to *receiver, about func(alias string) bool, raw *order.RawNotice) (told []*order.Told, err error) {
	items, hint, err := to.reader.ReadNotice(raw)
	if err != nil {
		if about != nil && !about(order.Alias(to.account, order.OfPayment, hint)) {
			hint = "" // the caller has no right to cause a query of that order
		}
		n.refuse(ctx, to, hint, raw.At, err)
		return nil, &order.RefusedNotice{Why: err}
	}
	var all []*order.Told
	for i := range items {
		t := order.NewTold(&items[i], to.account, raw.At)
		t.Queue = to.queue
		if about != nil && !about(t.Alias()) {
			return nil, errOtherOrder
		}
		all = append(all, t)
	}
	for i, t := range all {
		wrong := n.apply(ctx, to, t)
		if _, is := errors.AsType[*order.RefusedNotice](wrong); (len(all) > 1 || items[i].Other) && is {
			wrong = nil // the other items count, or a repeat would say the same
		}
		if wrong != nil {
			err = errors.Join(err, wrong)
			continue
		}
		n.server.metrics.Noticed(to.queue, string(t.Result))
		told = append(told, t)
	}
	return told, err
}

// refuse handles a notice that is not the channel's, or cannot be read. If it names an order, that
// order is queried, once.
func (n *notices) refuse(ctx context.Context, to *receiver, hint string, came time.Time, why error) {
	n.server.metrics.Noticed(to.queue, string(order.NoticeRefused))
	reason := cause.Line(why.Error()) // the error may quote a stranger's text
	n.refused.Note(to.queue, "", reason, time.Now())
	left, ok := to.limits.hints.Enter(cmp.Or(hint, reason))
	if !ok {
		return
	}
	n.server.log.Warn("a notice was refused", "queue", to.queue, "channel_order_no", fmt.Sprintf("%.64s", hint), "err", reason, "others", left)
	t := &order.Told{Result: order.NoticeRefused, Why: reason, Account: to.account, OrderNo: hint, Came: came.UTC().Truncate(time.Millisecond)}
	if hint != "" {
		t.Of = order.OfPayment
		if found, err := n.tell(ctx, t); found || err != nil {
			if err != nil && !errors.Is(err, bellman.ErrConflict) {
				n.server.log.Error("the order of a refused notice cannot be queried", "queue", to.queue, "err", err)
			}
			return
		}
	}
	n.keep(ctx, to, t)
}

// keep adds the record of a notice that is about no order here, so that an operator sees why it did
// nothing.
func (n *notices) keep(ctx context.Context, to *receiver, t *order.Told) {
	if _, ok := to.limits.records.Enter(t.OrderNo + "\x00" + t.Why); !ok {
		return
	}
	of := bellman.Task{Queue: to.queue}
	if len(t.OrderNo) <= bellman.MaxName && !strings.ContainsFunc(t.OrderNo, func(r rune) bool { return r <= ' ' || r > '~' }) {
		of.OrderNo = t.OrderNo // perhaps nobody signed it, so it is checked above
	}
	record := t.Record(&of)
	if err := n.server.engine.Add(ctx, &record)[0].Err; err != nil {
		n.server.log.Error("a notice has no record", "queue", to.queue, "err", err)
	}
}

// apply applies a verified notice to its task, or holds it until that exists.
func (n *notices) apply(ctx context.Context, to *receiver, t *order.Told) error {
	found, err := n.tell(ctx, t)
	switch {
	case t.Result == order.NoticeRefused && (!found && err == nil || errors.Is(err, bellman.ErrConflict)):
		// The channel signed it, but it cannot be used. Once its order was queried, a repeat would
		// change nothing.
		n.refused.Note(to.queue, "", t.Why, time.Now())
		n.server.log.Warn("a signed notice cannot be used", "queue", to.queue, "channel_order_no", fmt.Sprintf("%.64s", t.OrderNo), "why", t.Why)
		if !found {
			n.keep(ctx, to, t)
		}
		if t.OrderNo == "" { // perhaps the queue's setting notice reads the wrong field, so the channel should repeat it
			return &order.RefusedNotice{Why: errors.New(t.Why)}
		}
		return nil
	case found, err != nil:
		return err
	case n.forgotten(t):
		t.Result, t.Why = order.NoticeDuplicate, "its payment is older than retention.succeeded: there is no order of it any more"
		n.keep(ctx, to, t)
		return nil
	}
	held := t.Held(to.queue)
	if err := n.assign(ctx, &held, t); err != nil {
		return err
	}
	err = n.server.engine.Add(ctx, &held)[0].Err
	if errors.Is(err, bellman.ErrKeyTaken) {
		err = nil // it came before, at another time
	}
	t.Result = order.NoticeHeld
	return err
}

// repeated is longer than any channel repeats the notice of a payment that was not accepted: Alipay
// does for 25 hours.
const repeated = 72 * time.Hour

// forgotten reports whether a notice is about a payment so long ago that its order may have been
// deleted. Alipay tells of each payment again when it cannot be refunded any more (TRADE_FINISHED),
// after months.
func (n *notices) forgotten(t *order.Told) bool {
	text, _ := t.Taken["paid_at"].(string)
	at, err := time.Parse(time.RFC3339, text)
	return err == nil && t.Came.Sub(at) > max(n.kept, repeated)
}

// assign gives the task of a held notice of a refund or transfer the numbers and the queue of its
// order: there the order's page and reconciliations look for it. An order that does not exist is no
// error.
func (n *notices) assign(ctx context.Context, held *bellman.Task, t *order.Told) error {
	if t.Of == order.OfPayment || t.OrderNo == "" {
		return nil
	}
	of, err := n.server.keyed(ctx, "", order.Alias(t.Account, order.OfPayment, t.OrderNo))
	switch {
	case errors.Is(err, bellman.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	held.MerchantNo, held.OrderNo = of.MerchantNo, of.OrderNo
	if (*n.receivers.Load())[of.Queue] != nil { // otherwise the queue was removed
		held.Queue = of.Queue
	}
	return nil
}

// tell applies a notice to the task that asks the channel about the same. found is false if there
// is none.
func (n *notices) tell(ctx context.Context, t *order.Told) (found bool, err error) {
	id, err := store.Lookup(ctx, n.server.store, "", t.Alias())
	if errors.Is(err, bellman.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = n.server.engine.Told(ctx, id, bellman.Completion{Outcome: t.Reading, Detail: t})
	return true, err
}

// listen opens the listener of notices, if the configuration has one.
func (n *notices) listen(c *config.Config) error {
	if c.Notices.Listen == "" {
		return nil
	}
	l, err := net.Listen("tcp", c.Notices.Listen)
	if err != nil {
		return fmt.Errorf("notices: listen: %w", err)
	}
	n.listener = bound(l, c)
	mux := http.NewServeMux()
	mux.Handle("POST /notices/{queue}", n)
	mux.Handle("POST /notices/{queue}/{account}", n)
	n.http = n.server.serving(mux)
	n.http.MaxHeaderBytes = maxHeading
	return nil
}

// serve answers until shutdown.
func (n *notices) serve() error {
	if n.http == nil {
		return nil
	}
	n.server.log.Info("takes notices", "listen", n.listener.Addr().String())
	if err := n.http.Serve(n.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("notices: serve: %w", err)
	}
	return nil
}

func (n *notices) shutdown(ctx context.Context) {
	if n.http != nil && n.http.Shutdown(ctx) != nil {
		n.http.Close()
	}
}

func (n *notices) close() {
	if n.http != nil {
		n.http.Close()
		n.listener.Close() // after serve it is closed already
	}
}

// NoticesAddr returns where notices are received, as HOST:PORT; empty: nowhere.
func (s *Server) NoticesAddr() string {
	if s.notices.listener == nil {
		return ""
	}
	return s.notices.listener.Addr().String()
}
