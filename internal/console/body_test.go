package console

import (
	"runtime"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/mask"
)

func TestShowBody(t *testing.T) {
	for _, tt := range []struct {
		name, body, kind string
		want             shownBody
	}{
		{"nothing", "", "", shownBody{}},
		{"JSON keeps numbers and order", `{"b":1.00,"a":[],"c":{},"d":12345678901234567890}`, "application/json",
			shownBody{Text: "{\n  \"b\": 1.00,\n  \"a\": [],\n  \"c\": {},\n  \"d\": 12345678901234567890\n}", Kind: "json", Bytes: 49}},
		{"fields that are there twice stay", `{"a":1,"a":2}`, "", shownBody{Text: "{\n  \"a\": 1,\n  \"a\": 2\n}", Kind: "json", Bytes: 13}},
		{"secrets are masked whole", `{"password":"p","deep":[{"api-key":{"x":[1]}}],"note":"<b>"}`, "",
			shownBody{Text: "{\n  \"password\": \"***\",\n  \"deep\": [\n    {\n      \"api-key\": \"***\"\n    }\n  ],\n  \"note\": \"<b>\"\n}", Kind: "json", Bytes: 60, Masked: true}},
		{"a form", "shop=tea+%E8%8C%B6&token=abc&empty", "application/x-www-form-urlencoded; charset=utf-8",
			shownBody{Text: "shop = tea 茶\ntoken = ***\nempty", Kind: "form", Bytes: 34, Masked: true}},
		{"JSON that was cut", `{"access_token": "abc`, "", shownBody{Text: `{"access_token": "***"`, Kind: "text", Bytes: 21, Masked: true}},
		{"a word alone", `success`, "", shownBody{Text: "success", Kind: "text", Bytes: 7}},
		{"a number alone is no JSON to indent", `12`, "application/json", shownBody{Text: "12", Kind: "text", Bytes: 2}},
		{"no text", "\xff\x00ok", "", shownBody{Text: "\uFFFD⟨U+0000⟩ok", Kind: "binary", Bytes: 4}},
		{"what turns the writing round", "a\u202eb", "", shownBody{Text: "a⟨U+202E⟩b", Kind: "text", Bytes: 5}},
	} {
		if got := showBody([]byte(tt.body), tt.kind); got != tt.want {
			t.Errorf("%s: %+v; want %+v", tt.name, got, tt.want)
		}
	}
}

func TestShowBodyIsBounded(t *testing.T) {
	long := strings.Repeat("长", maxShown)
	got := showBody([]byte(long), "")
	if !got.Cut || len(got.Text) > maxShown || !strings.HasPrefix(long, got.Text) || got.Bytes != len(long) {
		t.Errorf("%d bytes are shown as %d, cut %t", len(long), len(got.Text), got.Cut)
	}
}

// FuzzShowBody: a JSON body is shown as the same JSON, and no part of it is invisible.
func FuzzShowBody(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}]}`, `[`, "a=b&c", "\u202e", `{"token":"x"}`, `"`} {
		f.Add(s, "application/json")
	}
	f.Fuzz(func(t *testing.T, body, kind string) {
		got := showBody([]byte(body), kind)
		if strings.ContainsFunc(got.Text, hidden) {
			t.Errorf("%q is shown as %q", body, got.Text)
		}
		if got.Kind == "json" && !got.Masked && !got.Cut {
			if again, _, ok := indent([]byte(got.Text)); !ok || plain(again) != got.Text {
				t.Errorf("%q is shown as %q, and that as %q", body, got.Text, again)
			}
		}
	})
}

func TestMaskURL(t *testing.T) {
	for _, tt := range []struct{ address, want string }{
		{"", ""},
		{"https://m.example/n", "https://m.example/n"},
		{"https://user:pass@m.example:8443/n", "https://***@m.example:8443/n"},
		{"https://user@m.example", "https://***@m.example"},
		{"https://u:p%40ss@m.example/@x?a=1", "https://***@m.example/@x?a=1"},
		{"https://m.example/n?token=abc&shop=1&Access-Token=x&pin=", "https://m.example/n?token=***&shop=1&Access-Token=***&pin="},
		{"https://m.example/n?a=1#token=x", "https://m.example/n?a=1#token=x"},
		{"http://a b@c/", "***@c/"},
		{"javascript:alert(1)", "javascript:alert(1)"},
		{"https://m.example/\u202e", "https://m.example/⟨U+202E⟩"},
	} {
		if got := maskURL(tt.address); got != tt.want {
			t.Errorf("maskURL(%q) = %q; want %q", tt.address, got, tt.want)
		}
	}
}

func TestCurl(t *testing.T) {
	task := &bellman.Task{URL: "http://m.example/it's?x=1", Header: map[string]string{"X-B": "2", "Authorization": "Bearer abc"}, Body: []byte(`{"a":"it's"}`)}
	want := `curl -i -X 'POST' 'http://m.example/it'\''s?x=1' \
  -H 'Authorization: ***' \
  -H 'X-B: ***' \
  --data-raw '{"a":"it'\''s"}'`
	if got := curl(task, task.URL, "POST", showBody(task.Body, mask.ContentType(task.Header))); got != want {
		t.Errorf("curl:\n%s\nwant:\n%s", got, want)
	}
	// What a body begins with, or an address has in it, is data to curl.
	hostile := &bellman.Task{URL: "http://m.example/[1-9]?{a,b}", Body: []byte("@/etc/passwd")}
	if got, want := curl(hostile, hostile.URL, "POST", showBody(hostile.Body, "")), "curl -i -X 'POST' 'http://m.example/[1-9]?{a,b}' -g \\\n  --data-raw '@/etc/passwd'"; got != want {
		t.Errorf("curl:\n%s\nwant:\n%s", got, want)
	}
	task.Body = []byte("\x00")
	if got := curl(task, task.URL, "POST", showBody(task.Body, mask.ContentType(task.Header))); !strings.HasSuffix(got, "--data-binary @body") {
		t.Errorf("a body that is no text: %s", got)
	}
	for _, address := range []string{"", "amqp://main/orders/paid", "nats://bus/orders.paid"} {
		task.URL = address
		if got := curl(task, task.URL, "POST", showBody(task.Body, mask.ContentType(task.Header))); got != "" {
			t.Errorf("a task to %q, which is no request: %s", address, got)
		}
	}
}

// allocated says how many bytes do takes from the heap, in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A body of any shape costs memory in proportion to its length, shown and as a command.
func TestDeepBodiesAreCheap(t *testing.T) {
	deep := func(depth, items int) string {
		return strings.Repeat("[", depth) + strings.Repeat("1,", items) + "1" + strings.Repeat("]", depth)
	}
	for name, body := range map[string]string{
		"of the review":       deep(5000, 20_000),
		"as deep as JSON is":  deep(9_990, 110_000),
		"of objects":          strings.Repeat(`{"a":`, 5000) + "[" + strings.Repeat("1,", 20_000) + "1]" + strings.Repeat("}", 5000),
		"deep as json allows": deep(250, 120_000),
	} {
		t.Run(name, func(t *testing.T) {
			task := &bellman.Task{URL: "http://m.example/", Body: []byte(body)}
			var shown shownBody
			took := allocated(func() {
				shown = showBody(task.Body, "")
				curl(task, task.URL, "POST", shown)
			})
			if most := uint64(8<<20 + 32*len(body)); took > most {
				t.Errorf("a body of %d bytes takes %d bytes to show; want at most %d", len(body), took, most)
			}
			if !shown.Cut || shown.Kind != "json" || len(shown.Text) > maxShown {
				t.Errorf("%d bytes are shown, cut: %t, as %s; want at most %d, cut, as json", len(shown.Text), shown.Cut, shown.Kind, maxShown)
			}
		})
	}
}

// A secret beyond what is shown is not in the command either.
func TestCurlOfCutBody(t *testing.T) {
	body := strings.Repeat("[", 900) + strings.Repeat("1,", 2000) + `{"token":"s3cret"}` + strings.Repeat("]", 900)
	task := &bellman.Task{URL: "http://m.example/", Body: []byte(body)}
	shown := showBody(task.Body, "")
	if !shown.Cut {
		t.Fatal("the body is not cut: the test is about one that is")
	}
	if got := curl(task, task.URL, "POST", shown); strings.Contains(got, "s3cret") || !strings.HasSuffix(got, "--data-binary @body") {
		t.Errorf("curl of a body that is cut: %.200s; want @body", got)
	}
}
