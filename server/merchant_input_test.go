package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// A limit that is taken is answered as it was given; each other is refused with its bounds.
func TestLimitsAreAnsweredAsGiven(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	for _, rate := range []string{"50/s", "0.5/s", "10/m", "100/h", "1/h", "1234.5678/s", "1000000/s"} {
		m := put(t, api, "M1", client.PutMerchant{PerEndpoint: &client.MerchantLimits{Rate: rate, Concurrency: 100_000}})
		if m.PerEndpoint.Rate != rate || m.PerEndpoint.Concurrency != 100_000 {
			t.Errorf("a rate of %s is answered as %+v", rate, m.PerEndpoint)
		}
		if again := put(t, api, "M1", client.PutMerchant{PerEndpoint: &m.PerEndpoint}); again.Version != m.Version {
			t.Errorf("a rate of %s: what was answered is another merchant than was put", rate)
		}
		if rate == "1000000/s" {
			continue // more than a job may have
		}
		job, err := api.StartResend(t.Context(), client.BulkResend{Filter: client.Filter{MerchantNo: "M1"}, Mode: "once", Reason: "r", Rate: rate})
		if err != nil || job.Rate != rate {
			t.Errorf("a job of %s: %+v, %v", rate, job, err)
		}
	}
	for _, rate := range []string{"0/s", "-1/s", "NaN/s", "1e9/s", "2000000/s", "0.0000001/s", "0.9/h"} {
		for what, do := range map[string]func() error{
			"merchant": func() error {
				_, _, err := api.PutMerchant(t.Context(), "M1", client.PutMerchant{PerEndpoint: &client.MerchantLimits{Rate: rate}})
				return err
			},
			"job": func() error {
				_, err := api.StartResend(t.Context(), client.BulkResend{Filter: client.Filter{MerchantNo: "M1"}, Mode: "once", Reason: "r", Rate: rate})
				return err
			},
		} {
			var p *client.Problem
			if err := do(); !errors.As(err, &p) || p.Status != 422 || len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Message, "1/h to 1") {
				t.Errorf("a %s of %s: %v; want it refused with the bounds", what, rate, err)
			}
		}
	}
}

// That a merchant is there already hides nothing that is wrong besides.
func TestAConflictHidesNothing(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	put(t, api, "M1", client.PutMerchant{Name: "Tea"})
	bad := client.PutMerchant{Version: "none", Schedule: "often", Timeout: "soon"}
	_, _, err := api.PutMerchant(t.Context(), "M1", bad)
	if p, is := errors.AsType[*client.Problem](err); !is || p.Status != 409 || len(p.Errors) != 2 || p.Errors[0].Location != "body.schedule" || p.Errors[1].Location != "body.timeout" {
		t.Errorf("PutMerchant: %v; want 409, and both fields that are wrong", err)
	}
	bad.MerchantNo = "M1"
	done, err := api.PutMerchants(t.Context(), client.MerchantBatch{Merchants: []client.PutMerchant{{MerchantNo: "M2"}, bad}, DryRun: true})
	if err != nil || len(done) != 2 || done[1].Error == nil || done[1].Error.Status != 409 || len(done[1].Error.Errors) != 2 || done[1].Error.Errors[0].Location != "body.merchants[1].schedule" {
		t.Errorf("PutMerchants: %+v, %v; want the second refused so", done, err)
	}
}

// Two merchants' numbers look different.
func TestMerchantNumbersAreSeen(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	for _, no := range []string{"M-1", "商户-1", "a/b?c"} {
		put(t, api, no, client.PutMerchant{})
	}
	for _, no := range []string{"M1\u202e", "M\u200b1", "M\u00a01", "\ufeffM1", "M\u30001"} {
		var p *client.Problem
		_, _, err := api.PutMerchant(t.Context(), no, client.PutMerchant{})
		if !errors.As(err, &p) || p.Status != 422 || len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Message, "nobody sees, U+") {
			t.Errorf("PutMerchant(%q): %v; want it refused, with the character", no, err)
		}
	}
	var p *client.Problem
	if _, _, err := api.PutMerchant(t.Context(), "M 1", client.PutMerchant{}); !errors.As(err, &p) || p.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Location != "body.merchant_no" || !strings.Contains(p.Errors[0].Message, "has a blank") {
		t.Errorf("PutMerchant of a number with a blank: %v; want it refused", err)
	}
	done, err := api.PutMerchants(t.Context(), client.MerchantBatch{Merchants: []client.PutMerchant{{MerchantNo: "M 1"}, {MerchantNo: "M2"}}})
	if err != nil || len(done) != 2 || done[0].Status != 422 || done[1].Status != 201 {
		t.Errorf("PutMerchants: %+v, %v; want the number with a blank refused, and the other registered", done, err)
	}
}

// Each wrong merchant of a batch is answered with its own wrong fields, of whatever kind the
// mistakes are. The others are registered. A PUT names all wrong fields of its merchant at once.
func TestEachMerchantHasItsOwnErrors(t *testing.T) {
	_, s, stop := serve(t, t.TempDir(), nil)
	defer stop()
	const wrong = `"colour":"red","name":7,"notify_url":"ftp://m/n","sign":{"scheme":"rot13"},"schedule":"often",` +
		`"per_endpoint":{"concurrency":0,"rate":"many"}`
	fields := []string{"name", "notify_url", "sign.scheme", "schedule", "per_endpoint.concurrency", "per_endpoint.rate", "colour"}
	ask := func(method, path, body string, into any) int {
		t.Helper()
		status, text := exchange(t, s, method, path, body)
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
		return status
	}
	at := func(prefix string, list []client.Fault) (names []string) {
		for _, f := range list {
			name, in := strings.CutPrefix(f.Location, prefix)
			if !in || f.Message == "" {
				t.Errorf("%+v; want it below %s, with a message", f, prefix)
			}
			names = append(names, name)
		}
		return names
	}
	var refused client.Problem
	if status := ask("PUT", "/v1/merchants/M1", "{"+wrong+`,"merchant_no":"M2"}`, &refused); status != 422 {
		t.Errorf("PUT: %d %+v", status, refused)
	}
	if got, want := at("body.", refused.Errors), append([]string{"merchant_no"}, fields...); !slices.Equal(got, want) {
		t.Errorf("PUT: wrong are %q; want %q", got, want)
	}
	long := strings.Repeat("M", 129)
	batch := `{"merchants":[{"merchant_no":"M1","name":"Tea"},{"merchant_no":"M2",` + wrong + `},7,` +
		`{"merchant_no":"M3","name":"a","name":"b"},{"merchant_no":"` + long + `","sign":{"serial":"1"}},` +
		`{"sign":{"scheme":"standard_webhooks","secrets":[""]}},{"merchant_no":"M4"}]}`
	want := []struct {
		status int
		fields []string
	}{
		{201, nil}, {422, fields}, {422, []string{""}}, {400, nil}, {422, []string{"merchant_no", "sign.scheme"}},
		{422, []string{"merchant_no", "sign.secrets[0]"}}, {201, nil},
	}
	var done client.MerchantBatched
	if status := ask("POST", "/v1/merchants/batch", batch, &done); status != 200 || len(done.Results) != len(want) {
		t.Fatalf("batch: %d, %d results; want 200, %d", status, len(done.Results), len(want))
	}
	for i, r := range done.Results {
		var got []string
		if r.Error != nil {
			got = at(strings.TrimSuffix(fmt.Sprintf("body.merchants[%d].", i), map[bool]string{true: "."}[i == 2]), r.Error.Errors)
		}
		if r.Status != want[i].status || !slices.Equal(got, want[i].fields) {
			t.Errorf("merchant %d: %d, wrong are %q (%+v); want %d, %q", i, r.Status, got, r.Error, want[i].status, want[i].fields)
		}
	}
	for body, want := range map[string]string{
		`{"merchants":[]}`: "body.merchants", `{"merchants":[{}],"dry_run":1}`: "body.dry_run", `{"merchants":[{}],"x":1}`: "body.x", `[]`: "body", `{}`: "body.merchants",
	} {
		refused = client.Problem{}
		if status := ask("POST", "/v1/merchants/batch", body, &refused); status != 422 || len(refused.Errors) != 1 || refused.Errors[0].Location != want {
			t.Errorf("batch %s: %d %+v; want 422, %s", body, status, refused, want)
		}
	}
	for _, body := range []string{`{"merchants":[{}`, `{"dry_run":true,"dry_run":true,"merchants":[{}]}`} {
		if status := ask("POST", "/v1/merchants/batch", body, &refused); status != 400 {
			t.Errorf("batch %s: %d %+v; want 400", body, status, refused)
		}
	}
	if status := ask("PUT", "/v1/merchants/M1", `{"name":"a","name":"b"}`, &refused); status != 400 {
		t.Errorf("PUT of a field given twice: %d %+v; want 400", status, refused)
	}
}
