package server_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// Two nodes on one database share the rate of an account, in several queues, whichever of them
// takes the orders and refunds in. Each queue may have limits of its own.
func TestTwoNodesShareTheRateOfAnAccount(t *testing.T) {
	t.Parallel()
	t.Run("queues without limits", func(t *testing.T) { shareTheRate(t, accountQueues, "orders", "refunds") })
	own, names := "\nqueues:\n  tell: {url: \"MERCHANT/notify\"}\n", []string(nil)
	for i := range 8 { // so many that they would hardly all be placed at one node by chance
		names = append(names, fmt.Sprint("refunds", i))
		own += fmt.Sprintf("  %s: {kind: poll, channel: {account: shop1, kind: wechatpay, of: refund}, schedule: SCHEDULE, then: tell, rate: %d/s, concurrency: %d}\n", names[i], 20+i, 10+i)
	}
	t.Run("queues with limits of their own", func(t *testing.T) { shareTheRate(t, own, names...) })
}

func shareTheRate(t *testing.T, yaml string, names ...string) {
	eachDatabase(t, func(t *testing.T, db database) {
		if db.kind != "postgres" {
			t.Skip("one kind of database is enough: the nodes share nothing but its leases")
		}
		const perSecond, tasks, asked = 4, 60, 24
		d := newDesk(t)
		queues := d.parse(t, strings.ReplaceAll(yaml, "SCHEDULE", "200ms*")) // 75 times the rate
		shared := func(c *config.Config) {
			c.Queues = queues
			c.MasterKeys = []sign.Secret{sign.NewSecret(base64.StdEncoding.EncodeToString(make([]byte, 32)))}
		}
		a, b := serveNode(t, db.URL, "a", shared), serveNode(t, db.URL, "b", shared)
		passes(t, "both nodes have shards", func() bool {
			nodes, err := a.Nodes(t.Context())
			return err == nil && len(nodes.Nodes) == 2 && len(nodes.Nodes[0].Shards) > 0 && len(nodes.Nodes[1].Shards) > 0
		})
		shop := newSeller(t, "1900000002", "1900000109")
		in := shop.put()
		in.Rate = fmt.Sprint(perSecond, "/s")
		register(t, a, "shop1", in)
		for i := range tasks {
			task := client.CreateTask{Queue: names[i%len(names)], MerchantNo: "M1", OrderNo: fmt.Sprint("ORDER", i)}
			if task.Queue != "orders" {
				task.RefNo = fmt.Sprint("REFUND", i)
			}
			create(t, []*client.Client{a, b}[rand.IntN(2)], task)
		}
		began, before := time.Now(), shop.requests()
		passes(t, "asked often", func() bool { return shop.requests() >= before+asked })
		took := time.Since(began).Seconds()
		t.Logf("%d requests in %.1fs", asked, took)
		if rate := asked / took; rate > 1.4*perSecond { // twice as many if each node had the whole rate
			t.Errorf("%d requests in %.1fs, %.0f/s; want %d/s of both nodes", asked, took, rate, perSecond)
		}
	})
}

// serveNode runs a node on a database until the test is over. It may deliver to 127.0.0.1.
func serveNode(t *testing.T, url, node string, with func(*config.Config)) *client.Client {
	t.Helper()
	api, _, _ := serveWith(t, server.Options{}, func(c *config.Config) {
		c.Store, c.Node = url, node
		with(c)
	})
	return api
}
