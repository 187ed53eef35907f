package api

import (
	"context"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/store"
)

// What is secret in a task is masked for every role. Role admin may ask for it, which is recorded.
func TestTaskIsMasked(t *testing.T) {
	var records []store.Audit
	m := make1(t, Options{Keys: testKeys, Record: func(_ context.Context, a store.Audit) error {
		records = append(records, a)
		return nil
	}})
	own := &bellman.Task{Queue: "q", Key: "k/1", MerchantNo: "M1", OrderNo: "1", URL: "http://m/n?order=1&token=url-secret",
		Header: map[string]string{"Content-Type": "application/json", "X-Acme-Sig": "header-secret"}, Body: []byte(`{"order":"O-1","password":"body-secret"}`)}
	own.SetCreatedBy("order-service")
	added := m.fake.Add(t.Context(), own)
	id := added[0].ID.String()
	secrets := []string{"url-secret", "header-secret", "body-secret"}
	for _, path := range []string{"/v1/tasks/" + id, "/v1/queues/q/keys/k/1", "/v1/tasks", "/v1/orders/M1/1"} {
		for _, role := range []string{"s", "r", "o", "a"} {
			if path == "/v1/tasks" && role == "s" {
				continue
			}
			w := m.do("GET", path, "", "Authorization: Bearer "+role+"-key")
			text := w.Body.String()
			if w.Code != 200 || !strings.Contains(text, "http://m/n?order=1") {
				t.Errorf("%s, role %s: %d %s; want the address", path, role, w.Code, text)
			}
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%s, role %s: %s is in %s", path, role, secret, text)
				}
			}
			if strings.Contains(path, "/"+id) && (!strings.Contains(text, "O-1") || !strings.Contains(text, `"Content-Type":"application/json"`)) {
				t.Errorf("%s, role %s: what is no secret is not in %s", path, role, text)
			}
		}
	}
	for _, path := range []string{"/v1/tasks/" + id, "/v1/queues/q/keys/k/1"} {
		for _, role := range []string{"s", "r", "o"} {
			if w := m.do("GET", path+"?reveal=true", "", "Authorization: Bearer "+role+"-key"); w.Code != 403 {
				t.Errorf("%s: role %s reveals: %d; want 403", path, role, w.Code)
			}
		}
		records = nil
		w := m.do("GET", path+"?reveal=true", "", "Authorization: Bearer a-key")
		for _, secret := range secrets {
			if !strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s revealed: %d %s; want %s", path, w.Code, w.Body, secret)
			}
		}
		if len(records) != 1 || records[0].Action != "reveal" || records[0].Who != "root" || records[0].Target != id {
			t.Errorf("%s: records %+v; want one of the reveal", path, records)
		}
	}
}

// The address at which the merchant of an order is told is masked as a task's own is.
func TestAddressOfAnOrderIsMasked(t *testing.T) {
	o := withOrders()
	o.Keys = testKeys
	m := make1(t, o)
	w := m.do("POST", "/v1/tasks", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"https://m.example/n?order=1&token=url-secret","json":{"password":"json-secret"}}}`,
		"Authorization: Bearer s-key")
	if w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	id := w.Header().Get("Location")
	for _, path := range []string{id, "/v1/queues/orders/keys/M1/1", "/v1/orders/M1/1", "/v1/tasks?order_no=1"} {
		text := w.Body.String() + m.do("GET", path, "", "Authorization: Bearer a-key").Body.String()
		if strings.Contains(text, "url-secret") || strings.Contains(text, "json-secret") || path == id && !strings.Contains(text, "https://m.example/n?order=1") {
			t.Errorf("%s shows %s; want the address without its token", path, text)
		}
	}
	if text := m.do("GET", id+"?reveal=true", "", "Authorization: Bearer a-key").Body.String(); !strings.Contains(text, "url-secret") || !strings.Contains(text, "json-secret") {
		t.Errorf("revealed it shows %s", text)
	}
}

// A registeredAccount is a desk with one account.
type registeredAccount struct {
	account.Desk
	client.Account
}

func (d registeredAccount) Get(context.Context, string) (client.Account, error) {
	return d.Account, nil
}

func (d registeredAccount) List(context.Context, client.AccountSearch, string) ([]client.Account, string, error) {
	return []client.Account{d.Account}, "", nil
}

// So is that of an account.
func TestAddressOfAnAccountIsMasked(t *testing.T) {
	desk := registeredAccount{Account: client.Account{Account: "shop1", URL: "https://gateway.example/v3?key=url-secret"}}
	m := make1(t, Options{Keys: testKeys, Accounts: desk})
	for _, path := range []string{"/v1/accounts/shop1", "/v1/accounts"} {
		for role, want := range map[string]string{"r": "***", "o": "***", "a": "url-secret"} {
			if text := m.do("GET", path, "", "Authorization: Bearer "+role+"-key").Body.String(); !strings.Contains(text, `"https://gateway.example/v3?key=`+want+`"`) {
				t.Errorf("%s, role %s: %s; want the key as %s", path, role, text, want)
			}
		}
	}
}

// The address of a merchant is masked for those who cannot put it.
func TestAddressOfAMerchantIsMasked(t *testing.T) {
	m := make1(t, Options{Keys: testKeys, Merchants: &scopedDesk{numbers: []string{"M1"}, address: "https://m.example/n?token=url-secret"}})
	for _, path := range []string{"/v1/merchants/M1", "/v1/merchants"} {
		for role, want := range map[string]string{"r": "***", "o": "***", "a": "url-secret"} {
			if text := m.do("GET", path, "", "Authorization: Bearer "+role+"-key").Body.String(); !strings.Contains(text, `"https://m.example/n?token=`+want+`"`) {
				t.Errorf("%s, role %s: %s; want the token as %s", path, role, text, want)
			}
		}
	}
}
