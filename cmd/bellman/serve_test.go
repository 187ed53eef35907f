package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// Commands take a task from its creation to its record, and read what is left of it on disk.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 16)
	hook := receive(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a partial body fails the checks below
		bodies <- r.Header.Get("X-Shop") + string(body)
		io.WriteString(w, "success")
	})
	dir := filepath.Join(t.TempDir(), "data")
	p := serveStore(t, dir)
	if !strings.HasPrefix(p.hello, "bellman dev listens on http://127.0.0.1:") || !strings.HasSuffix(p.hello, "store pebble:"+dir+": no tasks wait") {
		t.Errorf("serve printed %q; want version, address and store", p.hello)
	}
	at := []string{"--server", p.url}
	operate := func(args ...string) string { t.Helper(); return must(t, append(args, at...)...) }

	out := operate("send", "--url", hook, "--task-key", "1/paid", "--order-no", "O-1", "--merchant-no", "M-1",
		"--header", "X-Shop: 7", "--json", `{"order":1}`)
	if !strings.Contains(out, "1/paid") || !strings.Contains(out, "M-1") {
		t.Errorf("send printed\n%s", out)
	}
	select {
	case body := <-bodies:
		if body != `7{"order":1}` {
			t.Errorf("the receiver got %q", body)
		}
	case <-time.After(patient):
		t.Fatal("the receiver got no request")
	}
	eventually.True(t, "succeeded", func() bool { return strings.Contains(operate("get", "default", "1/paid"), "succeeded") })
	id := exported(t, operate("get", "default", "1/paid", "-o", "json"))[0].ID
	if out := operate("get", id); !strings.Contains(out, "ATTEMPT") || !strings.Contains(out, "accepted") || !strings.Contains(out, `{"order":1}`) || !strings.Contains(out, "tcp ") {
		t.Errorf("get printed\n%s", out)
	}

	// Several tasks from a file, one of them wrong. The flags come before the argument.
	many := runIn(t, "", nil, `{"url":"`+hook+`","key":"a"}{"url":"nowhere","key":"b"}{"url":"`+hook+`","key":"c","delay":"24h"}`,
		append([]string{"send", "-", "--order-no", "O-2"}, at...)...)
	if many.status != 1 || many.errors != "bellman: 1 of 3 tasks were refused, the last one: url: want an absolute URL that begins with https:// or http://\n" || !strings.Contains(many.out, "2     422     -                                     -    url: want an absolute URL") || strings.Count(many.out, " 201 ") != 2 {
		t.Errorf("send of three, one of them wrong: status %d, %q\n%s\nwant 1, and two created", many.status, many.errors, many.out)
	}
	<-bodies
	eventually.True(t, "a is recorded", func() bool { return strings.Contains(operate("get", "default", "a"), "succeeded") })
	if out := operate("list", "--order-no", "O-2", "--state", "pending", "--created-from", "1h"); strings.Count(out, "\n") != 2 || !strings.Contains(out, " c ") {
		t.Errorf("list printed\n%s", out)
	}
	if out := operate("list", "--limit", "2", "-o", "json"); strings.Count(out, "\n") != 2 {
		t.Errorf("list of two printed\n%s", out)
	}

	// Actions by hand.
	operate("resend", "default", "1/paid", "--reason", "asked for")
	<-bodies
	eventually.True(t, "the second attempt is recorded", func() bool {
		task := exported(t, operate("get", "default", "1/paid", "-o", "json"))[0]
		return task.State == "succeeded" && len(task.AttemptLog) == 2
	})
	if out := operate("reschedule", "default", "c", "--delay", "240h", "--reason", "not yet", "-o", "json"); !strings.Contains(out, `"due": "2`) || !strings.Contains(out, `"state": "pending"`) {
		t.Errorf("reschedule printed\n%s", out)
	}
	next := time.Now().UTC().AddDate(1, 0, 0).Format("2006-01-02T15:04:05")
	if out := operate("reschedule", "default", "c", "--due", next+"Z"); !strings.Contains(out, next+".000Z") {
		t.Errorf("reschedule printed\n%s", out)
	}
	if out := operate("audit"); !strings.Contains(out, "reschedule") || !strings.Contains(out, "not yet") {
		t.Errorf("audit printed\n%s", out)
	}
	if out := operate("cancel", "default", "c"); !strings.Contains(out, "cancelled") {
		t.Errorf("cancel printed\n%s", out)
	}
	if out := operate("resend", "--all", "--order-no", "O-1", "--dry-run"); !strings.Contains(out, "1 task") {
		t.Errorf("a dry run printed\n%s", out)
	}
	if out := operate("resend", "--all", "--order-no", "O-1", "--rate", "100/s"); !strings.Contains(out, "running") {
		t.Errorf("a bulk resend printed\n%s", out)
	}
	<-bodies
	eventually.True(t, "done", func() bool { return strings.Contains(operate("resends"), "done") })
	if out := operate("pause", "default", "--reason", "a holiday"); !strings.Contains(out, "paused  default") {
		t.Errorf("pause printed\n%s", out)
	}
	if out := operate("queues"); !strings.Contains(out, "a holiday") || !strings.Contains(out, "wechat_notify") {
		t.Errorf("queues printed\n%s", out)
	}
	operate("resume", "default")
	if out := operate("resume", "default"); !strings.Contains(out, "not paused, nothing was done  default") {
		t.Errorf("resume of a queue that is not paused printed %q", out)
	}
	job, _, _ := strings.Cut(operate("resends")[strings.Index(operate("resends"), "\n")+1:], " ")
	if r := run(t, append([]string{"resends", job, "--cancel"}, at...)...); r.status != 0 || !strings.Contains(r.errors, "the bulk resend is done already, nothing was done") {
		t.Errorf("--cancel of a finished bulk resend: status %d, %q, %q; want 0, and a note that nothing was done", r.status, r.out, r.errors)
	}
	if r := run(t, append([]string{"list", "--queue", "no-such"}, at...)...); r.status != 0 || !strings.Contains(r.errors, `there is no queue "no-such"`) {
		t.Errorf("list of an unknown queue: status %d, %q; want 0, and a note that there is no such queue", r.status, r.errors)
	}
	operate("merchants", "put", "M-limits", "--concurrency", "5", "--rate", "50/s")
	operate("merchants", "put", "M-limits", "--concurrency", "0") // 0 means the queue's concurrency, as the help says
	if out := operate("merchants", "get", "M-limits", "-o", "json"); strings.Contains(out, `"concurrency"`) || !strings.Contains(out, `"rate": "50/s"`) {
		t.Errorf("the merchant after --concurrency 0 is %s; want the queue's concurrency", out)
	}
	operate("merchants", "pause", "M-limits")
	if out := operate("merchants", "get", "M-limits", "--stats"); !strings.Contains(out, "  paused  ") {
		t.Errorf("the figures of a paused merchant are %s; want it shown as paused", out)
	}
	operate("merchants", "resume", "M-limits")
	if out := operate("merchants", "resume", "M-limits"); !strings.Contains(out, "not paused, nothing was done  M-limits") {
		t.Errorf("resume of a merchant that is not paused printed %q", out)
	}
	operate("pause", "--endpoint", "http://paused.example", "--reason", "maintenance")
	if out := operate("resume", "--endpoint", "paused.example"); !strings.Contains(out, "resumed") || !strings.Contains(out, "http://paused.example:80") || strings.Contains(out, "https") {
		t.Errorf("resume of a host of which one endpoint is paused printed %q", out)
	}
	if out := operate("resume", "--endpoint", "paused.example"); !strings.Contains(out, "not paused, nothing was done  paused.example") {
		t.Errorf("resume of a host that is not paused printed %q", out)
	}
	if out := operate("endpoints"); !strings.Contains(out, hook) || !strings.Contains(out, "100.0%") {
		t.Errorf("endpoints printed\n%s", out)
	}
	if out := operate("pause", "--endpoint", "nowhere.example"); !strings.Contains(out, "https://nowhere.example:443, http://nowhere.example:80") {
		t.Errorf("pause of an unknown host printed\n%s", out)
	}
	if r := run(t, append([]string{"pause", "--endpoint", "https://nowhere.example/path"}, at...)...); r.status != 1 || !strings.Contains(r.errors, "want a host, a host:port, or one endpoint in full") {
		t.Errorf("pause of a URL with a path: status %d, %q; want 1, and the right form", r.status, r.errors)
	}
	if r := run(t, append([]string{"get", "default", "none"}, at...)...); r.status != 1 || !strings.Contains(r.errors, "404") {
		t.Errorf("get of a missing task: status %d, %q; want 1 and 404", r.status, r.errors)
	}

	// The export of the server, of a backup and of its directory.
	eventually.True(t, "at rest", func() bool {
		queues, err := p.client().Queues(t.Context())
		return err == nil && queues.Queues[0].Depth.Pending == 0 && queues.Queues[0].InFlight == 0
	})
	running := operate("export")
	tasks := exported(t, running)
	if len(tasks) != 3 || tasks[2].Key != "1/paid" || len(tasks[2].AttemptLog) != 3 || tasks[2].AttemptLog[1].Trigger != "manual" {
		t.Errorf("export printed\n%s", running)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	operate("backup", copied)
	if r := run(t, append([]string{"backup", copied}, at...)...); r.status != 1 || !strings.Contains(r.errors, "exists already") {
		t.Errorf("a backup into an existing directory: status %d, %q; want 1", r.status, r.errors)
	}
	p.stop()
	for _, store := range []string{"pebble:" + copied, "pebble:" + dir} {
		if out := must(t, "export", "--store", store); out != running {
			t.Errorf("export of %s printed\n%s\nthat of the server\n%s\nwant the same", store, out, running)
		}
		if out := must(t, "check", "--store", store); out != "3 tasks (0 pending, 3 ended), 4 attempts\nall agree\n" {
			t.Errorf("check of %s printed %q", store, out)
		}
	}
	if out := must(t, "export", "--store", "pebble:"+dir, "--state", "cancelled"); len(exported(t, out)) != 1 {
		t.Errorf("export of cancelled tasks printed\n%s", out)
	}
}

// A second process on the same directory gets an error, and does no harm.
func TestInUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if out := must(t, "migrate", "--store", "pebble:"+dir); !strings.Contains(out, "is ready") {
		t.Errorf("migrate printed %q", out)
	}
	p := serveStore(t, dir, "--no-migrate")
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"check"}, {"export"}, {"migrate"}} {
		r := run(t, append(args, "--store", "pebble:"+dir)...)
		if r.status != 1 || !strings.Contains(r.errors, "it is in use by another process, or was opened by this one before: close it there, or use another directory") || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("bellman %s on a store in use: status %d, %q; want an error", args[0], r.status, r.errors)
		}
	}
	address := strings.TrimPrefix(p.url, "http://")
	r := run(t, "serve", "--listen", address, "--store", "pebble:"+dir+"2")
	if r.status != 1 || !strings.Contains(r.errors, "choose another address with --listen") {
		t.Errorf("serve on an address in use: status %d, %q; want 1", r.status, r.errors)
	}
	p.stop()
}

// Commands need a key if the server has keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "c.yaml")
	write(t, config, `keys: [{name: night, role: read, sha256: "e9a3f3bb8a5eaa0e1fc0a1ec4d5e5f7b0ba1b0ad3b3fcc5a6b8bdb3ab8a9cb0f"}]`)
	p := serveStore(t, filepath.Join(t.TempDir(), "data"), "--config", config)
	for _, args := range [][]string{{}, {"--key", "wrong"}} {
		r := run(t, append([]string{"queues", "--server", p.url}, args...)...)
		if r.status != 1 || !strings.Contains(r.errors, "give a key with --key or BELLMAN_KEY") {
			t.Errorf("queues with the flags %q: status %d, %q; want 1, and a hint to give a key", args, r.status, r.errors)
		}
	}
	p.stop()
}

// hold starts a receiver that hangs until release is closed.
func hold(t *testing.T) (url string, arrived <-chan struct{}, release chan struct{}) {
	arrivals := make(chan struct{}, 16)
	release = make(chan struct{})
	url = receive(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		arrivals <- struct{}{}
		select {
		case <-release:
			io.WriteString(w, "success")
		case <-r.Context().Done():
		}
	})
	return url, arrivals, release
}

func wait(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patient):
		t.Fatalf("after %s not yet: %s", patient, what)
	}
}

func TestStopFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	hook, arrived, release := hold(t)
	dir := filepath.Join(t.TempDir(), "data")
	p := serveStore(t, dir)
	must(t, "send", "--server", p.url, "--url", hook, "--timeout", "10m")
	wait(t, arrived, "in flight")
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGINT) // twice, because timeout(1) sends two
	p.await(&p.log, "stopping: what is in flight is finished first")
	close(release)
	if status := p.end(patient); status != 0 {
		t.Errorf("a stop ended with status %d; want 0:\n%s", status, p.log.String())
	}
	if out := p.out.String(); !strings.HasSuffix(out, "\nstopped\n") {
		t.Errorf("serve printed %q; want \"stopped\" last", out)
	}
	tasks := exported(t, must(t, "export", "--store", "pebble:"+dir))
	if len(tasks) != 1 || tasks[0].State != "succeeded" || len(tasks[0].AttemptLog) != 1 {
		t.Errorf("tasks after the stop %+v; want one that succeeded", tasks)
	}
	if p := serveStore(t, dir); !strings.HasSuffix(p.hello, "no tasks wait") {
		t.Errorf("the next start printed %q", p.hello)
	}
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	hook, arrived, release := hold(t)
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, []string{"BELLMAN_STOP_TIMEOUT=1h"}, "--store", "pebble:"+dir)
	must(t, "send", "--server", p.url, "--url", hook, "--timeout", "10m")
	wait(t, arrived, "in flight")
	p.signal(os.Interrupt.(syscall.Signal))
	p.await(&p.log, "stopping: what is in flight is finished first")
	eventually.True(t, "ended", func() bool {
		p.cmd.Process.Signal(syscall.SIGTERM) // the first one may be merged with the interrupt, and the last may come too late
		select {
		case <-p.exited:
			return true
		default:
			return false
		}
	})
	if status := p.end(patient); status != 1 { // less than the time limit of the attempt
		t.Errorf("exit status after the second signal %d; want 1", status)
	}
	p = serveStore(t, dir)
	if !strings.HasSuffix(p.hello, "resumed 1 task, due, after a crash") {
		t.Errorf("the next start printed %q", p.hello)
	}
	wait(t, arrived, "attempted again")
	close(release)
	p.stop()
}

// SIGHUP removes one key and adds another.
func TestReloadKeys(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "c.yaml")
	keys := func(name, key string) {
		write(t, config, fmt.Sprintf("keys: [{name: %s, role: read, sha256: %x}]\n", name, sha256.Sum256([]byte(key))))
	}
	keys("old", "old-key")
	p := serveStore(t, filepath.Join(t.TempDir(), "data"), "--config", config)
	status := func(key string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/v1/queues", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if got := status("old-key"); got != http.StatusOK {
		t.Fatalf("status with the configured key: %d", got)
	}
	keys("new", "new-key")
	p.signal(syscall.SIGHUP)
	p.await(&p.log, "queues reloaded")
	if old, young := status("old-key"), status("new-key"); old != http.StatusUnauthorized || young != http.StatusOK {
		t.Errorf("status after the reload: %d with the old key, %d with the new one; want 401 and 200", old, young)
	}
	p.stop()
}

// SIGHUP gives queues new rules. Existing tasks keep theirs and go on. A file with mistakes changes
// nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	hook, arrived, release := hold(t)
	close(release)
	config := filepath.Join(t.TempDir(), "c.yaml")
	write(t, config, "queues: {pay: {schedule: \"0s, 10m\"}}\n")
	p := serveStore(t, filepath.Join(t.TempDir(), "data"), "--config", config)
	c := p.client()
	create := func(key, delay string) *client.Task {
		t.Helper()
		task, _, err := c.Create(t.Context(), client.CreateTask{Queue: "pay", Key: key, URL: hook, Delay: delay})
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	before := create("before", "1h")

	write(t, config, "queues:\n  pay: {schedule: soon}\n  more: {timeout: 5}\n")
	p.signal(syscall.SIGHUP)
	p.await(&p.log, "c.yaml:2:19: queues.pay.schedule: ")
	p.await(&p.log, "c.yaml:3:19: queues.more.timeout: ")
	if task := create("between", "1h"); task.Schedule != "0s, 10m" {
		t.Errorf("schedule of a new task after a broken file: %q; want the old one", task.Schedule)
	}

	write(t, config, "flow: {low: 7}\nqueues:\n  pay: {schedule: \"0s, 20m\"}\n  more: {}\n")
	p.signal(syscall.SIGHUP)
	p.await(&p.log, "queues reloaded")
	p.await(&p.log, `that take a restart","settings":["flow.low"]`)
	if task := create("after", "0s"); task.Schedule != "0s, 20m" {
		t.Errorf("schedule of a new task after the reload: %q; want the new one", task.Schedule)
	}
	wait(t, arrived, "delivered")
	kept, err := c.Task(t.Context(), client.ByID(before.ID))
	if err != nil || kept.Schedule != "0s, 10m" || kept.State != "pending" {
		t.Errorf("the earlier task is %+v, %v; want it pending with its own schedule", kept, err)
	}
	if _, err := c.Reschedule(t.Context(), client.ByID(before.ID), client.RescheduleTask{Delay: "0s"}); err != nil {
		t.Fatal(err)
	}
	wait(t, arrived, "delivered")
	p.stop()
}
