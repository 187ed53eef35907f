package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/server"
)

// A seller is an account at a loopback WeChat Pay, with keys of its own. It refuses what others
// sign.
type seller struct {
	*provider
	mch, sub string
	app      string // of its notices; empty: they name none
	v3       string // APIv3 key
	url      string
	bill     *tradeBill // nil: it has none
}

func newSeller(t *testing.T, mch, sub string) *seller {
	s := &seller{provider: newProvider(t), mch: mch, sub: sub, v3: strings.Repeat(mch, 4)[:32]}
	at := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(at.Close)
	s.url = at.URL
	return s
}

func (s *seller) serve(w http.ResponseWriter, r *http.Request) {
	s.wechatAsked(r, s.mch)
	if strings.HasPrefix(r.URL.Path, "/v3/bill") {
		s.serveBill(w, r)
		return
	}
	if s.refuses() {
		w.Header().Set("Retry-After", "600")
		s.wechatSays(w, http.StatusTooManyRequests, `{"code":"FREQUENCY_LIMITED","message":"频率超限"}`)
		return
	}
	if r.URL.Path == "/v3/certificates" {
		s.act("certificates", "download")
		s.mu.Lock()
		listed := s.listed
		s.mu.Unlock()
		s.wechatSays(w, http.StatusOK, listed)
		return
	}
	if no, is := strings.CutPrefix(r.URL.Path, "/v3/refund/domestic/refunds/"); is {
		s.act(no, "refund")
		s.wechatSays(w, http.StatusOK, fmt.Sprintf(`{"out_refund_no":%q,"out_trade_no":"1","status":"PROCESSING"}`, no))
		return
	}
	no := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	state := "NOTPAY"
	if paid, _ := s.act(no, "query"); paid {
		state = "SUCCESS"
	}
	s.wechatSays(w, http.StatusOK, s.trade(no, state))
}

// trade is what the shop says of an order.
func (s *seller) trade(no, state string) string {
	ids := fmt.Sprintf(`"mchid":%q`, s.mch)
	if s.sub != "" {
		ids = fmt.Sprintf(`"sp_mchid":%q,"sub_mchid":%q`, s.mch, s.sub)
	}
	if s.app != "" {
		ids += fmt.Sprintf(`,"appid":%q`, s.app)
	}
	return fmt.Sprintf(`{%s,"out_trade_no":%q,"trade_state":%q,"transaction_id":"4200001","amount":{"total":1299,"currency":"CNY"}}`, ids, no, state)
}

// put is the account as somebody registers it.
func (s *seller) put() client.PutAccount {
	private, public := s.keys()
	return client.PutAccount{
		Channel: "wechatpay", URL: s.url, MchID: s.mch, SubMchID: s.sub, Serial: "5157F09E",
		AccountKeys: client.AccountKeys{PrivateKey: private, APIv3Key: s.v3, PlatformKeys: map[string]string{"PUB_KEY_ID_01": public}},
	}
}

// was is what the shop was asked about an order.
func (s *seller) was(no string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.asked[no], " ")
}

// tell sends the notice that an order was paid to an address of a server.
func (s *seller) tell(t *testing.T, at *server.Server, path, no string) (status int, answer string) {
	t.Helper()
	body := keytest.WeChatNotice(s.v3, "EV-"+no, "TRANSACTION.SUCCESS", "transaction", s.trade(no, "SUCCESS"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at.NoticesAddr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = s.wechatHeader(body)
	return roundTrip(t, req)
}

// accountQueues are a queue of orders with a default account, and one of refunds.
const accountQueues = `
queues:
  tell: {url: "MERCHANT/notify"}
  orders:
    kind: order
    channel: {account: shop1}
    schedule: SCHEDULE
    on_exhausted: close
    then: tell
  refunds:
    kind: poll
    channel: {kind: wechatpay, account: shop1, of: refund}
    schedule: SCHEDULE
    then: tell
`

// serveAccounts runs a server with these queues, and a master key.
func (d *desk) serveAccounts(t *testing.T, dir, schedule string) (*client.Client, *server.Server, func()) {
	t.Helper()
	return d.serveQueues(t, d.parse(t, strings.ReplaceAll(accountQueues, "SCHEDULE", schedule)), dir)
}

func register(t *testing.T, api *client.Client, name string, in client.PutAccount) *client.Account {
	t.Helper()
	a, _, err := api.PutAccount(t.Context(), name, in)
	if err != nil {
		t.Fatalf("register %s: %v", name, err)
	}
	return a
}

func stateOf(t *testing.T, api *client.Client, ref client.OrderRef) string {
	t.Helper()
	o, err := api.Order(t.Context(), ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	return o.OrderState
}

// The orders of one queue are asked about at two accounts, each with its own keys. The keys are
// sealed at rest and never shown.
func TestOneQueueTwoAccounts(t *testing.T) {
	d, dir := newDesk(t), t.TempDir()
	api, _, stop := d.serveAccounts(t, dir, "50ms*")
	one, two := newSeller(t, "1900000001", ""), newSeller(t, "1900000002", "1900000109")
	a := register(t, api, "shop1", one.put())
	register(t, api, "shop2", two.put())
	if text, _ := json.Marshal(a); bytes.Contains(text, []byte(one.v3)) || bytes.Contains(text, []byte("PRIVATE")) || a.APIv3Key != "***"+one.v3[28:] || a.PrivateKey != "***" || a.Identity != "wechatpay:1900000001" {
		t.Errorf("PUT answers %s; want the keys masked", text)
	}
	orders := map[string]*seller{"": one, "shop2": two}
	for name, at := range orders {
		in := client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "paid00" + name, Account: name}
		create(t, api, in)
		o, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: in.OrderNo})
		if o.OrderState != "PAID" || events(told) != "order.paid" || at.was(in.OrderNo) == "" {
			t.Errorf("order %s is %s, told %s, asked %q; want it PAID at its account", in.OrderNo, o.OrderState, events(told), at.was(in.OrderNo))
		}
		for _, other := range orders {
			if other != at && other.was(in.OrderNo) != "" {
				t.Errorf("order %s was asked about at another account", in.OrderNo)
			}
		}
		detail, err := api.Task(t.Context(), client.ByID(o.Tasks[0].ID))
		if err != nil || o.Tasks[0].Kind == "order" && detail.Request.Account == "" {
			t.Errorf("the task shows the account %q, %v", detail.Request.Account, err)
		}
	}
	_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "300000", Account: "shop9"})
	if p, is := errors.AsType[*client.Problem](err); !is || p.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Location != "body.account" {
		t.Errorf("an order of an account that is not registered: %v; want 422 for body.account", err)
	}
	_, _, err = api.Create(t.Context(), client.CreateTask{Queue: "tell", URL: "https://m.example/", Account: "shop1"})
	if err == nil || !strings.Contains(err.Error(), "422") {
		t.Errorf("a notification with an account: %v; want 422", err)
	}

	// The same merchant under another name is the same account, and has the same numbers.
	register(t, api, "shop2again", two.put())
	_, _, err = api.Create(t.Context(), client.CreateTask{Queue: "orders", MerchantNo: "M2", OrderNo: "paid00shop2", Account: "shop2again"})
	if p, is := errors.AsType[*client.Problem](err); !is || p.Status != 409 {
		t.Errorf("a second order of one number in one account: %v; want 409", err)
	}
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M2", OrderNo: "paid00shop2"}) // of shop1

	exported, err := api.Accounts(t.Context(), client.AccountSearch{Sealed: true})
	if err != nil || len(exported.Accounts) != 3 || !strings.HasPrefix(exported.Accounts[0].PrivateKey, "sealed:v1.") {
		t.Fatalf("an export: %+v, %v; want three accounts with sealed keys", exported, err)
	}
	for _, e := range exported.Accounts {
		if _, isNew, err := api.PutAccount(t.Context(), e.Account, e.Wanted()); err != nil || isNew {
			t.Errorf("an exported account is put back: %t, %v", isNew, err)
		}
		if again, err := api.Account(t.Context(), e.Account); err != nil || again.Version != e.Version {
			t.Errorf("an exported account, put back: version %s, %v; want %s still", again.Version, err, e.Version)
		}
	}
	stop()
	private, _ := pem.Decode([]byte(one.put().PrivateKey))
	for _, secret := range [][]byte{[]byte(one.v3), private.Bytes, []byte(base64.StdEncoding.EncodeToString(private.Bytes)[:60])} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, secret) {
				t.Errorf("%s contains a key", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A notice is read with the keys of the account that its address names, or of the queue's. That of
// another account is refused, although it has the same keys.
func TestNoticesOfAccounts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	api, s, _ := d.serveAccounts(t, t.TempDir(), "1h*")
	one, two := newSeller(t, "1900000001", ""), newSeller(t, "1900000002", "1900000109")
	other := *two // of the same service provider
	other.sub = "1900000110"
	for name, shop := range map[string]*seller{"shop1": one, "shop2": two, "shop3": &other} {
		register(t, api, name, shop.put())
	}
	app := newSeller(t, "1900000003", "")
	ours := app.put()
	ours.AppID = "wx1"
	register(t, api, "shop4", ours)
	theirs := *app
	app.app, theirs.app = "wx1", "wx2"
	for i, tt := range []struct {
		from          *seller
		path, account string
		status        int
		says          string
	}{
		{one, "/notices/orders", "", 204, ""},
		{one, "/notices/orders/shop1", "shop1", 204, ""},
		{two, "/notices/orders/shop2", "shop2", 204, ""},
		{&other, "/notices/orders/shop3", "shop3", 204, ""},
		{two, "/notices/orders", "shop2", 500, "sign"},
		{two, "/notices/orders/shop1", "shop2", 500, "sign"},
		{&other, "/notices/orders/shop2", "shop3", 500, `the notice is for the merchant \"1900000002/1900000110\"`},
		{app, "/notices/orders/shop4", "shop4", 204, ""},
		{&theirs, "/notices/orders/shop4", "shop4", 500, `the notice is for the application \"wx2\"`},
		{one, "/notices/orders/shop9", "", 404, "not registered"},
		{one, "/notices/tell/shop1", "", 404, `no notices are received at "/notices/tell/shop1"`},
	} {
		no := fmt.Sprint("NOTICE", i)
		create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Account: tt.account})
		status, answer := tt.from.tell(t, s, tt.path, no)
		if status != tt.status || !strings.Contains(strings.ReplaceAll(answer, `\\`, `\`), tt.says) {
			t.Errorf("%d: %s says %d %q; want %d %q", i, tt.path, status, answer, tt.status, tt.says)
		}
		want := "PENDING"
		if tt.status == 204 {
			want = "PAID"
		}
		if got := stateOf(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: no}); got != want {
			t.Errorf("%d: the order is %s after %s; want %s", i, got, tt.path, want)
		}
	}
}

// While the keys that decrypt notices overlap, both do; after it the newer alone. The private key
// changes at once.
func TestRotationOfAccountKeys(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	api, s, _ := d.serveAccounts(t, t.TempDir(), "50ms*")
	shop := newSeller(t, "1900000001", "")
	register(t, api, "shop1", shop.put())
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "NOTICE"})
	former, newer := shop.v3, strings.Repeat("n", 32)
	rotate := func(keys client.AccountKeys, overlap string) *client.Account {
		t.Helper()
		in := client.RotateAccount{AccountKeys: keys, Overlap: overlap, Reason: "routine"}
		if keys.PrivateKey != "" {
			in.Serial = shop.put().Serial
		}
		a, err := api.RotateAccount(t.Context(), "shop1", in)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	reads := func(key string, want int) {
		t.Helper()
		shop.v3 = key
		if status, answer := shop.tell(t, s, "/notices/orders", "NOTICE"); status != want {
			t.Errorf("a notice under the key %.4s…: %d %s; want %d", key, status, answer, want)
		}
	}
	a := rotate(client.AccountKeys{APIv3Key: newer}, "1h")
	if a.APIv3Key != "***nnnn" || len(a.Former) != 1 || a.Former[0] != (client.FormerKey{Field: "api_v3_key", Key: "***" + former[28:]}) {
		t.Errorf("after the rotation the keys are %q, formerly %q", a.APIv3Key, a.Former)
	}
	reads(newer, 204)
	reads(former, 204)
	third := strings.Repeat("t", 32)
	if a := rotate(client.AccountKeys{APIv3Key: third}, "0s"); len(a.Former) != 0 {
		t.Errorf("after a rotation without an overlap there are former keys %q", a.Former)
	}
	reads(third, 204)
	reads(former, 500)

	// The provider takes the newer private key alone from now on.
	next := newProvider(t)
	shop.mu.Lock()
	shop.merchant = next.merchant
	shop.mu.Unlock()
	rotate(client.AccountKeys{PrivateKey: shop.put().PrivateKey}, "")
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "paid02"})
	if o, _ := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "paid02"}); o.OrderState != "PAID" {
		t.Errorf("an order after the rotation is %s", o.OrderState)
	}
	_, err := api.RotateAccount(t.Context(), "shop1", client.RotateAccount{AccountKeys: client.AccountKeys{APIv3Key: "short"}})
	if p, is := errors.AsType[*client.Problem](err); !is || p.Status != 422 || len(p.Errors) != 1 || !strings.HasSuffix(p.Errors[0].Location, "api_v3_key") {
		t.Errorf("a key that cannot be used: %v; want 422 for api_v3_key", err)
	}
}

// An order whose account is deleted waits, says why at each attempt, and goes on when the account
// is back.
func TestDeletedAccount(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	api, _, _ := d.serveAccounts(t, t.TempDir(), "20ms*")
	shop := newSeller(t, "1900000001", "")
	register(t, api, "shop1", shop.put())
	task := create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "ORDER1"})
	passes(t, "asked", func() bool { return shop.was("ORDER1") != "" })
	if err := api.DeleteAccount(t.Context(), "shop1", "gone"); err != nil {
		t.Fatal(err)
	}
	passes(t, "an attempt says that the account has gone", func() bool {
		detail, err := api.Task(t.Context(), client.ByID(task.ID))
		return err == nil && detail.State == "pending" && detail.Last != nil && detail.Last.Result == "blocked" && strings.Contains(detail.Last.Error, `"shop1" is not registered`)
	})
	shop.mu.Lock()
	shop.paid["ORDER1"] = true
	shop.mu.Unlock()
	register(t, api, "shop1", shop.put())
	if o, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "ORDER1"}); o.OrderState != "PAID" || events(told) != "order.paid" {
		t.Errorf("the order is %s, told %s; want it PAID when the account is back", o.OrderState, events(told))
	}
}

// All accounts of one service provider, in whatever queues, are one endpoint: one rate, the
// smallest given, and one pace.
func TestAccountsOfOneMerchantAreOneEndpoint(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	api, _, _ := d.serveAccounts(t, t.TempDir(), "1s*")
	one, two := newSeller(t, "1900000002", "1900000109"), newSeller(t, "1900000002", "1900000110")
	for name, in := range map[string]client.PutAccount{"shop1": one.put(), "shop2": two.put()} {
		in.Rate = map[string]string{"shop1": "300/s", "shop2": "2/h"}[name]
		if a := register(t, api, name, in); a.Endpoint != "wechatpay:1900000002" {
			t.Errorf("the endpoint of %s is %q", name, a.Endpoint)
		}
	}
	a, err := api.Account(t.Context(), "shop1")
	if err != nil || a.Shared != "2/h" || a.Rate != "300/s" {
		t.Errorf("shop1 has the rate %q, and shares %q, %v; want 300/s and 2/h", a.Rate, a.Shared, err)
	}
	const endpoint = "wechatpay:1900000002"
	if names, err := api.PauseEndpoint(t.Context(), endpoint, client.Because{Reason: "before the first request"}); err != nil || !slices.Equal(names, []string{endpoint}) {
		t.Errorf("a pause before the first request: %q, %v", names, err)
	}
	if names, err := api.ResumeEndpoint(t.Context(), endpoint, client.Because{}); err != nil || !slices.Equal(names, []string{endpoint}) {
		t.Errorf("the end of that pause: %q, %v", names, err)
	}
	for i := range 4 {
		account := []string{"shop1", "shop2"}[i%2]
		create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: fmt.Sprint("ORDER", i), Account: account})
		create(t, api, client.CreateTask{Queue: "refunds", MerchantNo: "M1", OrderNo: fmt.Sprint("ORDER", i), RefNo: fmt.Sprint("REFUND", i), Account: account})
	}
	asked := func() int { return one.requests() + two.requests() }
	passes(t, "one request", func() bool { return asked() == 1 })
	passes(t, "all others wait for one endpoint", func() bool {
		all, err := api.Endpoints(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all.Endpoints, func(e client.Endpoint) bool { return e.Endpoint == endpoint })
		return i >= 0 && all.Endpoints[i].Waiting >= 7 // a second after its query the first one waits too
	})
	if n := asked(); n != 1 { // the second is half an hour later
		t.Errorf("%d requests to both accounts at 2/h", n)
	}
	if names, err := api.PauseEndpoint(t.Context(), endpoint, client.Because{Reason: "r"}); err != nil || !slices.Equal(names, []string{endpoint}) {
		t.Errorf("a pause of the endpoint: %q, %v", names, err)
	}
	if names, err := api.ResumeEndpoint(t.Context(), endpoint, client.Because{Reason: "r"}); err != nil || !slices.Equal(names, []string{endpoint}) {
		t.Errorf("the end of the pause: %q, %v", names, err)
	}
	in := two.put()
	in.Rate = "1000/s"
	register(t, api, "shop2", in)
	passes(t, "all are asked about at the new rate", func() bool { return one.requests() >= 4 && two.requests() >= 4 })
}

// requests counts what the shop was asked.
func (s *seller) requests() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, asked := range s.asked {
		n += len(asked)
	}
	return n
}
