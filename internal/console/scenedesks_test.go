package console

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/internal/sharelink"
)

// sceneMerchants are the registered merchants of the scene.
type sceneMerchants struct{ merchant.Desk }

func (sceneMerchants) all() []client.Merchant {
	at := func(d time.Duration) client.Time { return client.Time{Time: ago(d)} }
	overdue := at(22 * time.Minute)
	none, most, some := 0.37, 0.996, 0.94
	return []client.Merchant{
		{MerchantNo: "M100237", Name: "茶馆 Tea House", NotifyURL: "https://pay.teahouse.example/bellman/notify", Schedule: "0s, 15s*2, 30s, 3m", Success: "success_text", Timeout: "5s",
			PerEndpoint: client.MerchantLimits{Concurrency: 16, Rate: "50/s"}, Created: at(2200 * time.Hour), Updated: at(90 * time.Hour), Version: "3",
			Sign: &client.ShownMerchantSign{Scheme: "hmac_sha256_params", Secrets: []string{"***4711"}, Keys: []client.MerchantKey{{LastFour: "4711", MasterID: "9f0c2a7e", Added: at(90 * time.Hour)}}},
			Hour: &client.Hour{Attempts: 7514, SuccessRate: &most}, Backlog: &client.Backlog{Pending: 3}},
		{MerchantNo: "M100412", Name: "Books & More", NotifyURL: "https://api.books.example/bellman/notify", Created: at(900 * time.Hour), Updated: at(900 * time.Hour), Version: "1", Failing: true,
			Hour:    &client.Hour{Attempts: 511, SuccessRate: &none, FailingSince: &overdue, LastFailure: &client.AttentionFailure{Started: at(9 * time.Second), Result: "unreachable", Error: "dial tcp 203.0.113.24:443: connect: connection refused"}},
			Backlog: &client.Backlog{Pending: 100, More: true, Oldest: &overdue}},
		{MerchantNo: "M100655", Name: "Market 集市", NotifyURL: "https://notify.market.example/bellman/notify", Created: at(700 * time.Hour), Updated: at(31 * time.Hour), Version: "2",
			Hour: &client.Hour{Attempts: 1841, SuccessRate: &some}, Backlog: &client.Backlog{Pending: 20}},
		{MerchantNo: "M100871", Name: "Bicycle Shop", NotifyURL: "https://shop.bicycle.example/bellman/notify", Created: at(300 * time.Hour), Updated: at(300 * time.Hour), Version: "1",
			Paused: &client.Pause{At: at(3 * time.Hour), Who: "zhang.min", Reason: "the shop moves to a new host tonight"}, Backlog: &client.Backlog{Pending: 8}},
	}
}

func (m sceneMerchants) List(context.Context, client.MerchantSearch, string) ([]client.Merchant, string, error) {
	return m.all(), "", nil
}

func (m sceneMerchants) Named(context.Context, string, int) ([]client.Merchant, error) {
	return m.all(), nil
}

func (m sceneMerchants) Get(_ context.Context, no string) (client.Merchant, error) {
	for _, one := range m.all() {
		if one.MerchantNo == no {
			return one, nil
		}
	}
	return client.Merchant{}, bellman.ErrNotFound
}

func (sceneMerchants) Stats(_ context.Context, no string) (client.MerchantStats, error) {
	rate, since := 0.981, client.Time{Time: ago(26 * time.Hour)}
	return client.MerchantStats{MerchantNo: no, Tasks: 1000, More: true, Since: &since, Pending: 3, Succeeded: 988, Failed: 8, Cancelled: 1, Retrying: 2, SuccessRate: &rate, RecentRate: &rate, Results: map[string]int{"accepted": 988, "refused": 5, "timeout": 7}}, nil
}

// sceneAccounts are the accounts of the scene.
type sceneAccounts struct{ account.Desk }

func (sceneAccounts) all() []client.Account {
	at := func(d time.Duration) client.Time { return client.Time{Time: ago(d)} }
	soon := client.Time{Time: SceneNow.Add(19 * 24 * time.Hour)}
	return []client.Account{
		{Account: "shop1", Name: "Tea House 微信", Channel: "wechatpay", MchID: "1900000109", Serial: "5157F09EFDC096DE", Rate: "300/s", Identity: "wechatpay:1900000109", Endpoint: "https://api.mch.weixin.qq.com:443", Created: at(2000 * time.Hour), Updated: at(40 * time.Hour), Version: "4",
			Keys: []client.AccountKey{{Field: "private_key", MasterID: "9f0c2a7e", Added: at(2000 * time.Hour)}, {Field: "api_v3_key", LastFour: "WXYZ", MasterID: "9f0c2a7e", Added: at(40 * time.Hour)}, {Field: "platform_keys.PUB_KEY_ID_0119", MasterID: "9f0c2a7e", Added: at(2000 * time.Hour), Until: &soon}}},
		{Account: "shop2", Name: "Market 支付宝", Channel: "alipay", AppID: "2021004100000000", Identity: "alipay:2021004100000000", Endpoint: "https://openapi.alipay.com:443", Created: at(400 * time.Hour), Updated: at(400 * time.Hour), Version: "1", Keys: []client.AccountKey{{Field: "private_key", MasterID: "9f0c2a7e", Added: at(400 * time.Hour)}}},
	}
}

func (a sceneAccounts) List(context.Context, client.AccountSearch, string) ([]client.Account, string, error) {
	return a.all(), "", nil
}

func (a sceneAccounts) Get(_ context.Context, name string) (client.Account, error) {
	for _, one := range a.all() {
		if one.Account == name {
			return one, nil
		}
	}
	return client.Account{}, bellman.ErrNotFound
}

// sceneLinks are the links of the scene.
type sceneLinks struct{ Links }

func (sceneLinks) List(context.Context, string, int) ([]sharelink.Link, error) {
	link := func(name, merchant, order string, made, life time.Duration, reason string) sharelink.Link {
		return sharelink.Link{ID: sceneID(name, ago(made)), MerchantNo: merchant, OrderNo: order, Made: ago(made), Expires: ago(made - life), Who: "li.wei", Reason: reason, Token: "AbTcJ3vVdFkq9hLw2xYpQ0sRnM5tGzKe"}
	}
	all := []sharelink.Link{
		link("link", "M100237", "", 11*time.Minute, 24*time.Hour, "asks whether we sent it"), link("spent", "M100412", "20261120172600312576", 9*time.Hour, 6*time.Hour, "asks for the answers of its server"),
		link("revoked", "M100655", "", 40*time.Hour, 72*time.Hour, "sent to the wrong merchant"),
	}
	all[2].Revoked = ago(39 * time.Hour)
	return all, nil
}

func (l sceneLinks) Get(ctx context.Context, id bellman.ID) (sharelink.Link, error) {
	all, _ := l.List(ctx, "", 0)
	for _, one := range all {
		if one.ID == id {
			return one, nil
		}
	}
	return sharelink.Link{}, bellman.ErrNotFound
}

func (l sceneLinks) Open(ctx context.Context, token string) (sharelink.Link, error) {
	all, _ := l.List(ctx, "", 0)
	if token != all[0].Token {
		return sharelink.Link{}, bellman.ErrNotFound
	}
	return all[0], nil
}

// sceneResends are the bulk resends of the scene.
type sceneResends struct{ resend.Desk }

func (sceneResends) List(context.Context, int) ([]resend.Job, error) {
	running := resend.Job{ID: sceneID("running", ago(3*time.Minute)), Mode: "once", Rate: 10, Who: "li.wei", Reason: "the merchant lost them", State: resend.Running, Created: ago(3 * time.Minute), Updated: ago(time.Second), Total: 2400, Examined: 1790, Resent: 1786, Skipped: 4}
	running.Filter.MerchantNo = "M100655"
	done := resend.Job{ID: sceneID("done", ago(28*time.Hour)), Mode: "restart", Rate: 50, Who: "zhang.min", Reason: "a new certificate, wrong until noon", State: resend.Done, Created: ago(28 * time.Hour), Updated: ago(27 * time.Hour), Finished: ago(27 * time.Hour), Total: 812, Examined: 812, Resent: 809, Skipped: 1, Failed: 2, LastError: "the task was changed at the same time"}
	done.Filter.MerchantNo = "M100412"
	return []resend.Job{running, done}, nil
}

func (r sceneResends) Get(ctx context.Context, id bellman.ID) (resend.Job, error) {
	all, _ := r.List(ctx, 0)
	for _, one := range all {
		if one.ID == id {
			return one, nil
		}
	}
	return resend.Job{}, bellman.ErrNotFound
}

func (sceneResends) Count(context.Context, resend.Pick, int, time.Duration) (resend.Count, error) {
	return resend.Count{Tasks: 2400, Merchants: 1, Top: []resend.MerchantCount{{MerchantNo: "M100655", Tasks: 2400}}, Oldest: ago(26 * time.Hour), Newest: ago(9 * time.Minute)}, nil
}

// sceneBills are the reconciliations of the scene.
type sceneBills struct{ reconcile.Desk }

func (sceneBills) List(context.Context, int) ([]reconcile.Run, error) {
	run := func(id, queue, date string, done time.Duration, n int, differs map[bill.DifferenceKind]int) reconcile.Run {
		out := reconcile.Run{ID: id, Queue: queue, Date: date, Source: "channel", Bill: "trade", Daily: true, State: reconcile.Done, Created: ago(done + 3*time.Minute), Finished: ago(done), Bills: 1,
			Counts: bill.Counts{Payments: n, Refunds: n / 90, Decided: n + n/90, Matched: n + n/90, Differences: differs}}
		for _, each := range differs {
			out.Kept, out.Counts.Matched = out.Kept+each, out.Counts.Matched-each
		}
		return out
	}
	return []reconcile.Run{
		run("2026-11-19-5b1d09c2e4f7a683", "wechat-orders", "2026-11-19", 9*time.Hour, 30_412, map[bill.DifferenceKind]int{bill.AmountDiffers: 1, bill.MissingThere: 2}),
		run("2026-11-19-a04e7712bb90d5c1", "alipay-orders", "2026-11-19", 9*time.Hour, 13_207, nil), run("2026-11-18-77c3e8d1f0a24b96", "wechat-orders", "2026-11-18", 33*time.Hour, 29_880, nil),
	}, nil
}

func (b sceneBills) Get(ctx context.Context, id string) (reconcile.Run, error) {
	all, _ := b.List(ctx, 0)
	for _, one := range all {
		if one.ID == id {
			return one, nil
		}
	}
	return reconcile.Run{}, bellman.ErrNotFound
}

func (sceneBills) Differences(_ context.Context, id string, _ bill.DifferenceKind, after, _ int) ([]reconcile.Item, int, error) {
	if after > 0 || id != "2026-11-19-5b1d09c2e4f7a683" {
		return nil, 0, nil
	}
	here := func(no string, amount int64) *bill.Decided {
		return &bill.Decided{MerchantNo: "M100237", OrderNo: no, TaskID: sceneID(no, ago(20*time.Hour)).String(), State: "PAID", Amount: amount, Currency: "CNY", PaidAt: ago(20 * time.Hour), TransactionID: "42000024172026111" + no[12:]}
	}
	item := func(n int, kind bill.DifferenceKind, no string, amount int64) reconcile.Item {
		return reconcile.Item{Number: n, Difference: bill.Difference{Kind: kind, ChannelOrderNo: "T" + no, Account: "shop1", Here: here(no, amount)}}
	}
	all := []reconcile.Item{item(1, bill.AmountDiffers, "20261119143111007", 8800), item(2, bill.MissingThere, "20261119201955031", 3500), item(3, bill.MissingThere, "20261119235947090", 12_900)}
	all[0].There = &bill.Line{TransactionID: all[0].Here.TransactionID, Amount: 880, Currency: "CNY", State: "SUCCESS", Time: ago(20 * time.Hour), Number: 18_204}
	all[2].Asked = &reconcile.Asked{At: ago(8 * time.Hour), State: "PAID", Reading: "PAID"}
	return all, 0, nil
}
