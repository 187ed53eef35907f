package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/alipay"
	"github.com/bellmanhq/bellman/order/gateway"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/order/wechatpay"
	"github.com/bellmanhq/bellman/rule"
	"github.com/bellmanhq/bellman/store"
)

// orderHandler makes the handler of an order queue. notify are the handlers of the queues that may
// report how an order ended.
func (s *Server) orderHandler(q *config.Queue, c *config.Config, notify map[string]bellman.Handler) (*order.Handler, error) {
	o := &q.Order
	var channel order.Channel // nil: the accounts have them
	if o.Channel.Account == "" {
		var err error
		if channel, err = s.channel(q); err != nil {
			return nil, ofChannel(o.Channel.Kind, err)
		}
	}
	then, err := s.thenOf(o, c, notify)
	if err != nil {
		return nil, err
	}
	return order.New(channel, order.Rules{
		Schedules:      &s.schedules,
		Expires:        o.Expires,
		Grace:          o.Grace,
		MinCloseAge:    o.MinCloseAge,
		MinReverseAge:  orNever(o.MinReverseAge),
		OnExhausted:    order.OnExhausted(o.OnExhausted),
		Confirm:        o.Confirm,
		LateWatch:      orNever(o.LateWatch),
		GiveUp:         o.GiveUp,
		ChannelExpires: o.ChannelExpiry,
		CodeLife:       orNever(o.CodeLife),
		Endpoint:       o.Channel.Endpoint(),
		Identity:       o.Channel.Identity(),
		Accounts:       s.orderAccounts(q),
		Default:        o.Channel.Account,
		Rate:           s.ratesOf(q),
		Then:           then,
		Tell:           s.tellHeld,
		Life:           s.orderLife,
		Alert:          s.alert,
		Now:            func() time.Time { return s.engine.Now() }, // the engine is set before the first order
		Log:            s.log,
	})
}

// tellHeld applies a notice that was held to its task.
func (s *Server) tellHeld(ctx context.Context, queue string, t *order.Told) (found bool, err error) {
	applied := *t
	applied.Result, applied.Queue = order.NoticeApplied, queue
	return s.notices.tell(ctx, &applied)
}

// lifeWithin is less than a channel waits for the answer to its notice.
const lifeWithin = 3 * time.Second

// orderLife returns the progress of an order's task.
func (s *Server) orderLife(ctx context.Context, queue, key string) (order.Life, error) {
	ctx, cancel := context.WithTimeout(ctx, lifeWithin)
	defer cancel()
	t, err := s.keyed(ctx, queue, key)
	if err != nil {
		return order.Life{}, err
	}
	return order.ParseLife(t.Data)
}

// keyed returns the task of a queue that has a key. If queue is empty, key is an alias.
func (s *Server) keyed(ctx context.Context, queue, key string) (*bellman.Task, error) {
	id, err := store.Lookup(ctx, s.store, queue, key)
	if err != nil {
		return nil, err
	}
	return s.store.Task(ctx, id)
}

// orNever converts a duration of the configuration, where 0s means never, to one of a struct whose
// zero means the default.
func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// alert reports an order that needs manual action: in the log, as a metric, and by the tasks of
// alarms.
func (s *Server) alert(t *bellman.Task, a order.Alert) []bellman.Task {
	s.log.Error("an order needs manual action", "task", t.ID, "queue", t.Queue,
		"merchant_no", t.MerchantNo, "order_no", t.OrderNo, "order_state", a.State, "err", a.Why)
	s.metrics.Alerted(t.Queue, a.State)
	when := map[order.AlertKind]string{order.AlertMismatch: alarm.AmountMismatch, order.AlertLate: alarm.LatePayment, order.AlertUnclaimed: alarm.PaymentWithoutOrder}[a.Kind]
	return s.alarms.Needed(cmp.Or(when, alarm.OrderNeedsAction), a.Once, t, alarm.Case{State: a.State, Why: a.Why}, s.engine.Now())
}

// channel makes the channel of an order queue.
func (s *Server) channel(q *config.Queue) (order.Channel, error) {
	o := &q.Order
	switch o.Channel.Kind {
	case programChannel:
		return s.channels[q.Name], nil
	case "wechatpay":
		if o.OnExhausted == "reverse" {
			return wechatpay.NewInStore(o.Channel.AppID, s.wechat(q))
		}
		return wechatpay.New(s.wechat(q))
	case "alipay":
		return alipay.New(s.alipay(q))
	}
	if o.Channel.Provider.Provider != "" {
		return gateway.NewProvider(s.provider(q))
	}
	query, err := readings(o.States, states.CompileQuery, states.CompileQueryRules)
	if err != nil {
		return nil, fmt.Errorf("states: %w", err)
	}
	closing, err := readings(o.CloseStates, states.CompileClose, states.CompileCloseRules)
	if err != nil {
		return nil, fmt.Errorf("close_states: %w", err)
	}
	about, err := aboutOf(o.About)
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Options{
		Query: o.Query, Close: o.Close, Reverse: o.Reverse,
		States: query, CloseStates: closing, About: about, Sign: q.Sign, Transport: s.transport(q),
	})
}

// ofChannel returns an error about the options of a channel as one about the fields of its queue.
// kind is empty for a gateway, whose options are fields of the queue.
func ofChannel(kind string, err error) error {
	wrong := new(bellman.Invalid)
	if kind == "" || !errors.As(err, &wrong) {
		return err
	}
	of := &bellman.Invalid{Fields: slices.Clone(wrong.Fields)}
	for i := range of.Fields {
		of.Fields[i].Field = "channel." + of.Fields[i].Field
	}
	return of
}

// transport returns the way to the channel of a queue. A provider's default address is on the
// internet, and is reached through the proxy if there is one. So is the address of a registered
// account. A configured address is trusted.
func (s *Server) transport(q *config.Queue) http.RoundTripper {
	transport := s.client.Guarded()
	if c := &q.Order.Channel; c.Account == "" && (c.URL != "" || c.Kind == "") {
		transport = s.client.Trusted()
	}
	if q.PropagateTrace {
		transport = propagating{transport}
	}
	return transport
}

func (s *Server) wechat(q *config.Queue) wechatpay.Options {
	c := &q.Order.Channel
	o := wechatpay.Options{
		MchID: c.MchID, SubMchID: c.SubMchID, AppID: c.AppID, SerialNo: c.Serial, Certificate: c.Certificate, PrivateKey: c.PrivateKey,
		PlatformKeys: c.PlatformKeys, APIv3Keys: c.APIv3Keys, BaseURL: c.URL, Transport: s.transport(q), Log: s.log.With("queue", q.Name),
	}
	if c.FetchKeys {
		o.Platform = &s.platform
	}
	return o
}

func (s *Server) alipay(q *config.Queue) alipay.Options {
	c := &q.Order.Channel
	return alipay.Options{
		AppID: c.AppID, PrivateKey: c.PrivateKey, AlipayPublicKeys: c.AlipayKeys,
		AppCertificate: c.AppCertificate, RootCertificates: c.RootCertificates,
		AppAuthToken: c.AuthToken, SellerID: c.SellerID, Downloads: s.client.Guarded(), GatewayURL: c.URL, Transport: s.transport(q),
	}
}

// provider returns the options of a queue whose channel is one of gateway.Providers.
func (s *Server) provider(q *config.Queue) gateway.ProviderOptions {
	o := q.Order.Channel.Provider
	o.BaseURL, o.Transport = q.Order.Channel.URL, s.transport(q)
	o.NoticePath = cmp.Or(o.NoticePath, "/notices/"+url.PathEscape(q.Name))
	return o
}

// aboutOf returns the expression for the number that an answer is about; nil: there is none.
func aboutOf(text string) (*rule.Value, error) {
	if text == "" {
		return nil, nil
	}
	about, err := rule.CompileValue(text)
	if err != nil {
		return nil, fmt.Errorf("about: %w", err)
	}
	return about, nil
}

func readings[R any](r config.Readings, preset func(string) (R, error), rules func(map[string]string) (R, error)) (R, error) {
	if r.Preset != "" {
		return preset(r.Preset)
	}
	return rules(r.Rules)
}
