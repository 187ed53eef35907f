package console

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/schedule"
)

// What is wrong with a form is said with its labels, and in the language of its page.
func TestProblemsInTheVisitorsWords(t *testing.T) {
	all, err := allLanguages()
	if err != nil {
		t.Fatal(err)
	}
	why := func(_ any, err error) error { return err }
	for _, tt := range []struct {
		field  string
		why    error
		en, zh string
	}{
		{"schedule", why(schedule.Parse("")), "Schedule: Want a preset’s name, or delays such as 0s, 15s*2, 30s.", "时间表: 应为预设名称，或间隔，如 0s, 15s*2, 30s。"},
		{"schedule", why(schedule.Parse("0s, 15x")), `Schedule: Item 2, "15x": want a duration such as 15s or 1h30m, with units ms, s, m, h, d.`, `时间表: 第 2 项 "15x"：应为时长，如 15s 或 1h30m，单位 ms、s、m、h、d。`},
		{"timeout", why(schedule.ParseDuration("-1s")), `Timeout: "-1s": want a duration that is not negative.`, `超时: "-1s"：应为不为负的时长。`},
		{"success", fmt.Errorf("rule: %w", coded.Errorf("rule.at", "column %d: %w", 3, coded.Errorf("rule.list", "a list may hold constants only"))),
			"Accepted if: At character 3: A list may hold constants only.", "成功条件: 第 3 个字符：列表中只能有常量。"},
		{"sign.secrets[2]", errors.New("is bad in a way that is new"), "Secrets: is bad in a way that is new", "密钥: is bad in a way that is new"},
		{"another", coded.Errorf("registry.required", "is required"), "another: Is required.", "another: 必填。"},
	} {
		e := &bellman.Invalid{}
		e.Note(tt.field, tt.why)
		for code, want := range map[string]string{"en": tt.en, "zh": tt.zh} {
			if got := all[code].invalid(e); got != want {
				t.Errorf("%s: %s, in %s: %q; want %q", tt.field, tt.why, code, got, want)
			}
		}
	}
}

// refusers are the sources of errors with which a form can be refused. Each error has a text in
// both languages.
var refusers = []string{"internal/merchant/*.go", "internal/registry/*.go", "internal/account/*.go", "server/accounts.go", "order/accounts.go", "order/poll/accounts.go", "internal/sharelink/*.go", "internal/resend/*.go", "internal/reconcile/runs.go", "internal/reconcile/mapping.go", "server/merchants.go", "server/endpoints.go", "server/sent.go", "engine/admin.go", "engine/complete.go", "order/check.go", "order/told.go", "order/held.go", "order/poll/complete.go", "internal/console/moment.go", "internal/console/list.go", "internal/console/orderlist.go",
	"deliver/address.go", "deliver/merchant.go", "deliver/check.go", "deliver/sign/sign.go", "deliver/sign/standard.go", "deliver/sign/wechat.go", "deliver/sign/md5key.go", "deliver/sign/rsa2.go", "deliver/sign/tv1.go",
	"rule/rule.go", "rule/compile.go", "rule/restrict.go",
	"schedule/parse.go", "schedule/build.go", "schedule/duration.go", "schedule/preset.go", "schedule/rule.go"}

// sources calls do for each call in these files of a function that makes such an error, with the
// text of the first argument and its place.
func sources(t *testing.T, files []string, do func(name string, call *ast.CallExpr, first, where string)) {
	t.Helper()
	eachTree(t, files, func(set *token.FileSet, tree *ast.File) {
		ast.Inspect(tree, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) == 0 {
				return true
			}
			fun, is := call.Fun.(*ast.SelectorExpr)
			of, named := ast.Node(nil), false
			if is {
				of = fun.X
				_, named = of.(*ast.Ident)
			}
			if !named {
				return true
			}
			first, arg := "", call.Args[0]
			if sum, is := arg.(*ast.BinaryExpr); is {
				arg = sum.X
			}
			if text, is := arg.(*ast.BasicLit); is {
				first, _ = strconv.Unquote(text.Value)
			}
			do(of.(*ast.Ident).Name+"."+fun.Sel.Name, call, first, set.Position(call.Pos()).String())
			return true
		})
	})
}

// eachTree calls do for each source file of these patterns, relative to the root of the repository,
// without tests.
func eachTree(t *testing.T, patterns []string, do func(set *token.FileSet, tree *ast.File)) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			do(set, tree)
		}
	}
}

// codes are those of all that a form can be refused with, and where each stands.
func codes(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	files := slices.Concat(refusers, []string{"internal/bill/*.go"}) // its other errors are shown as they are
	sources(t, files, func(name string, _ *ast.CallExpr, code, where string) {
		if name == "coded.Errorf" {
			found[code] = where
		}
	})
	if len(found) < 100 {
		t.Fatalf("only %d codes were found", len(found))
	}
	return found
}

// Every error for a form has a code. Otherwise a page in Chinese would show it in English.
func TestEveryRefusalHasACode(t *testing.T) {
	// What no form meets: the inside, the API, the configuration and tasks of others.
	others := regexp.MustCompile(`^(key %d: |is no master key|want both a Store|resend: |reconcile: |names a place, and no key|%s: names a place, and no key|account %s: |account %.128q|the channel cannot re|the queue's channel is another|max %s: want an age|master %w|RSA key has no public part|the RSA key cannot sign)`)
	fields := regexp.MustCompile(`^(bad|wrong|invalid)\.Add$`)
	sources(t, refusers, func(name string, call *ast.CallExpr, first, where string) {
		switch {
		case name == "errors.New", name == "fmt.Errorf" && !strings.HasSuffix(first, ": %w"):
			if !others.MatchString(first) {
				t.Errorf("%s: %s(%q) has no code", where, name, first)
			}
		case fields.MatchString(name) && !strings.Contains(where, "order/check.go") && !strings.Contains(where, "order/told.go") && !strings.Contains(where, "deliver/check.go"):
			t.Errorf("%s: %s of %q notes a problem that has no code", where, name, first)
		}
	})
}

// What a server or its store cannot do now is said in words, and nothing of the inside.
func TestWhyNotNow(t *testing.T) {
	s := open(t)
	task := s.fake.add(t, &bellman.Task{Queue: "quick", MerchantNo: "M1", URL: "https://a.example/"}, t0)
	page := "/tasks/" + task.ID.String()
	for _, tt := range []struct {
		err    error
		status int
		want   string
	}{
		{bellman.ErrSuperseded, 409, "它已被同一排序键的后续任务取代"},
		{bellman.ErrOverloaded, 503, "服务器暂时无法接受更多请求"},
		{coded.Errorf("resend.many", "%w: %d bulk resends are running", bellman.ErrOverloaded, 32), 503, "已有 32 个批量重发在进行"},
		{bellman.ErrFull, 503, "存储空间已满"},
		{bellman.ErrUnreachable, 503, "无法连接数据库"},
		{bellman.ErrLocked, 503, "请先提交或回滚该事务"},
		{bellman.ErrUnknown, 503, "没有得到确定的结果"},
		{context.DeadlineExceeded, 503, "没有得到确定的结果"},
	} {
		s.fake.fail = fmt.Errorf("commit to 10.0.0.7: %w: of the inside", tt.err)
		form := url.Values{"token": {s.token(t, page)}, "action": {"cancel"}, "reason": {"r"}}
		got := s.do(t, http.MethodPost, page, form, "Accept-Language: zh")
		if got.StatusCode != tt.status || !strings.Contains(got.body, tt.want) || strings.Contains(got.body, "of the inside") {
			t.Errorf("%v: %d; want %d with %q, and nothing of the inside", tt.err, got.StatusCode, tt.status, tt.want)
		}
	}
}

// What an attempt was read as is said in words on the line too, as in the table.
func TestTheLineHasNoCodes(t *testing.T) {
	s := open(t)
	task := s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "order_poll"}, order.Standing{State: "PENDING"}, order.Ask{}), t0,
		bellman.Attempt{Due: t0, Started: t0, Took: time.Second, Action: "query", Reading: "QUERY_ERROR", Result: bellman.ErrorStatus, Status: 500})
	for _, path := range []string{"/orders?merchant_no=M1&order_no=O1", "/tasks/" + task.ID.String()} {
		got := s.get(t, path, "Accept-Language: zh").body
		if strings.Contains(got, "QUERY_ERROR") || !strings.Contains(got, "错误状态码") {
			t.Errorf("%s has the code of a reading", path)
		}
	}
}
