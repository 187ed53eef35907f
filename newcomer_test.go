//go:build unix

package bellman_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/freeport"
)

// reasons are the reasons that the first line of a block can give for not being run here, as in "#
// needs Docker". Each has the number of its blocks, so that a new one is noticed.
var reasons = map[string]int{
	"a gateway that sends notices":        2,
	"an account at WeChat Pay or Alipay":  6,
	"another machine":                     5,
	"Docker":                              1,
	"Kubernetes":                          1,
	"minutes":                             6,
	"Prometheus":                          1,
	"RabbitMQ with its management plugin": 1,
	"root":                                2,
}

// printed is the output of some blocks, by a part of the block. These blocks are repeated until
// they print it.
var printed = []struct{ block, prints string }{
	{`"M1001/20261120000001/paid"`, `"state":"succeeded"`},
	{"sleep 13", `"order_state":"PAID"`},
	{"/notices/orders", `"reason":"applied"`},
	{"whsec_$(openssl", "https://merchant.example/notify"},
	{"./bellman nodes ", "alive"},
	{"go mod init example.com/paid", "1\n2\nsucceeded <nil>\n"},
}

// anyID stands for an id that the reader fills in, and standIns for addresses and directories.
const anyID = "0199b5a0-7c1e-7d55-8c13-1f2a3b4c5d6e"

var standIns = regexp.MustCompile(`/var/lib/bellman|/var/backups|/backups|/etc/bellman|http://10\.0\.0\.5:2355`)

// Every block that a reader can run works for a newcomer: in a fresh shell, in a directory with
// nothing but the program.
// The blocks of a page run in order, and each chapter has its own directory. A server goes on
// running until another one takes its address. If a page's first block only sets variables, it
// applies to each terminal. Ports are replaced by free ones, and go run ./cmd/bellman by a program
// that is built once. The blocks of the Chinese pages are the same: TestBlocksInChinese.
func TestPagesAsANewcomerHasThem(t *testing.T) {
	for _, tool := range []string{"python3", "openssl", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine", tool)
		}
	}
	program := filepath.Join(t.TempDir(), "bellman")
	build := exec.Command("go", "build", "-o", program, "./cmd/bellman")
	if built := os.Getenv("BELLMAN_TEST_PROGRAM"); built != "" {
		build = exec.Command("ln", "-s", built, program)
	}
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as for all programs of the tests, so that packages are compiled once
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	given := map[string]int{}
	for page, text := range pages(t) {
		if strings.HasPrefix(page, "docs/zh/") || strings.HasPrefix(page, "docs/reference/") || strings.HasSuffix(page, ".zh-CN.md") {
			continue
		}
		for _, b := range blocks(text) {
			if reason := b.reason(); reason != "" {
				given[reason]++
			}
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			desk := newcomer{t: t, program: program, page: page, ports: map[string]string{}}
			desk.follow(text)
		})
	}
	if !maps.Equal(given, reasons) {
		t.Errorf("the blocks that are not run have the reasons %v; want %v", given, reasons)
	}
}

// A block is a code block of a page, under a heading.
type block struct{ chapter, language, text string }

func blocks(page string) (all []block) {
	chapter := ""
	for _, m := range regexp.MustCompile("(?ms)^## ([^\n]*)$|^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		if m[1] != "" {
			chapter = m[1]
			continue
		}
		all = append(all, block{chapter, m[2], m[3]})
	}
	return all
}

func (b block) reason() string {
	if m := regexp.MustCompile(`^(?:#|//) needs ([^\n:]*)`).FindStringSubmatch(b.text); m != nil {
		return m[1]
	}
	return ""
}

// A newcomer has a directory, and terminals in it.
type newcomer struct {
	t             *testing.T
	program, page string
	ports         map[string]string // by port in the page: the port here
	databases     map[string]string
	dir, first    string // first is run at the start of each terminal
	servers       map[string]func()
}

var (
	onlySets = regexp.MustCompile(`^((#.*|export .*|PATH=.*|\w+\(\) \{.*\})\n)+$`)
	serves   = regexp.MustCompile(`(?m)^.*(\bbellman( [^&\n]*)? serve\b[^&\n]*|serve_forever\(\)')$`)
	address  = regexp.MustCompile(`127\.0\.0\.1:(\d{4,5})\b`)
)

func (n *newcomer) follow(page string) {
	chapter, file := "none", ""
	for _, b := range blocks(page) {
		if b.language == "sh" && strings.Contains(b.text, file) {
			file = ""
		} else if file != "" && b.language != "go" {
			n.t.Errorf("no command of the page uses its file %s", file)
		}
		if b.chapter != chapter {
			n.newDirectory()
			chapter = b.chapter
		}
		switch {
		case b.reason() != "":
		case b.language == "yaml":
			name := "bellman.yaml"
			if m := regexp.MustCompile(`^# (\S+\.yaml)\n`).FindStringSubmatch(b.text); m != nil {
				name = m[1]
			}
			n.write(name, n.here(b.text))
			file = name
		case b.language == "go" && strings.HasPrefix(b.text, "package main\n"):
			n.write("main.go", n.here(b.text))
		case b.language == "go":
			if n.page != "docs/recipes.md" { // TestRecipesAreTheExamples checks these
				n.t.Errorf("this Go code is not a program, so no test runs it:\n%s", b.text)
			}
		case b.language == "sh" && onlySets.MatchString(b.text):
			n.first += b.text
		case b.language == "sh":
			n.run(b.text)
		case regexp.MustCompile(`(?m)^\s*(curl|\.?/?bellman|go|make|docker|kubectl|createdb) `).MatchString(b.text):
			n.t.Errorf("this block has commands, but is not marked as sh:\n%s", b.text)
		}
	}
}

func (n *newcomer) newDirectory() {
	n.dir = n.t.TempDir()
	if err := os.Link(n.program, filepath.Join(n.dir, "bellman")); err != nil {
		n.t.Fatal(err)
	}
	source, err := os.Getwd()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(n.dir, "src"), 0o700), os.Symlink(source, filepath.Join(n.dir, "src", "bellman"))); err != nil {
		n.t.Fatal(err)
	}
	for _, has := range readers[n.page] {
		n.run(has)
	}
}

func (n *newcomer) write(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// here returns a text of the page with the addresses and directories of this machine.
func (n *newcomer) here(text string) string {
	if n.servers == nil {
		n.servers, n.databases = map[string]func(){}, map[string]string{}
	}
	text = strings.ReplaceAll(text, "go run ./cmd/bellman", "./bellman")
	text = strings.ReplaceAll(text, "make build", "true")
	text = strings.ReplaceAll(text, "link --revoke "+anyID, "link --revoke $(bellman link --list M1001 -o json | grep -o '\"id\": *\"[^\"]*' | head -n 1 | cut -d '\"' -f 4)")
	text = strings.ReplaceAll(text, anyID, "$(cat id)")
	if strings.Contains(text, "queue: order.paid") {
		name := "newcomer_" + strings.ToLower(rand.Text())
		text = strings.ReplaceAll(text, "queue: order.paid", "queue: "+name)
		n.t.Cleanup(func() { forget(name, name+".dead") })
	}
	text = address.ReplaceAllStringFunc(text, func(was string) string {
		_, port, _ := strings.Cut(was, ":")
		return n.port(port)
	})
	text = standIns.ReplaceAllStringFunc(text, func(was string) string {
		if strings.HasPrefix(was, "http") {
			return "http://" + n.port("2355")
		}
		if err := os.MkdirAll(n.dir+was, 0o700); err != nil {
			n.t.Fatal(err)
		}
		return n.dir + was
	})
	text = regexp.MustCompile(`\("127\.0\.0\.1", (\d+)\)`).ReplaceAllStringFunc(text, func(was string) string {
		_, port, _ := net.SplitHostPort(n.port(was[len(`("127.0.0.1", `) : len(was)-1]))
		return `("127.0.0.1", ` + port + `)`
	})
	for _, m := range regexp.MustCompile(`(?m)^createdb .* (\w+)$`).FindAllStringSubmatch(text, -1) {
		if n.databases[m[1]] == "" {
			n.databases[m[1]] = "newcomer_" + strings.ToLower(rand.Text())
			n.t.Cleanup(func() {
				exec.Command("dropdb", "--force", "-h", "127.0.0.1", "-U", "postgres", n.databases[m[1]]).Run()
			})
		}
	}
	for was, is := range n.databases {
		text = regexp.MustCompile(`(?m)^(createdb .* )`+was+`$`).ReplaceAllString(text, "${1}"+is)
		text = regexp.MustCompile(`(:5432/)`+was+`\b`).ReplaceAllString(text, "${1}"+is)
	}
	return text
}

// port returns the port here for a port in the page. A port that does not belong to a server of the
// page stays as it is.
func (n *newcomer) port(of string) string {
	if slices.Contains([]string{"5432", "5672", "4222", "6379", "3306", "4318"}, of) {
		return "127.0.0.1:" + of
	}
	if n.ports[of] == "" {
		n.ports[of] = freeport.Address(n.t)
	}
	return n.ports[of]
}

func (n *newcomer) run(page string) {
	n.t.Helper()
	for _, server := range []string{"127.0.0.1:5432", "127.0.0.1:5672"} {
		if strings.Contains(page, server) {
			if c, err := net.Dial("tcp", server); err != nil {
				n.t.Skipf("nothing listens at %s, which this block needs:\n%s", server, page)
			} else {
				c.Close()
			}
		}
	}
	if found := regexp.MustCompile(`(?m)(^|[;|&] *)bellman .*`).FindString(page); found != "" && !strings.Contains(n.first, "PATH=") {
		n.t.Errorf("%q: use ./bellman, because a newcomer has no bellman in the path", found)
	}
	listens := ""
	if m := serves.FindString(page); m != "" {
		if !strings.HasSuffix(strings.TrimSpace(page), m) {
			n.t.Errorf("a command after a server in the same block never runs:\n%s", page)
		}
		listens = n.port("2355")
		if at := address.FindStringSubmatch(m); at != nil && strings.Contains(m, "--listen") {
			listens = n.port(at[1])
		}
		if at := regexp.MustCompile(`\("127\.0\.0\.1", (\d+)\)`).FindStringSubmatch(m); at != nil {
			listens = n.port(at[1])
		}
		if stop := n.servers[listens]; stop != nil {
			stop() // the new server takes the address of the old one
		}
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		n.t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	command := func() *exec.Cmd {
		c := exec.CommandContext(n.t.Context(), "sh", "-e", "-c", "exec 2>&1\n"+n.here(n.first)+n.here(page))
		c.Dir = n.dir
		if strings.Contains(page, "go run ./examples/") {
			c.Dir, _ = os.Getwd()
		}
		c.Env = []string{"HOME=" + n.dir, "PATH=" + filepath.Dir(tool) + ":/usr/local/bin:/usr/bin:/bin",
			"GOPATH=" + filepath.Join(home, "go"), "GOCACHE=" + filepath.Join(home, ".cache", "go-build"), "GOFLAGS=" + os.Getenv("GOFLAGS"), "CGO_ENABLED=0",
			"BELLMAN_LISTEN=" + n.port("2355"), "BELLMAN_SERVER=" + n.port("2355")} // because the port differs from the page
		return c
	}
	if listens != "" {
		n.serve(command(), listens, page)
		return
	}
	prints := ""
	for _, p := range printed {
		if strings.Contains(page, p.block) {
			prints = p.prints
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, err := command().CombinedOutput()
		if err != nil || regexp.MustCompile(`(^|[^:])\{"title":"[^"]*","status":[45]`).Match(out) {
			n.t.Fatalf("%v\n%s\n%s", err, page, out)
		}
		if strings.Contains(string(out), prints) {
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("the block does not print %q:\n%s\n%s", prints, page, out)
		}
	}
}

// serve starts a server, which runs to the end of the page or until another one takes its address.
func (n *newcomer) serve(c *exec.Cmd, listens, page string) {
	n.t.Helper()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.Cancel = kill
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Start(); err != nil {
		n.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { c.Wait(); close(ended) }()
	stop := func() { kill(); <-ended }
	n.servers[listens] = stop
	n.t.Cleanup(stop)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("http://" + listens + "/")
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			return
		}
		select {
		case <-ended:
			n.t.Fatalf("the server ended:\n%s\n%s", page, out.String())
		default:
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("the server does not listen at %s: %v\n%s", listens, err, page)
		}
	}
}

// forget deletes queues of RabbitMQ, if there is one.
func forget(queues ...string) {
	c, err := amqp.Dial("amqp://guest:guest@127.0.0.1:5672/")
	if err != nil {
		return
	}
	defer c.Close()
	for _, name := range queues {
		if ch, err := c.Channel(); err == nil {
			ch.QueueDelete(name, false, false, false)
		}
	}
}

// installed is a server as installed by the Debian package.
const installed = `
echo 'queues: {merchant-notify: {}}' > /etc/bellman/bellman.yaml
./bellman serve --config /etc/bellman/bellman.yaml --store pebble:/var/lib/bellman/store`

// readers is what the reader of a page has: a server with tasks, merchants, orders and a key. It is
// created in the directory of each chapter.
var readers = map[string][]string{
	"docs/move.md":   {`./bellman serve --listen 127.0.0.1:2399 & until curl -sf http://127.0.0.1:2399/readyz; do sleep 0.1; done; kill $!; wait`},
	"docs/backup.md": {installed},
	"docs/guide.md":  {installed},
	"docs/import.md": {`
echo 'queues: {merchant-notify: {}}' > bellman.yaml
./bellman serve --config bellman.yaml`},
	"docs/operations.md": {`
python3 -c 'import http.server as h
class Channel(h.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"{\"trade_state\": \"NOTPAY\"}")
h.HTTPServer(("127.0.0.1", 8090), Channel).serve_forever()'`, `
echo of-the-reader > ~/.bellman-key
cat > bellman.yaml <<'END'
queues:
  merchant-notify: {}
  orders:
    kind: order
    query: {method: GET,  url: "http://127.0.0.1:8090/{order_no}"}
    close: {method: POST, url: "http://127.0.0.1:8090/{order_no}"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: order_poll
    expires: 30m
    on_exhausted: close
    then: merchant-notify
public_url: http://127.0.0.1:2355
egress: {allow: ["127.0.0.1/32"]}
END
./bellman serve --config bellman.yaml`, `
./bellman merchants put M1001 --url https://pay.merchant.example/notify --reason "new"
./bellman send --queue merchant-notify --task-key M1001/20261120000001/paid --merchant-no M1001 --order-no 20261120000001 --body '{}'
./bellman send --queue orders --merchant-no M1001 --order-no 20261120000001
echo M1001,20261120000001 > bill-20261120.csv
./bellman get merchant-notify M1001/20261120000001/paid -o json | grep -o '"id": *"[^"]*' | head -n 1 | cut -d '"' -f 4 > id`},
}
