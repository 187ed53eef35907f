package rule_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/rule"
)

func TestExpressions(t *testing.T) {
	page := &rule.Answer{Status: 502, Body: []byte("<html>Bad Gateway</html>"), Attempt: 3}
	text := &rule.Answer{Status: 200, Body: []byte(" success\n"), Attempt: 1}
	paid := &rule.Answer{
		Status: 200,
		Body: []byte(`{"code":0,"ok":true,"id":9007199254740993,"big":12345678901234567890,"rate":1.5,"msg":"Ok","none":null,
			"data":{"state":"SUCCESS","items":[{"id":7,"done":true},{"id":8,"done":false}],"a.b":1}}`),
		Header: http.Header{
			"Content-Type": {"application/json"},
			"X-Many":       {"one", "two"},
		},
		Attempt: 2,
	}
	tests := []struct {
		text   string
		answer *rule.Answer
		want   bool
		err    string // part of the error; empty: no error
	}{
		{`status == 200 && body.trim() == "success"`, text, true, ""},
		{`status == 200 && body == "success"`, text, false, ""},
		{`status == 200 && body.trim() == "success"`, page, false, ""},
		{"  status == 200\n  && attempt == 1\n", text, true, ""},
		{"true", page, true, ""},
		{`attempt > 2`, page, true, ""},
		{`body.contains("Gateway")`, page, true, ""},
		{`body.upperAscii().indexOf("GATEWAY") >= 0`, page, true, ""},
		{`body.replace("\n", "").replace(" ", "") == "success"`, text, true, ""},
		{`body.matches("^\\s*success\\s*$")`, text, true, ""},
		{`matches(body, "^success$")`, text, false, ""},
		{`body.size() == 9`, text, true, ""},
		{`body.split("\n")[0].trim() == "success"`, text, true, ""},

		{`headers["content-type"] == "application/json"`, paid, true, ""},
		{`headers["x-many"] == "one, two"`, paid, true, ""},
		{`"x-many" in headers`, paid, true, ""},
		{`"X-Many" in headers`, paid, false, ""},
		{`headers["x-none"] == ""`, paid, false, "no such key: x-none"},
		{`"x-none" in headers && headers["x-none"] == ""`, paid, false, ""},
		{`headers.exists(h, h.startsWith("x-"))`, paid, true, ""},
		{`"content-type" in headers`, text, false, ""},

		{`json.code == 0`, paid, true, ""},
		{`json.code == "0"`, paid, false, ""},
		{`json.ok == true`, paid, true, ""},
		{`json.id == 9007199254740993`, paid, true, ""},
		{`json.id == 9007199254740992`, paid, false, ""},
		{`json.rate == 1.5 && json.rate > 1`, paid, true, ""},
		{`json.big > 5 && json.big < 1e20 && string(json.big) == "12345678901234567890"`, paid, true, ""},
		{`json_field("big", "regex", "^123.*0$")`, paid, true, ""},
		{`json.none == null`, paid, true, ""},
		{`json.data.state in ["SUCCESS", "FINISHED"]`, paid, true, ""},
		{`json["data"]["a.b"] == 1`, paid, true, ""},
		{`json.data.items[1].id == 8`, paid, true, ""},
		{`json.data.items.exists(i, i.id == 7 && i.done == true)`, paid, true, ""},
		{`json.data.items.all(i, i.done == true)`, paid, false, ""},
		{`json.data.items.exists_one(i, i.done == true)`, paid, true, ""},
		{`has(json.data) && !has(json.error)`, paid, true, ""},
		{`json.state == "x"`, paid, false, "no such key: state"},
		{`json == null`, page, true, ""},
		{`json == null`, paid, false, ""},
		{`json.code == 0`, page, false, "not JSON"},
		{`status == 502 || json.code == 0`, page, true, ""},
		{`string(json.code) == string(json.rate)`, paid, false, ""},

		{`json_field("code", "eq", 0)`, paid, true, ""},
		{`json_field("code", "eq", "0")`, paid, false, ""},
		{`json_field("code", "in", ["0", 0])`, paid, true, ""},
		{`json_field("data.state", "eq", "SUCCESS")`, paid, true, ""},
		{`json_field("data.state", "in", ["OK", "SUCCESS"])`, paid, true, ""},
		{`json_field("data.state", "in", ["OK"])`, paid, false, ""},
		{`json_field("data.state", "regex", "^SUCC")`, paid, true, ""},
		{`json_field("data.state", "regex", "^OK$")`, paid, false, ""},
		{`json_field("code", "regex", "^0+$")`, paid, true, ""},
		{`json_field("ok", "regex", "true")`, paid, false, ""},
		{`json_field("data.items.1.id", "eq", 8)`, paid, true, ""},
		{`json_field("data.items.2.id", "eq", 8)`, paid, false, ""},
		{`json_field("data.items.-1.id", "exists")`, paid, false, ""},
		{`json_field("none", "exists")`, paid, true, ""},
		{`json_field("none", "eq", null)`, paid, true, ""},
		{`json_field("nothing", "exists")`, paid, false, ""},
		{`json_field("code.x.y", "exists")`, paid, false, ""},
		{`json_field("code", "exists")`, page, false, ""},
		{`status == 200 && (json_field("code", "eq", 0) || text_contains("success"))`, text, true, ""},

		{`text_contains("SUCCESS")`, text, true, ""},
		{`text_contains("bad gateway")`, page, true, ""},
		{`text_contains("success")`, page, false, ""},
	}
	for _, tt := range tests {
		r, err := rule.Compile(tt.text)
		if err != nil {
			t.Errorf("Compile(%q): %v", tt.text, err)
			continue
		}
		got, err := r.Accepts(tt.answer)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s of %d %.30q = %t, %v; want %t, %q", tt.text, tt.answer.Status, tt.answer.Body, got, err, tt.want, tt.err)
		}
	}
}

func TestJSONOfBody(t *testing.T) {
	null, err := rule.Compile(`json == null`)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"", " ", "{", `{"a":1} x`, `{"a":1}{"b":2}`, bom + `{}`, "success", "NaN"} {
		if got, err := null.Accepts(&rule.Answer{Body: []byte(body)}); !got || err != nil {
			t.Errorf("json of %q: null is %t, %v; want true", body, got, err)
		}
	}
	for _, body := range []string{"{}", "[]", "0", `"x"`, " {} \n", "true"} {
		if got, err := null.Accepts(&rule.Answer{Body: []byte(body)}); got || err != nil {
			t.Errorf("json of %q: null is %t, %v; want false", body, got, err)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	long := `status == 200 || body == "` + strings.Repeat("x", rule.MaxText) + `"`
	tests := []struct{ text, want string }{
		{"", "no text"},
		{" \n", "no text"},
		{"succes_text", `no preset is called "succes_text": want one of success_text, alipay,`},
		{long, "bytes long: want at most 2048"},
		{"statuss == 200", "column 1: undeclared reference to 'statuss' (did you mean 'status'?); known are status, body, json, headers, attempt"},
		{`status==200 && statuss == 201`, "column 16: undeclared reference to 'statuss' (did you mean 'status'?); known are status, body, json, headers, attempt"},
		{"status == 200 &&\n  trimm(body)", "line 2, column 8: undeclared reference to 'trimm' (did you mean 'trim'?); known functions are size,"},
		{"status", "yields int: want a bool"},
		{"json", "want a bool"},
		{"json.ok", "want a bool, such as json.ok == true"},
		{`status == "200"`, "column 8: == does not take (int, string)"},
		{"status == 200 &&", "column 17"},
		{"status = 200", "column 8"},
		{"status == 200 && (", "column 19"},
		{`body == "`, "column 9"},
		{`json == json`, "one side of == must be known"},
		{`json.a == json.b`, "one side of == must be known"},
		{`json.a in json.b`, "must be known to be text"},
		{`json.a + json.b == 1`, "one side of + must be known"},
		{`[json, json].exists(x, x == 1)`, "constants only"},
		{`{"a": 1} == {"a": 1}`, "maps"},
		{`body.matches(body)`, "written out"},
		{`body.matches("(")`, "missing closing )"},
		{`body.matches("((a{100}){100}){100}")`, "invalid repeat"},
		{`body.matches("(.{900}){1}.{900}")`, "too large"},
		{`body.indexOf(body) == 0`, "written out"},
		{`body.replace("a", "bb") == ""`, "no longer than the first"},
		{`body.split("").join(body) == ""`, "join is not for rules"},
		{`"%s".format([1]) == ""`, "format is not for rules"},
		{`strings.quote(body) == ""`, "is not for rules"},
		{`timestamp("2026-11-20T00:00:00Z").getHours() == 0`, "is not for rules"},
		{`[1].map(x, x)[0] == 1`, "known functions are"},
		{`json_field(body, "exists")`, "written out"},
		{`json_field("a", "is", 1)`, `json_field takes (path, "exists")`},
		{`json_field("a", "eq")`, `json_field takes (path, "exists")`},
		{`json_field("a", "in", "b")`, "takes a list"},
		{`json_field("a", "eq", status)`, "constant"},
		{`json_field("a", "regex", "(")`, "missing closing )"},
		{`json.all(a, json.all(b, json.all(c, json.all(d, a + 1 == 2))))`, "nest fewer loops"},
		{strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300), "recursion"},
	}
	for _, tt := range tests {
		r, err := rule.Compile(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Compile(%.60q) = %v, %v; want an error with %q", tt.text, r, err, tt.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("Compile(%.60q): the error has several lines: %q; want one", tt.text, err)
		}
	}
}

// Without limits these texts would run for hours or fill the memory.
func TestBoundedCost(t *testing.T) {
	ones := "[" + strings.Repeat("1,", 30_000) + "1]"
	deep := strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)
	strs := "[" + strings.Repeat(`"",`, 15_000) + `""]`
	nested := `{"big":` + ones[:40_001] + `1],"list":[` + strings.Repeat("0,", 10_000) + `0]}`
	again := func(s string, n int) string { return strings.Repeat(s, n) }
	tests := []struct{ text, body string }{
		{`body.matches("(x+x+)+y") == false`, again("x", 65536)},
		{`json.all(x, json.all(y, x + 1 > 0 && y + 1 > 0))`, ones},
		{`json.all(x, json.exists(y, y == 2) == false)`, ones},
		{`body.split("").all(x, body.split("").all(y, x != "b"))`, again("a", 65536)},
		{`body.split("").all(x, body.size() > 0` + again(` && body.size() > 0`, 50) + `)`, again("a", 65536)},
		{`json.all(x, int(string(body.size())) > 0)`, strs},
		{`json.list.all(x, size(json.big) > 0 && 1 in json.big)`, nested},
		{`body.matches("(a|b|c|d)*x")` + again(` || body.matches("(a|b|c|d)*x")`, 40), again("abcd", 16384)},
		{`json.list.all(x, !(2 in json.big))`, nested},
		{`json.list.all(x, body == body)`, nested},
		{`json.list.all(x, json.t == json.t + "x" || true)`, `{"t":"` + again("a", 40_000) + `b","list":[` + again("0,", 8_000) + `0]}`},
		{`json.list.all(x, json.t < body && json.t.contains("b") && -size(json.t) < 0)`, `{"t":"` + again("a", 40_000) + `b","list":[` + again("0,", 8_000) + `0]}`},
		{`json.list.all(x, double(body.trim()) > 0.0 || true)`, nested},
		{`json.list.all(x, body.contains("` + again("0,", 400) + `1,") || true)`, nested},
		{`json.list.all(x, !body.startsWith(body.substring(1)))`, nested},
		{`json.list.all(x, body < body + "x")`, nested},
		{`json.list.all(x, json == null || json_field("list.99.a.b.c", "exists") || true)`, nested},
		{`headers.all(h, headers[h] != body)`, nested},
		{`body.matches(".{0,250}x.{0,200}y")`, again("x", 65536)},
		{`json.all(x, json_field("list", "regex", "a") || true)`, nested},
		{`json.list.all(x, json_field("t", "regex", "(a|aa)+$") || true)`, `{"t":"` + again("a", 40_000) + `b","list":[` + again("0,", 8_000) + `0]}`},
		{`json.all(x, text_contains("b") || true)`, strs},
		{`(body` + again(`+body`, 300) + `).size() > 0`, again("a", 65536)},
		{`body.indexOf("` + again("a", 1500) + `b") > 0` + again(` || body.indexOf("b") > 0`, 10), again("a", 65536)},
		{`body.replace("a", "b").reverse().upperAscii().lowerAscii().trim().charAt(1) == "x"`, again("a", 65536)},
		{`json == null` + again(" || json == null", 100), deep},
		{`json.exists(x, x.exists(y, y.exists(z, z == 1)))`, deep},
		{`["a","b"].all(x, ["a","b"].all(y, ["a","b"].all(z, [x + y + z].size() == 1)))`, ""},
	}
	for _, tt := range tests {
		start := spent(t)
		r, err := rule.Compile(tt.text)
		if err == nil {
			_, err = r.Accepts(&rule.Answer{Status: 200, Body: []byte(tt.body)})
		}
		took := spent(t) - start
		t.Logf("%4d ms %.60q: %v", took.Milliseconds(), tt.text, err)
		if took > 3*time.Second { // thirty times the usual time
			t.Errorf("%.60q took %v; want about 100 ms", tt.text, took)
		}
	}
}

func TestStopped(t *testing.T) {
	r, err := rule.Compile(`json.all(x, json.all(y, x + 1 > 0 && y + 1 > 0))`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Accepts(&rule.Answer{Body: []byte("[" + strings.Repeat("1,", 30_000) + "1]")})
	if got || err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("Accepts = %t, %v; want an error that says that the rule was stopped", got, err)
	}
	if got, err := r.Accepts(&rule.Answer{Body: []byte("[1,2,3]")}); !got || err != nil {
		t.Errorf("Accepts of a short answer = %t, %v; want true", got, err)
	}
}

// Only the first 64 KiB of a body are judged.
func TestLongBody(t *testing.T) {
	r, err := rule.Compile(`body.contains("needle")`)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(strings.Repeat(" ", rule.MaxBody) + "needle")
	if got, err := r.Accepts(&rule.Answer{Body: body}); got || err != nil {
		t.Errorf("Accepts = %t, %v; want false, because the text is after the first 64 KiB", got, err)
	}
	if len(body) != rule.MaxBody+6 {
		t.Error("Accepts changed the answer")
	}
}
