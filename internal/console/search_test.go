package console

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store/memory"
)

func TestSearchShowsWhatATextMayMean(t *testing.T) {
	s := open(t)
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "X", URL: "http://m.example/"}, t0)
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "X", URL: "http://m.example/"}, t0.Add(time.Second))
	got := s.get(t, "/search?q=X")
	for _, want := range []string{"Tasks with this key", "Tasks of this merchant"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if got := s.get(t, "/search?q="+strings.Repeat("x", 401)); got.StatusCode != http.StatusOK || !strings.Contains(got.body, "is 401 bytes long: want at most 400") {
		t.Errorf("a text that is too long: %d", got.StatusCode)
	}
	if got := s.get(t, "/search?q="); !strings.Contains(got.body, "Recent searches") || !strings.Contains(got.body, `<button name="q" value="X">X</button>`) {
		t.Errorf("no text after a search: %s; want what was searched for", got.body)
	}
	s.client = s.browser(t)
	if got := s.get(t, "/search?q="); got.Header.Get("Location") != "/tasks" {
		t.Errorf("no text in a new browser leads to %q", got.Header.Get("Location"))
	}
}

func TestHostOf(t *testing.T) {
	for text, want := range map[string]string{
		"m.example": "m.example", "m.example:8443": "m.example:8443", "https://m.example/notify?x=1": "m.example",
		"https://u:p@m.example:8443/": "m.example:8443", "127.0.0.1": "127.0.0.1", "localhost:8080": "localhost:8080", "[::1]:80": "[::1]:80",
		"M1001": "", "20261120000001": "", "M1001/A-1": "", "a b": "", "http://": "",
	} {
		if got := hostOf(text); got != want {
			t.Errorf("hostOf(%q) = %q; want %q", text, got, want)
		}
	}
}

// misread are the names of the fields of a taskFilter that could not be read.
func misread(w *taskFilter) (names []string) {
	for _, f := range w.Wrong.Fields {
		names = append(names, f.Field)
	}
	return names
}

func TestReadWish(t *testing.T) {
	w := readTaskFilter(url.Values{"merchant_no": {"M1"}, "state": {"failed"}, "status": {"500"}, "kind": {"notify"}, "from": {"2026-11-20T23:00"}, "to": {"2026-11-21"}, "zone": {"Asia/Shanghai"}})
	if len(w.Wrong.Fields) > 0 || w.MerchantNo != "M1" || *w.State != bellman.Failed || w.Status != 500 || !w.Picky() ||
		!w.CreatedFrom.Equal(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)) || !w.CreatedTo.Equal(time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", w)
	}
	again, err := url.Parse(w.Address("/tasks"))
	if err != nil {
		t.Fatal(err)
	}
	if back := readTaskFilter(again.Query()); back.Address("/tasks") != w.Address("/tasks") {
		t.Errorf("the address %s is read as %s", w.Address("/tasks"), back.Address("/tasks"))
	}
	for name, value := range map[string]string{"state": "done", "status": "99", "kind": "x", "result": "x", "from": "yesterday", "key": strings.Repeat("x", 401)} {
		w := readTaskFilter(url.Values{name: {value}})
		if !slices.Equal(misread(w), []string{"filter." + name}) || !w.Empty() {
			t.Errorf("%s=%.20s is wrong in %v, and left is %v; want it told, and left out", name, value, w.Wrong, w.values)
		}
	}
	for _, zone := range []string{"Asia/Shangai", strings.Repeat("x", 401)} { // what is meant by a time cannot be known
		w := readTaskFilter(url.Values{"zone": {zone}, "from": {"2026-11-20T23:00"}, "to": {"2026-11-21T01:00:00Z"}})
		if !slices.Equal(misread(w), []string{"filter.zone", "filter.from"}) || !w.CreatedFrom.IsZero() || w.CreatedTo.IsZero() || w.Get("zone") != "" {
			t.Errorf("the zone %.20q: %+v; want it and the time in it told, and left out", zone, w)
		}
	}
}

// A zone that there is not is told by the list, and refused by all that acts on many.
func TestAnUnknownZone(t *testing.T) {
	s := openWith(t, &fake{Store: memory.New()}, Options{Resends: &manyResends{}})
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", URL: "http://m.example/"}, t0)
	const filter = "?merchant_no=M1&from=2026-11-20T03%3A30&zone=Asia%2FShangai"
	list := s.get(t, "/tasks"+filter).body
	if !strings.Contains(list, "cannot be read: Time zone: &#34;Asia/Shangai&#34; is no time zone: want one such as Asia/Shanghai. Created from: &#34;2026-11-20T03:30&#34; means nothing without") || strings.Contains(list, "/resends/new") {
		t.Errorf("the list does not say that the zone was left out, or offers to resend what was not asked for: %s", list)
	}
	for _, path := range []string{"/tasks.csv", "/resends/new"} {
		if got := s.get(t, path+filter); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Time zone") {
			t.Errorf("%s: %d; want 422, and which field", path, got.StatusCode)
		}
	}
	got := s.post(t, "/tasks", "/resends", "merchant_no", "M1", "from", "2026-11-20T03:30", "zone", "Asia/Shangai", "mode", "once", "rate", "50", "reason", "test")
	if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Time zone") {
		t.Errorf("the job: %d %s; want 422, and which field", got.StatusCode, got.body)
	}
}

// A time zone alone selects every task, which a bulk resend refuses: the list does not offer it.
func TestATimeZoneAloneIsNoFilter(t *testing.T) {
	s := openWith(t, &fake{Store: memory.New()}, Options{Resends: &manyResends{}})
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", URL: "http://m.example/"}, t0)
	for query, want := range map[string]bool{"": false, "?zone=Asia%2FShanghai": false, "?zone=Asia%2FShanghai&merchant_no=M1": true, "?zone=Asia%2FShanghai&from=2026-11-20T00%3A00": true, "?kind=notify": true} {
		if got := strings.Contains(s.get(t, "/tasks"+query).body, `href="/resends/new`); got != want {
			t.Errorf("/tasks%s offers to resend its tasks: %t; want %t", query, got, want)
		}
	}
}

// A value of a filter that cannot be read is reported with its name, as it was given, and with what
// would be right, in the language of the page: by the list, and by actions that use the filter.
func TestWhatAFilterHasWrong(t *testing.T) {
	s := openWith(t, &fake{Store: memory.New()}, Options{Resends: &manyResends{}})
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", URL: "http://m.example/"}, t0)
	for _, tt := range []struct{ query, en, zh string }{
		{"status=abc", `Last HTTP status: "abc" is no HTTP status: want 100 to 599, such as 500.`, `最近 HTTP 状态码: "abc" 不是 HTTP 状态码：应为 100 至 599，如 500。`},
		{"state=done", `State: "done" is no state: want one of pending, succeeded, failed, cancelled.`, `状态: 没有 "done" 这个状态：应为 pending, succeeded, failed, cancelled 之一。`},
		{"kind=x", `Kind: "x" is no kind: want notify, order or poll.`, `类型: 没有 "x" 这个类型：应为 notify、order 或 poll。`},
		{"result=bad", `Last result: "bad" is no result: want one of accepted, refused,`, `最近结果: 没有 "bad" 这种结果：应为 accepted, refused,`},
		{"from=yesterday", `Created from: "yesterday" is no time from 1970 on: want one such as 2026-11-20 15:04`, `创建时间从: "yesterday" 不是 1970 年以后的时间：应如 2026-11-20 15:04`},
		{"zone=Shangai", `Time zone: "Shangai" is no time zone: want one such as Asia/Shanghai.`, `时区: "Shangai" 不是时区：应如 Asia/Shanghai。`},
		{"zone=Shangai&to=2026-11-20", `Created before: "2026-11-20" means nothing without its time zone`, `创建时间到: 时区无法识别，因此无法确定 "2026-11-20" 是何时`},
		{"zone=America/New_York&to=2026-03-08T02:30", `Created before: The clocks of America/New_York never show "2026-03-08T02:30"`, `创建时间到: America/New_York 的时钟此时拨快（夏令时开始），不存在 "2026-03-08T02:30" 这个时间`},
		{"order_no=" + strings.Repeat("9", 401), `Order number: "` + strings.Repeat("9", 40) + `"… is 401 bytes long: want at most 400.`, `订单号: "` + strings.Repeat("9", 40) + `"… 长 401 字节：应不超过 400 字节。`},
		{"from=2026-11-21&to=2026-11-20", `Created from: Want a time before the end, and before now.`, `创建时间从: 应早于结束时间和当前时间。`},
	} {
		for lang, want := range map[string]string{"en": tt.en, "zh": tt.zh} {
			for _, path := range []string{"/tasks", "/tasks.csv", "/resends/new"} {
				got := s.get(t, path+"?merchant_no=M1&"+tt.query, "Accept-Language: "+lang)
				if !strings.Contains(html.UnescapeString(got.body), want) {
					t.Errorf("%s?%.40s in %s: %d, %s; want it to say %q", path, tt.query, lang, got.StatusCode, got.body, want)
				}
				if path != "/tasks" && got.StatusCode != http.StatusUnprocessableEntity {
					t.Errorf("%s?%.40s: %d; want 422", path, tt.query, got.StatusCode)
				}
			}
		}
	}
	got := s.get(t, "/tasks?merchant_no=M1&from=2026-11-21&to=2026-11-20")
	if got.StatusCode != http.StatusUnprocessableEntity || strings.Contains(got.body, "/tasks/") || !strings.Contains(got.body, `name="from" value="2026-11-21T00:00:00"`) {
		t.Errorf("a list of tasks from a time to an earlier one: %d %s; want it refused, with what was given in the form", got.StatusCode, got.body)
	}
}

// The form shows the times of the filter, however they were given, in a zone that gives them the
// same meaning. Otherwise the form would ask for other times when it is sent again.
func TestTheFormHasItsTimes(t *testing.T) {
	s := open(t)
	for query, want := range map[string][]string{
		"from=2026-11-20T15:04:05Z":                  {`name="from" value="2026-11-20T15:04:05"`, `name="zone" value="UTC"`},
		"from=2026-11-20T15:04:05.123Z":              {`name="from" value="2026-11-20T15:04:05.123"`},
		"to=2026-11-20%2015:04":                      {`name="to" value="2026-11-20T15:04:00"`, `name="zone" value="UTC"`},
		"to=2026-11-20T15:04:05Z&zone=Asia/Shanghai": {`name="to" value="2026-11-20T23:04:05"`, `name="zone" value="Asia/Shanghai"`},
		"merchant_no=M1":                             {`name="from" value=""`, `name="zone" value=""`},
	} {
		got := s.get(t, "/tasks?"+query).body
		for _, want := range want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the form has no %s", query, want)
			}
		}
	}
}
