package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// From a table of roncoo's to answered notifications, as a team would go over: dry,
// for real, once more, and with the other system still running.
func TestImport(t *testing.T) {
	address, named := os.LookupEnv("BELLMAN_TEST_MYSQL")
	if !named {
		address = "mysql://root@127.0.0.1:3306/mysql"
	}
	if err := execMySQL(address, "SELECT 1"); err != nil {
		if named {
			t.Fatal(err)
		}
		t.Skipf("no server (set BELLMAN_TEST_MYSQL to one): %v", err)
	}
	id := bellman.NewID()
	name := fmt.Sprintf("bellman_test_%x", id[:])
	do := func(to, text string) {
		t.Helper()
		if err := execMySQL(to, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	do(address, "CREATE DATABASE "+name)
	t.Cleanup(func() { do(address, "DROP DATABASE "+name) })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	var mu sync.Mutex
	var asked []string
	merchant := receive(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		io.WriteString(w, "success")
	})
	do(u.String(), `CREATE TABLE rp_notify_record (id VARCHAR(50) NOT NULL PRIMARY KEY, create_time DATETIME NOT NULL, edit_time DATETIME, notify_rule VARCHAR(255),
		notify_times INT, limit_notify_times INT, url VARCHAR(2000) NOT NULL, merchant_order_no VARCHAR(50), merchant_no VARCHAR(50), status VARCHAR(50))`)
	zoned := func(ago time.Duration) string {
		return time.Now().Add(-ago).In(time.FixedZone("", 8*3600)).Format("2006-01-02 15:04:05")
	}
	for i, r := range []struct {
		edited time.Duration // ago
		times  int
		status string
	}{{time.Hour, 0, "CREATED"}, {10 * time.Minute, 3, "HTTP_REQUEST_FALIED"}, {time.Minute, 4, "HTTP_REQUEST_SUCCESS"}, {time.Hour, 1, "SUCCESS"}, {time.Hour, 5, "HTTP_REQUEST_FALIED"}} {
		do(u.String(), fmt.Sprintf(`INSERT INTO rp_notify_record VALUES ('%d', '%s', '%s', '{"1":0,"2":1,"3":2,"4":5,"5":15}', %d, 5, '%s/n?o=%d', 'O%d', 'M1', '%s')`,
			i, zoned(2*time.Hour), zoned(r.edited), r.times, merchant, i, i, r.status))
	}
	p := serveStore(t, t.TempDir())
	defer p.stop()
	args := []string{"import", "roncoo", "--from", u.String(), "--zone", "Asia/Shanghai", "--server", p.url}

	dry := must(t, append(args, "--dry-run")...)
	for _, want := range []string{"roncoo/0", "at once, since ", "nothing: 5 of 5 attempts were made", "4 rows: 3 would be taken over, 1 have nothing left to do, 0 cannot"} {
		if !strings.Contains(dry, want) {
			t.Errorf("the dry run says\n%s\nwant %q in it", dry, want)
		}
	}
	if _, err := p.client().Task(t.Context(), client.ByKey("default", "roncoo/0")); client.StatusOf(err) != 404 {
		t.Errorf("after the dry run: %v; want no task", err)
	}
	if out := must(t, args...); !strings.Contains(out, "4 rows: 3 taken over, 0 were already, 1 have nothing left to do, 0 moved, 0 refused") {
		t.Errorf("the import says %q; want three rows taken over", out)
	}
	ended := func(key string) func() bool {
		return func() bool {
			task, err := p.client().Task(t.Context(), client.ByKey("default", key))
			if err != nil {
				t.Fatal(err)
			}
			return task.State == "succeeded"
		}
	}
	eventually(t, "told", ended("roncoo/0"))
	eventually(t, "told", ended("roncoo/1"))
	task, err := p.client().Task(t.Context(), client.ByKey("default", "roncoo/1"))
	if err != nil {
		t.Fatal(err)
	}
	if task.Attempts != 4 || len(task.AttemptLog) != 1 || task.AttemptLog[0].Number != 4 || task.MerchantNo != "M1" {
		t.Errorf("the second is %+v; want its fourth attempt made here", task)
	}
	task, err = p.client().Task(t.Context(), client.ByKey("default", "roncoo/2"))
	if err != nil {
		t.Fatal(err)
	}
	if wait := time.Until(task.Due.Time); task.State != "pending" || wait < 13*time.Minute || wait > 14*time.Minute {
		t.Errorf("the third is %s, due in %v; want it 15 minutes after the last attempt there, a minute ago", task.State, wait)
	}
	mu.Lock()
	if got := strings.Join(asked, ", "); got != "GET /n?o=0, GET /n?o=1" && got != "GET /n?o=1, GET /n?o=0" {
		t.Errorf("the merchant was asked %s; want each once, as roncoo asks", got)
	}
	mu.Unlock()

	if out := must(t, args...); !strings.Contains(out, "0 taken over, 3 were already") {
		t.Errorf("once more: %q; want nothing new", out)
	}
	do(u.String(), "UPDATE rp_notify_record SET notify_times = 4, edit_time = '"+zoned(-time.Minute/2)+"' WHERE id = '1'")
	if r := run(t, args...); r.status != 1 || !strings.Contains(r.errors, "id 1: the other system attempted it at ") || !strings.Contains(r.errors, "stop its notifications") {
		t.Errorf("while roncoo goes on: status %d, %q; want 1, the row and what to do", r.status, r.errors)
	}
	if r := run(t, "import", "roncoo", "--from", "postgres://u:secret@h/d"); r.status != 2 || !strings.Contains(r.errors, "want mysql://") || strings.Contains(r.errors, "secret") {
		t.Errorf("a wrong address: status %d, %q; want 2 and what is right", r.status, r.errors)
	}
}
