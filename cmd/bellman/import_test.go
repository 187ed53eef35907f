package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/importer"
	"github.com/bellmanhq/bellman/server"
)

// A team moves from a table of roncoo to bellman: a dry run, the import, a second import, and an
// import while the other system still runs.
func TestImport(t *testing.T) {
	t.Parallel()
	d := scratchtest.New(t, "mysql")
	var mu sync.Mutex
	var asked []string
	merchant := receive(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		io.WriteString(w, "success")
	})
	scratchtest.Run(t, d, `CREATE TABLE rp_notify_record (id VARCHAR(50) NOT NULL PRIMARY KEY, create_time DATETIME NOT NULL, edit_time DATETIME, notify_rule VARCHAR(255),
		notify_times INT, limit_notify_times INT, url VARCHAR(2000) NOT NULL, merchant_order_no VARCHAR(50), merchant_no VARCHAR(50), status VARCHAR(50))`)
	zoned := func(ago time.Duration) string {
		return time.Now().Add(-ago).In(time.FixedZone("", 8*3600)).Format("2006-01-02 15:04:05")
	}
	before := time.Now()
	for i, r := range []struct {
		edited time.Duration // how long ago
		times  int
		status string
	}{{time.Hour, 0, "CREATED"}, {10 * time.Minute, 3, "HTTP_REQUEST_FALIED"}, {time.Minute, 4, "HTTP_REQUEST_SUCCESS"}, {time.Hour, 1, "SUCCESS"}, {time.Hour, 5, "HTTP_REQUEST_FALIED"}} {
		scratchtest.Run(t, d, fmt.Sprintf(`INSERT INTO rp_notify_record VALUES ('%d', '%s', '%s', '{"1":0,"2":1,"3":2,"4":5,"5":15}', %d, 5, '%s/n?o=%d', 'O%d', 'M1', '%s')`,
			i, zoned(2*time.Hour), zoned(r.edited), r.times, merchant, i, i, r.status))
	}
	after := time.Now()
	p := serveStore(t, t.TempDir())
	defer p.stop()
	args := []string{"import", "roncoo", "--from", d.URL, "--zone", "Asia/Shanghai", "--server", p.url}

	dry := must(t, append(args, "--dry-run")...)
	for _, want := range []string{"roncoo/0", "at once, since ", "nothing: 5 of 5 attempts were made", "4 rows: 3 would be taken over, 0 are already, 1 have nothing left to do, 0 moved, 0 would be refused"} {
		if !strings.Contains(dry, want) {
			t.Errorf("the dry run printed\n%s\nwant %q in it", dry, want)
		}
	}
	if _, err := p.client().Task(t.Context(), client.ByKey("default", "roncoo/0")); client.StatusOf(err) != 404 {
		t.Errorf("tasks after the dry run: %v; want none", err)
	}
	if out := must(t, args...); !strings.Contains(out, "4 rows: 3 taken over, 0 were already, 1 have nothing left to do, 0 moved, 0 refused") {
		t.Errorf("the import printed %q; want three rows imported", out)
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
	eventually.True(t, "told", ended("roncoo/0"))
	eventually.True(t, "told", ended("roncoo/1"))
	task, err := p.client().Task(t.Context(), client.ByKey("default", "roncoo/1"))
	if err != nil {
		t.Fatal(err)
	}
	if task.Attempts != 4 || len(task.AttemptLog) != 1 || task.AttemptLog[0].Number != 4 || task.MerchantNo != "M1" {
		t.Errorf("the second task is %+v; want its fourth attempt made here", task)
	}
	task, err = p.client().Task(t.Context(), client.ByKey("default", "roncoo/2"))
	if err != nil {
		t.Fatal(err)
	}
	if task.State != "pending" || task.Due.Before(before.Add(13*time.Minute)) || task.Due.After(after.Add(14*time.Minute)) {
		t.Errorf("the third task is %s, due at %v; want it due 15 minutes after its last attempt at roncoo, which was a minute before %v", task.State, task.Due, after)
	}
	mu.Lock()
	if got := strings.Join(asked, ", "); got != "GET /n?o=0, GET /n?o=1" && got != "GET /n?o=1, GET /n?o=0" {
		t.Errorf("the merchant got %s; want each request once, in roncoo's form", got)
	}
	mu.Unlock()

	if out := must(t, args...); !strings.Contains(out, "0 taken over, 3 were already") {
		t.Errorf("the second import printed %q; want nothing new", out)
	}
	scratchtest.Run(t, d, "UPDATE rp_notify_record SET notify_times = 4, edit_time = '"+zoned(-time.Minute/2)+"' WHERE id = '1'")
	if r := run(t, args...); r.status != 1 || !strings.Contains(r.errors, "id 1: the other system attempted it at ") || !strings.Contains(r.errors, "stop its notifications") {
		t.Errorf("import while roncoo still runs: status %d, %q; want 1, the row and what to do", r.status, r.errors)
	}
	if r := run(t, "import", "roncoo", "--from", "postgres://u:secret@h/d"); r.status != 2 || !strings.Contains(r.errors, "want mysql://") || strings.Contains(r.errors, "secret") {
		t.Errorf("import from a wrong address: status %d, %q; want 2, and the right form without the password", r.status, r.errors)
	}
}

// An import says why it waits, and if it is interrupted how far it came.
func TestImportInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	busy := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	file := filepath.Join(t.TempDir(), "tasks.csv")
	write(t, file, "key,url,attempts\nA,http://m.example/n,-\nB,http://m.example/n,\n")
	cmd := exec.CommandContext(t.Context(), binary, "import", "csv", "--from", file, "--server", busy)
	cmd.Env = environment()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	<-asked // the import has waited after the first answer
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(out.String(), "1 rows: 0 taken over") || !strings.Contains(errs.String(), "stopped; run it again") ||
		!strings.Contains(errs.String(), "the server takes no rows now, and is asked again for up to ten minutes: 503") {
		t.Errorf("status %d\n%s%s\nwant 1, how many rows, why it waited, and what to do", status, &out, &errs)
	}
}

// The import does what a dry run has announced, with and without a server.
func TestImportDry(t *testing.T) {
	t.Parallel()
	past, future := time.Now().Add(-time.Hour).Format(time.RFC3339), time.Now().Add(time.Hour).Format(time.RFC3339)
	file := filepath.Join(t.TempDir(), "tasks.csv")
	lines := "queue,key,url,schedule,attempts,last\n"
	for _, line := range []string{
		"default,good,http://m.example/n,,,",
		"default,resumed,http://m.example/n,,1," + past,
		"default,resumed,http://m.example/n,,1," + past,
		"default,schedule,http://m.example/n,nope,,",
		"default,url,notaurl,,,",
		"default,over,http://m.example/n,\"0s, 1m\",2," + past,
		"default,ahead,http://m.example/n,,1," + future,
		"default,half,http://m.example/n,,1,",
		"default,negative,http://m.example/n,,-1," + past,
		"nosuch,queue,http://m.example/n,,,",
		"default,schedule of the queue,http://m.example/n,,99," + past,
	} {
		lines += line + "\n"
	}
	write(t, file, lines)
	p := serveStore(t, t.TempDir())
	defer p.stop()
	dry := run(t, "import", "csv", "--from", file, "--server", p.url, "--dry-run")
	done := run(t, "import", "csv", "--from", file, "--server", p.url)
	if want := "11 rows: 2 would be taken over, 1 are already, 0 have nothing left to do, 0 moved, 8 would be refused"; dry.status != 1 || !strings.Contains(dry.out, want) {
		t.Errorf("the dry run: status %d\n%s%s\nwant 1, %q", dry.status, dry.out, dry.errors, want)
	}
	if want := "11 rows: 2 taken over, 1 were already, 0 have nothing left to do, 0 moved, 8 refused"; done.status != 1 || !strings.Contains(done.out, want) {
		t.Errorf("the import: status %d\n%s%s\nwant 1, %q", done.status, done.out, done.errors, want)
	}
	if want := "line 6: bellman: 422 Unprocessable Entity: a field is wrong; url: "; !strings.Contains(done.errors, want) || strings.Contains(done.errors, "tasks[") {
		t.Errorf("the errors of the import are\n%s\nwant %q, without indexes in batches", done.errors, want)
	}
	if dry.errors != done.errors {
		t.Errorf("the errors of the dry run are\n%s\nand those of the import\n%s\nwant the same", dry.errors, done.errors)
	}
	if again := run(t, "import", "csv", "--from", file, "--server", p.url, "--dry-run"); !strings.Contains(again.out, " 0 would be taken over, 3 are already,") || !strings.Contains(again.out, "nothing: it is there already") {
		t.Errorf("a dry run after the import printed\n%s", again.out)
	}

	alone, err := server.NewOffline()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	source, err := importer.CSV(in, "default")
	if err != nil {
		t.Fatal(err)
	}
	var out, problems strings.Builder
	if err := dryImport(t.Context(), &out, &problems, source, alone, "nobody was asked"); err == nil {
		t.Error("dry run without a server: no error; want one about the wrong rows")
	}
	if want := "11 rows: 4 would be taken over, 1 are already, 0 have nothing left to do, 0 moved, 6 would be refused"; !strings.Contains(out.String(), want) || !strings.Contains(problems.String(), "bellman: nobody was asked") {
		t.Errorf("dry run without a server printed\n%s%s\nwant %q, which is all except the errors of the queue and its schedule", &out, &problems, want)
	}
	const gone = "http://127.0.0.1:1" // nothing listens on this port
	if r := run(t, "import", "csv", "--from", file, "--server", gone, "--dry-run"); r.status != 1 || !strings.Contains(r.errors, "start a server") || r.out != "" {
		t.Errorf("dry run with a server that is away: status %d, %q, %q; want 1 and no plan", r.status, r.out, r.errors)
	}
}

// If no server is named and none listens, the plan says what it does not know.
func TestDryRunWithoutServer(t *testing.T) {
	t.Setenv("BELLMAN_SERVER", "")
	const gone = "http://127.0.0.1:1" // nothing listens on this port
	to, err := client.New(client.Options{Server: gone})
	if err != nil {
		t.Fatal(err)
	}
	at, unchecked, err := (&remote{}).trier(t.Context(), to)
	if _, is := at.(*server.Offline); err != nil || !is || !strings.Contains(unchecked, "were not checked; name a server") {
		t.Errorf("without a named server: %T, %q, %v; want an Offline, and what it does not know", at, unchecked, err)
	}
	if _, _, err := (&remote{server: gone}).trier(t.Context(), to); err == nil {
		t.Error("with a named server that is away: no error")
	}
}
