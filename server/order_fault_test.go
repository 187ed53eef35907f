package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// Each mistake in an order is reported once, at its field, and no consequence of it is reported.
func TestNoFaultComesOfAnother(t *testing.T) {
	d := newDesk(t)
	_, s := d.serve(t, d.parse(t, `
queues:
  tell: {}
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/{order_no}?shop={vars.shop}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: 1h*
    on_exhausted: close
    then: tell
`))
	const vars, notify = `"vars":{"shop":"7"}`, `"notify":{"url":"MERCHANT"}`
	tests := []struct {
		name, fields string
		wrong        []string
	}{
		{"no object to tell", vars + `,"notify":{"url":"MERCHANT","json":[1]}`, []string{"body.notify.json"}},
		{"no object, and no address", vars + `,"notify":{"json":[1]}`, []string{"body.notify.json"}},
		{"address of a wrong type", vars + `,"notify":{"url":5}`, []string{"body.notify.url"}},
		{"address of a file", vars + `,"notify":{"url":"file:///n"}`, []string{"body.notify.url"}},
		{"both wrong", vars + `,"notify":{"url":5,"json":5}`, []string{"body.notify.json", "body.notify.url"}},
		{"a name misspelt", vars + `,"notify":{"urll":"MERCHANT"}`, []string{"body.notify.urll"}},
		{"nothing to tell", vars + `,"notify":{}`, []string{"body.notify"}},
		{"no notify", vars, []string{"body.notify.url"}},
		{"notify of a wrong type", vars + `,"notify":"MERCHANT"`, []string{"body.notify"}},
		{"expires wrong", vars + `,` + notify + `,"expires":"soon"`, []string{"body.expires"}},
		{"a url as well, and the address wrong", vars + `,"url":"MERCHANT","notify":{"url":5}`, []string{"body.notify.url", "body.url"}},
		{"var of a wrong type", notify + `,"vars":{"shop":7}`, []string{"body.vars.shop"}},
		{"another var of a wrong type", notify + `,"vars":{"shop":"7","other":7}`, []string{"body.vars.other"}},
		{"no vars", notify, []string{"body.vars.shop"}},
		{"two mistakes that have nothing to do with one another", `"notify":{"url":"MERCHANT","json":[1]}`, []string{"body.notify.json", "body.vars.shop"}},
	}
	for _, tt := range tests {
		body := `{"queue":"orders","merchant_no":"M1","order_no":"1",` + strings.ReplaceAll(tt.fields, "MERCHANT", d.merchant+"/n") + `}`
		answer, err := http.Post("http://"+s.Addr()+"/v1/tasks", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var p client.Problem
		err = json.NewDecoder(answer.Body).Decode(&p)
		answer.Body.Close()
		var got []string
		for _, f := range p.Errors {
			got = append(got, f.Location)
		}
		slices.Sort(got)
		if err != nil || answer.StatusCode != 422 || !slices.Equal(got, tt.wrong) {
			t.Errorf("%s: %d, %v (%v); want %v", tt.name, answer.StatusCode, p.Errors, err, tt.wrong)
		}
	}
}
