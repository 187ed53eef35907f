package merchant_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// Each merchant that a batch changes has a record of its own: of what was done, in which batch,
// and what its fields were before. No secret is in it.
func TestBatchRecordsEachMerchant(t *testing.T) {
	db := memory.New()
	sealing, _ := masters(t, 1)
	r := merchant.New(merchant.Options{Options: registry.Options{Store: db, Masters: sealing, Alone: true}})
	by := bellman.By{Who: "adm"}
	first := wants(
		client.PutMerchant{MerchantNo: "A", NotifyURL: "https://a.example/n?token=first-secret-token", Sign: &client.MerchantSign{Scheme: "hmac_sha256_params", Secrets: []string{"the first secret of A, 0001"}}},
		client.PutMerchant{MerchantNo: "VICTIM", NotifyURL: "https://victim.example/n"},
		client.PutMerchant{MerchantNo: "LONE", NotifyURL: "https://lone.example/n?lone-secret-token"},
	)
	if _, err := r.Import(t.Context(), first, false, by); err != nil {
		t.Fatal(err)
	}
	by.Reason = "routine"
	second := wants(
		client.PutMerchant{MerchantNo: "A", NotifyURL: "https://a.example/n?token=other-secret-token", Sign: &client.MerchantSign{Scheme: "hmac_sha256_params", Secrets: []string{"the second secret of A, 0002"}}, PerEndpoint: &client.MerchantLimits{Rate: "2/s"}},
		client.PutMerchant{MerchantNo: "VICTIM", NotifyURL: "https://attacker.example/n", Timeout: "1s"},
		client.PutMerchant{MerchantNo: "WRONG", Schedule: "nope"},
	)
	if _, err := r.Import(t.Context(), second, false, by); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context(), "VICTIM", by); err != nil {
		t.Fatal(err)
	}
	records, err := db.Audits(t.Context(), time.Time{}, 100)
	if err != nil || len(records) != 6 {
		t.Fatalf("%d records, %v: %+v; want 3 and 2 of the batches, and 1 of the deletion", len(records), err, records)
	}
	find := func(action, target, reason string) *store.Audit {
		t.Helper()
		i := slices.IndexFunc(records, func(a store.Audit) bool {
			return a.Action == action && a.Target == target && a.Reason == reason && a.Who == "adm"
		})
		if i < 0 {
			t.Fatalf("no record of %s %s, %q in %+v", action, target, reason, records)
		}
		return &records[i]
	}
	changed := find("import", "merchant/VICTIM", "routine")
	want := []store.Changed{{Field: "notify_url", Before: "https://victim.example/n", After: "https://attacker.example/n"}, {Field: "timeout", After: "1s"}}
	if !slices.Equal(changed.Changes, want) {
		t.Errorf("VICTIM's changes %+v; want %+v", changed.Changes, want)
	}
	of := find("import", "merchant/A", "routine")
	if job := changed.Job; !strings.HasPrefix(job, "batch/") || of.Job != job || find("import", "merchant/A", "").Job == job {
		t.Errorf("the batches of the records are %q, %q; want one for both, and another for the batch before", job, of.Job)
	}
	if gone := find("delete", "merchant/VICTIM", "routine"); gone.Job != "" || len(gone.Changes) != 2 || gone.Changes[0].Before != "https://attacker.example/n" || gone.Changes[0].After != "" {
		t.Errorf("the deletion's record %+v; want what VICTIM was", gone)
	}
	fields := map[string]store.Changed{}
	for _, c := range of.Changes {
		fields[c.Field] = c
	}
	if url := fields["notify_url"]; !strings.HasPrefix(url.Before, "https://a.example/n?token=***") || url.Before == url.After {
		t.Errorf("A's address %+v; want that it changed, and no value of its query", url)
	}
	if s := fields["sign.secrets"]; !strings.HasPrefix(s.Before, "***0001 of ") || s.Before == s.After {
		t.Errorf("A's secrets %+v; want that they changed", s)
	}
	if fields["per_endpoint.rate"].After != "2/s" {
		t.Errorf("A's rate %+v; want 2/s", fields["per_endpoint.rate"])
	}
	for _, a := range records {
		for _, c := range a.Changes {
			if text := c.Before + c.After; strings.Contains(text, "secret-token") || strings.Contains(text, "secret of") || strings.Contains(text, "sealed") {
				t.Errorf("%s %s %s: %q has a secret", a.Action, a.Target, c.Field, text)
			}
		}
	}
}
