package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// bellman reconcile compares a file, and prints the differences in each format.
func TestReconcileByCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := filepath.Join(dir, "bellman.yaml")
	write(t, settings, `
queues:
  orders:
    kind: order
    query: {method: GET, url: "http://127.0.0.1:1/{order_no}"}
    close: {method: POST, url: "http://127.0.0.1:1/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: 1h*
    on_exhausted: close
`)
	p := serveStore(t, filepath.Join(dir, "data"), "--config", settings)
	date := time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly)
	bill := filepath.Join(dir, "bill.csv")
	write(t, bill, "no,fee,at\nA1,12.99,"+date+" 12:00:00\n")
	args := []string{"reconcile", "--queue", "orders", "--date", date, "--file", bill, "--map", "channel_order_no=no", "--map", "amount=fee,units=main,time=at", "--server", p.url}

	table := run(t, args...)
	if table.status != 1 || !strings.Contains(table.out, "missing_here") || !strings.Contains(table.out, "12.99 CNY") || !strings.Contains(table.errors, "differences: 1") {
		t.Errorf("table: status %d, %q, printed\n%s", table.status, table.errors, table.out)
	}
	sheet := run(t, append(args, "-o", "csv")...)
	if lines := strings.Split(strings.TrimSpace(sheet.out), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "1,missing_here,queue:orders,A1,false,2,,,1299,CNY,") {
		t.Errorf("csv printed\n%s", sheet.out)
	}
	var both struct {
		Reconciliation client.Reconciliation
		Differences    []client.Difference
	}
	if err := json.Unmarshal([]byte(run(t, append(args, "-o", "json")...).out), &both); err != nil || both.Reconciliation.Total != 1 || len(both.Differences) != 1 || both.Differences[0].Bill.Amount != 1299 {
		t.Errorf("json printed %+v, %v", both, err)
	}

	write(t, bill, "no,fee,at\n")
	if same := run(t, args...); same.status != 0 || !strings.Contains(same.out, "payments 0") {
		t.Errorf("a bill without lines: status %d, %q\n%s\nwant 0, and payments 0", same.status, same.errors, same.out)
	}
	var many strings.Builder
	many.WriteString("no,fee,at\n")
	for i := range 100 {
		fmt.Fprintf(&many, "X%d,1.00,%s 12:00:00\n", i, date)
	}
	write(t, bill, many.String())
	if r := run(t, args...); r.status != 1 || !strings.Contains(r.errors, "100 of 100 are missing here") || !strings.Contains(r.errors, "--unknown") {
		t.Errorf("a bill of which nothing is known: status %d, %q; want it refused", r.status, r.errors)
	}
	if r := run(t, append(args, "--unknown")...); r.status != 1 || !strings.Contains(r.errors, "differences: 100") {
		t.Errorf("the same with --unknown: status %d, %q; want 100 differences", r.status, r.errors)
	}
	for _, wrong := range [][]string{
		{"reconcile", "--queue", "orders", "--date", date, "--unknown"},
		{"reconcile", "--queue", "orders"},
		{"reconcile", "--queue", "orders", "--date", date, "--map", "amount=fee"},
		{"reconcile", "--queue", "orders", "--date", date, "-o", "xml"},
	} {
		if r := run(t, append(wrong, "--server", p.url)...); r.status != 2 {
			t.Errorf("bellman %s: status %d; want 2", strings.Join(wrong, " "), r.status)
		}
	}
	if r := run(t, "reconcile", "--queue", "orders", "--date", date, "--server", p.url); r.status != 1 || !strings.Contains(r.errors, "has no bill that can be asked for") {
		t.Errorf("a channel without bills: status %d, %q; want 1", r.status, r.errors)
	}
}

// A bill could not be had, and the server has the result of a request before: that is not shown as
// the new one. A new result that lacks accounts is shown.
func TestReconcileShowsNoFormerResult(t *testing.T) {
	t.Parallel()
	for finished, want := range map[string]struct{ out, errors string }{
		"2026-11-22T02:59:59.000Z": {"", "the bill could not be had: orders of 1 of 2 accounts are not compared"},
		"2026-11-22T03:00:00.500Z": {"77", "account shop1: no such key"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/differences") {
				io.WriteString(w, `{"differences":[],"next_cursor":""}`)
				return
			}
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusAccepted)
			}
			fmt.Fprintf(w, `{"id":"r","queue":"shops","date":"2026-11-21","source":"channel","bill":"trade","state":"failed","created":"2026-11-22T03:00:00.000Z",`+
				`"finished":%q,"error":"orders of 1 of 2 accounts are not compared","bills":1,"left":[{"account":"shop1","error":"no such key"}],"matched":77}`, finished)
		}))
		r := run(t, "reconcile", "--queue", "shops", "--date", "2026-11-21", "--server", s.URL)
		s.Close()
		if r.status != 1 || !strings.Contains(r.out, want.out) || want.out == "" && r.out != "" || !strings.Contains(r.errors, want.errors) {
			t.Errorf("the result is of %s: status %d, %q, printed\n%s\nwant %q, %q", finished, r.status, r.errors, r.out, want.out, want.errors)
		}
	}
}

// What a bill says is no formula in a spreadsheet.
func TestDifferencesAreNoFormulas(t *testing.T) {
	const formula = `=HYPERLINK("http://evil.example")`
	var out strings.Builder
	if err := differencesCSV(&out, []client.Difference{{Number: 1, Kind: "missing_here", ChannelOrderNo: formula}}); err != nil {
		t.Fatal(err)
	}
	if rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll(); err != nil || len(rows) != 2 || rows[1][3] != "'"+formula {
		t.Errorf("the sheet is %q, %v; want the order's number after a '", rows, err)
	}
}

// The sheet has bellman's number of a refund that the bill lacks.
func TestDifferencesOfRefunds(t *testing.T) {
	var out strings.Builder
	if err := differencesCSV(&out, []client.Difference{{Number: 1, Kind: "refund", Here: &client.BilledOrder{OrderNo: "O1", RefundNo: "R1"}}}); err != nil {
		t.Fatal(err)
	}
	heads, row, _ := strings.Cut(out.String(), "\n")
	if !strings.HasSuffix(heads, ",refund_no") || !strings.HasSuffix(row, ",R1\n") {
		t.Errorf("differencesCSV wrote\n%s\nwant refund_no in the last column", out.String())
	}
}
