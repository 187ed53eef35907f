package poll

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/invalidtest"
)

func TestCheck(t *testing.T) {
	h := newHouse(t)
	long := strings.Repeat("9", 200)
	tests := []struct {
		task bellman.Task
		want string // fields
	}{
		{bellman.Task{}, "merchant_no ref_no notify.url"},
		{bellman.Task{MerchantNo: "M1", OrderNo: "O1", URL: "https://x", Repeat: "1m", Body: []byte(`{"notify":{"url":"https://m.example"}}`)}, "url repeat ref_no"},
		{bellman.Task{MerchantNo: "M1", Body: []byte(`{"ref":"1"}`)}, "body"},
		{bellman.Task{MerchantNo: "M1", Body: []byte(`{"ref_no":"1"} x`)}, "body"},
		{bellman.Task{MerchantNo: "M1", Body: []byte(`{"ref_no":"1","notify":{"json":[]}}`)}, "notify.json"},
		{bellman.Task{MerchantNo: long, OrderNo: long, Body: []byte(`{"ref_no":"1","notify":{"url":"https://m.example"}}`)}, "key"},
		{bellman.Task{MerchantNo: "M1", Body: []byte(`{"ref_no":"1","notify":{"url":"https://m.example"}}`)}, ""},
	}
	for _, tt := range tests {
		if got := strings.Join(invalidtest.Fields(h.handler.Check(&tt.task)), " "); got != tt.want {
			t.Errorf("Check(%s) names %q; want %q", tt.task.Body, got, tt.want)
		}
	}
	h.channel.refuses = errors.New("no such number")
	task := tests[len(tests)-1].task
	if err := h.handler.Check(&task); err == nil || !strings.Contains(err.Error(), "ref_no") {
		t.Errorf("Check = %v; want what the channel refuses", err)
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		c    Channel
		r    Rules
		want string
	}{
		{nil, Rules{}, "no channel"},
		{onlyQueries{}, Rules{Request: true}, "cannot request"},
		{onlyQueries{}, Rules{Of: "payment"}, "want refund, transfer or profitsharing"},
	} {
		if _, err := New(tt.c, tt.r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New = %v; want %q", err, tt.want)
		}
	}
	if _, err := New(onlyQueries{}, Rules{}); err != nil {
		t.Error(err)
	}
}

func TestAlias(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.Identity = "wechatpay:1230000109" })
	if got := h.refund("").Alias(); got != "wechatpay:1230000109/refund:R1" {
		t.Errorf("alias %q; want wechatpay:1230000109/refund:R1", got)
	}
	task := &bellman.Task{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"ref_no":"R1","account":"other","notify":{"url":"https://m.example/n"}}`)}
	if err := h.handler.Check(task); err != nil || task.Alias() != "other/refund:R1" {
		t.Errorf("alias %q, %v; want other/refund:R1", task.Alias(), err)
	}
}

func TestDeriveRefNo(t *testing.T) {
	long := strings.Repeat("1", 100)
	a, b := DeriveRefNo(long+"1"), DeriveRefNo(long+"2")
	if DeriveRefNo("20261120000001") != "20261120000001-R1" || len(a) != 64 || a == b || !strings.HasSuffix(a, "-R1") || DeriveRefNo(long+"1") != a {
		t.Errorf("%s, %s", a, b)
	}
	if no := DeriveRefNo(strings.Repeat("订", 30)); !utf8.ValidString(no) || len(no) > maxDerived {
		t.Errorf("%q; want no part of a character", no)
	}
	if exact := strings.Repeat("1", 61); DeriveRefNo(exact) != exact+"-R1" {
		t.Errorf("%s; want nothing cut", DeriveRefNo(exact))
	}
}
