package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/attention"
)

// deskOf is a list as it is given.
type deskOf struct {
	list attention.List
	err  error
}

func (n deskOf) List(context.Context) (attention.List, error) { return n.list, n.err }

func TestAttention(t *testing.T) {
	if w := make1(t, Options{Attention: deskOf{err: errors.New("disk")}}).do("GET", "/v1/attention", ""); w.Code != http.StatusInternalServerError {
		t.Errorf("where it cannot be read: %d %s", w.Code, w.Body)
	}
	list := attention.List{At: t0, More: 2, Nodes: 3, Silent: []string{"vm/3"}, Items: []attention.Item{
		{Kind: attention.MerchantFailing, Name: "M1", MerchantNo: "M1", Since: t0, Urgent: true, Tasks: 200, More: true, Amounts: []attention.Amount{{Currency: "CNY", Amount: 700, Orders: 1}},
			Failure: &figures.Failure{At: t0, Result: bellman.ErrorStatus, Status: 502, Response: `{"code":"FAIL","token":"abcdef"}`}},
		{Kind: attention.NodeClock, Name: "vm/2", Late: -1500 * time.Millisecond},
	}}
	w := make1(t, Options{Attention: deskOf{list: list}}).do("GET", "/v1/attention", "")
	var got client.Attentions
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if got.More != 2 || got.Nodes != 3 || len(got.Silent) != 1 || len(got.Items) != 2 {
		t.Fatalf("%+v; want two items of 3 nodes, one silent, and 2 more", got)
	}
	first, second := got.Items[0], got.Items[1]
	if first.Kind != "merchant_failing" || !first.Urgent || first.Tasks != 200 || !first.More || first.Amounts[0].Amount != 700 || first.Page != "/merchants/show?no=M1" {
		t.Errorf("the merchant is %+v", first)
	}
	if f := first.Failure; f == nil || f.Result != "error_status" || f.Status != 502 || f.Response != `{"code":"FAIL","token":"***"}` {
		t.Errorf("its failure is %+v; want it with the token masked", f)
	}
	if second.Off != "-1s500ms" || second.Since != nil || second.Failure != nil || second.Page != "/nodes" {
		t.Errorf("the clock is %+v; want it 1.5 s behind, since an unknown time", second)
	}
}
