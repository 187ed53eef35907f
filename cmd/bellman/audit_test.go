package main

import (
	"strings"
	"testing"
)

// bellman audit shows what a change of a merchant changed. bellman get shows which API key created
// a task.
func TestAuditCommand(t *testing.T) {
	t.Parallel()
	p := serveStore(t, t.TempDir())
	must(t, "merchants", "put", "M1", "--url", "https://one.example/n", "--reason", "new", "--server", p.url)
	must(t, "merchants", "put", "M1", "--url", "https://two.example/n", "--reason", "moved\u202e", "--server", p.url)
	out := must(t, "audit", "--server", p.url)
	for _, want := range []string{"merchant/M1", "notify_url: https://one.example/n → https://two.example/n", "notify_url: - → https://one.example/n"} {
		if !strings.Contains(out, want) {
			t.Errorf("bellman audit printed\n%s\nwant %s in it", out, want)
		}
	}
	if !strings.Contains(out, `moved\u202e`) || strings.Contains(out, "\u202e") {
		t.Errorf("bellman audit printed\n%q\nwant U+202E escaped", out)
	}
	if one := must(t, "audit", "--limit", "1", "--server", p.url); strings.Contains(one, "- → https://one") || !strings.Contains(one, "https://two") {
		t.Errorf("--limit 1 printed\n%s\nwant only the newest record", one)
	}
	for _, flag := range []string{"--who=ann", "--action=pause", "--target=merchant/M2", "--job=batch/1", "--created-to=1h"} {
		if none := must(t, "audit", flag, "--server", p.url); strings.Contains(none, "M1") {
			t.Errorf("%s printed\n%s\nwant no record", flag, none)
		}
	}
	if both := must(t, "audit", "--target", "merchant/M1", "--created-from", "1h", "--server", p.url); strings.Count(both, "merchant/M1") != 2 {
		t.Errorf("--target merchant/M1 --created-from 1h printed\n%s\nwant both records", both)
	}
}
