package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/store/memory"
)

// creates are bodies of POST /v1/tasks, what they are answered with, and where.
var creates = []struct {
	name, body string
	status     int
	wrong      []string
}{
	{"least", `{"queue":"q","url":"http://m.example/n"}`, 201, nil},
	{"spaces", " {\n\t\"queue\" : \"q\" ,\r\n \"url\":\"http://m.example/n\" } \n", 201, nil},
	{"all", `{"queue":"q","key":"M1001/20261120000001/paid","merchant_no":"M1001","order_no":"20261120000001",` +
		`"event":"payment.succeeded","url":"https://merchant.example/notify","method":"POST","headers":{"Content-Type":"application/json"},` +
		`"json":{"order_no":"20261120000001","state":"SUCCESS"},"delay":"0s","schedule":"0s, 15s*2, 30s","success":"success_text",` +
		`"timeout":"5s","max_age":"24h","repeat":"10m"}`, 201, nil},
	{"due", `{"queue":"q","url":"http://m/n","due":"2026-11-20T23:04:05.1239+08:00"}`, 201, nil},
	{"escapes", `{"queue":"q","url":"http://m/n","event":"\u652f\u4ed8 \"paid\" \ud83d\ude00"}`, 201, nil},
	{"json of any kind", `{"queue":"q","url":"http://m/n","json":[1,-2.5e+3,true,false,null,"x",{"a":1,"a":2}]}`, 201, nil},
	{"json null", `{"queue":"q","url":"http://m/n","json":null}`, 201, nil},
	{"days", `{"queue":"q","url":"http://m/n","delay":"1d12h"}`, 201, nil},
	{"body", `{"queue":"q","url":"http://m/n","body":"a=1&b=2"}`, 201, nil},

	{"nothing", ``, 400, nil},
	{"no JSON", `queue=q`, 400, nil},
	{"cut off", `{"queue":"q","url":"http://m/n"`, 400, nil},
	{"cut off in text", `{"queue":"q`, 400, nil},
	{"trailing text", `{"queue":"q","url":"http://m/n"} x`, 400, nil},
	{"two values", `{"queue":"q","url":"http://m/n"}{}`, 400, nil},
	{"trailing comma", `{"queue":"q","url":"http://m/n",}`, 400, nil},
	{"comment", `{"queue":"q","url":"http://m/n"/**/}`, 400, nil},
	{"bad number", `{"queue":"q","url":"http://m/n","json":01}`, 400, nil},
	{"bad escape", `{"queue":"\x","url":"http://m/n"}`, 400, nil},
	{"control character", "{\"queue\":\"q\n\",\"url\":\"http://m/n\"}", 400, nil},
	{"not UTF-8", "{\"queue\":\"q\",\"url\":\"http://m/n\",\"event\":\"\xff\"}", 400, nil},
	{"not UTF-8 in json", "{\"queue\":\"q\",\"url\":\"http://m/n\",\"json\":\"\xff\"}", 400, nil},
	{"too deep", `{"queue":"q","url":"http://m/n","json":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, 400, nil},
	{"field twice", `{"queue":"q","url":"http://m/n","queue":"q"}`, 400, []string{"body.queue"}},
	{"header twice", `{"queue":"q","url":"http://m/n","headers":{"A":"1","A":"2"}}`, 400, []string{"body.headers.A"}},

	{"half a character", `{"queue":"q","url":"http://m/n","event":"paid \ud800","key":"\udc00\ud800"}`, 400, []string{"body.event", "body.key"}},
	{"half a character before a whole one", `{"queue":"q","url":"http://m/n","body":"\ud83d\ud83d\ude00"}`, 400, []string{"body.body"}},
	{"half a character in a header", `{"queue":"q","url":"http://m/n","headers":{"A":"\ud83dx"}}`, 400, []string{"body.headers.A"}},
	{"half a character in a name", `{"queue":"q","url":"http://m/n","\ud83d":1}`, 400, nil},
	{"half a character in a time", `{"queue":"q","url":"http://m/n","due":"\ud83d"}`, 400, []string{"body.due"}},
	{"half a character in json", `{"queue":"q","url":"http://m/n","json":"\ud800"}`, 201, nil}, // goes out as it came
	{"the character that stands for others", `{"queue":"q","url":"http://m/n","event":"\ufffd\\ud800 \ufffd"}`, 201, nil},

	{"array", `[]`, 422, []string{"body"}},
	{"null", `null`, 422, []string{"body"}},
	{"empty", `{}`, 422, []string{"body.queue", "body.url"}},
	{"empty queue", `{"queue":"","url":"http://m/n"}`, 422, []string{"body.queue"}},
	{"types", `{"queue":5,"key":true,"url":null,"headers":[],"due":1,"delay":15,"schedule":{},"body":["x"]}`, 422,
		[]string{"body.body", "body.delay", "body.due", "body.headers", "body.key", "body.queue", "body.schedule", "body.url"}},
	{"type of a header", `{"queue":"q","url":"http://m/n","headers":{"A":1}}`, 422, []string{"body.headers.A"}},
	{"unknown", `{"queue":"q","url":"http://m/n","colour":"red","size":1}`, 422, []string{"body.colour", "body.size"}},
	{"case", `{"queue":"q","url":"http://m/n","Key":"k"}`, 422, []string{"body.Key"}},
	{"an order's", `{"queue":"q","url":"http://m/n","expires":"30m","vars":{},"notify":{}}`, 422, []string{"body.expires", "body.notify", "body.vars"}},
	{"ordering", `{"queue":"q","url":"http://m/n","ordering_key":"o","supersedes":true}`, 201, nil},
	{"no ordering", `{"queue":"q","url":"http://m/n","ordering_key":"","supersedes":false}`, 201, nil},
	{"types of an ordering", `{"queue":"q","url":"http://m/n","ordering_key":1,"supersedes":"true"}`, 422, []string{"body.ordering_key", "body.supersedes"}},
	{"a long ordering key", fmt.Sprintf(`{"queue":"q","url":"http://m/n","ordering_key":"%s"}`, strings.Repeat("é", 128)), 422, []string{"body.ordering_key"}},
	{"both bodies", `{"queue":"q","url":"http://m/n","body":"x","json":1}`, 422, []string{"body.json"}},
	{"due and delay", `{"queue":"q","url":"http://m/n","due":"2026-11-20T15:04:05Z","delay":"1s"}`, 422, []string{"body.delay"}},
	{"no time", `{"queue":"q","url":"http://m/n","due":"tomorrow"}`, 422, []string{"body.due"}},
	{"time without zone", `{"queue":"q","url":"http://m/n","due":"2026-11-20T15:04:05"}`, 422, []string{"body.due"}},
	{"time before all", `{"queue":"q","url":"http://m/n","due":"1969-12-31T00:00:00Z"}`, 422, []string{"body.due"}},
	{"durations", `{"queue":"q","url":"http://m/n","delay":"-1s","timeout":"5","max_age":"never"}`, 422,
		[]string{"body.delay", "body.max_age", "body.timeout"}},
	{"durations of nothing", `{"queue":"q","url":"http://m/n","timeout":"0s","max_age":"0s"}`, 422, []string{"body.max_age", "body.timeout"}},
	{"control characters", `{"queue":"q\u0000","key":"a\nb","merchant_no":"\u007f","url":"http://m/n"}`, 422,
		[]string{"body.key", "body.merchant_no", "body.queue"}},
	{"headers", `{"queue":"q","url":"http://m/n","headers":{"A B":"1","C":"1\r\nD: 2"}}`, 422, []string{"body.headers.A B", "body.headers.C"}},
	{"long texts", fmt.Sprintf(`{"queue":"q","key":"%s","merchant_no":"%[2]s","order_no":"%[2]s","event":"%[2]s","url":"http://m/%[3]s","method":"%[4]s","delay":"%[2]s"}`,
		strings.Repeat("k", 256), strings.Repeat("n", 129), strings.Repeat("u", 2000), strings.Repeat("M", 17)), 422,
		[]string{"body.delay", "body.event", "body.key", "body.merchant_no", "body.method", "body.order_no", "body.url"}},
	{"long rules", fmt.Sprintf(`{"queue":"%s","url":"http://m/n","schedule":"%[2]s","success":"%[2]s","repeat":"%[3]s"}`,
		strings.Repeat("q", 129), strings.Repeat("0", 4001), strings.Repeat("r", 201)), 422,
		[]string{"body.queue", "body.repeat", "body.schedule", "body.success"}},
	{"key of 256 bytes", `{"queue":"q","url":"http://m/n","key":"` + strings.Repeat("付", 85) + `x"}`, 422, []string{"body.key"}},
	{"key of 255 bytes", `{"queue":"q","url":"http://m/n","key":"` + strings.Repeat("付", 85) + `"}`, 201, nil},
	{"long in characters only", `{"queue":"q","url":"http://m/n","event":"` + strings.Repeat("付", 128) + `"}`, 201, nil},
	{"what the engine finds", `{"queue":"q","schedule":"often"}`, 422, []string{"body.schedule", "body.url"}},

	{"least order", `{"queue":"orders","merchant_no":"M1","order_no":"1"}`, 201, nil},
	{"all of an order", `{"queue":"orders","key":"k","merchant_no":"M1","order_no":"2/3","event":"placed","expires":"15m","schedule":"3s*20",` +
		`"timeout":"2s","delay":"0s","vars":{"app_id":"wx1","empty":""},"notify":{"url":"https://merchant.example/n?a=1","json":{"a":{"b":[1]},"c":"<>"}}}`, 201, nil},
	{"order with an address alone", `{"queue":"orders","merchant_no":"M1","order_no":"3","notify":{"url":"http://m/n"},"vars":{}}`, 201, nil},
	{"order with json alone", `{"queue":"orders","merchant_no":"M1","order_no":"4","notify":{"json":{}},"due":"2026-11-20T15:04:05Z"}`, 201, nil},
	{"order without numbers", `{"queue":"orders"}`, 422, []string{"body.merchant_no", "body.order_no"}},
	{"order of an empty number", `{"queue":"orders","merchant_no":"M1","order_no":""}`, 422, []string{"body.order_no"}},
	{"what is not for orders", `{"queue":"orders","merchant_no":"M1","order_no":"1","url":"http://m/n","method":"GET","headers":{},"body":"x","json":1,` +
		`"success":"http_2xx","max_age":"1h","repeat":"1h"}`, 422,
		[]string{"body.body", "body.headers", "body.json", "body.max_age", "body.method", "body.repeat", "body.success", "body.url"}},
	{"what is for orders alone", `{"queue":"q","url":"http://m/n","order_created":"2026-11-20T15:04:05Z","expires":"1m","vars":{"a":"b"},"notify":{"url":"http://m/n"}}`, 422,
		[]string{"body.expires", "body.notify", "body.order_created", "body.vars"}},
	{"order of no queue", `{"queue":"gone","merchant_no":"M1","order_no":"1","expires":"1m"}`, 422, []string{"body.queue", "body.url"}},
	{"types of an order", `{"queue":"orders","merchant_no":1,"order_no":"1","order_created":1763651045,"expires":30,"vars":[],"notify":"http://m/n"}`, 422,
		[]string{"body.expires", "body.merchant_no", "body.notify", "body.order_created", "body.vars"}},
	{"types in an order", `{"queue":"orders","merchant_no":"M1","order_no":"1","vars":{"a":1},"notify":{"url":5,"json":{}}}`, 422,
		[]string{"body.notify.url", "body.vars.a"}},
	{"nulls of an order", `{"queue":"orders","merchant_no":"M1","order_no":"1","expires":null,"vars":null,"notify":null,"timeout":5}`, 422,
		[]string{"body.expires", "body.notify", "body.timeout", "body.vars"}},
	{"durations of an order", `{"queue":"orders","merchant_no":"M1","order_no":"1","expires":"0s","timeout":"-1s","delay":"1.5s"}`, 422,
		[]string{"body.delay", "body.expires", "body.timeout"}},
	{"a long time to pay", `{"queue":"orders","merchant_no":"M1","order_no":"1","expires":"3651d"}`, 422, []string{"body.expires"}},
	{"creation of an order at the zero of a clock", `{"queue":"orders","merchant_no":"M1","order_no":"1","order_created":"1970-01-01T00:00:00Z"}`, 422, []string{"body.order_created"}},
	{"creation of an order after all", `{"queue":"orders","merchant_no":"M1","order_no":"1","order_created":"9999-12-31T23:59:59-08:00"}`, 422, []string{"body.order_created"}},
	{"creation of an order without zone", `{"queue":"orders","merchant_no":"M1","order_no":"1","order_created":"2026-11-20T15:04:05"}`, 422, []string{"body.order_created"}},
	{"vars", `{"queue":"orders","merchant_no":"M1","order_no":"1","vars":{"a b":"1","":"2","x}":"3","` + strings.Repeat("n", 65) + `":"4","ok":"` + strings.Repeat("v", 4001) + `"}}`, 422,
		[]string{"body.vars.", "body.vars.a b", "body.vars." + strings.Repeat("n", 60) + "…", "body.vars.ok", "body.vars.x}"}},
	{"many vars", `{"queue":"orders","merchant_no":"M1","order_no":"1","vars":{` + manyVars(65) + `}}`, 422, []string{"body.vars"}},
	{"as many vars as may be", `{"queue":"orders","merchant_no":"M1","order_no":"5","vars":{` + manyVars(64) + `}}`, 201, nil},
	{"var twice", `{"queue":"orders","merchant_no":"M1","order_no":"1","vars":{"a":"1","a":"2"}}`, 400, []string{"body.vars.a"}},
	{"notify says nothing", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{}}`, 422, []string{"body.notify"}},
	{"unknown in notify", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"http://m/n","method":"GET"}}`, 422, []string{"body.notify.method"}},
	{"twice in notify", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"http://m/n","url":"http://m/n"}}`, 400, []string{"body.notify.url"}},
	{"twice in what the merchant is told", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"json":{"a":{"b":1,"b":2}}}}`, 400, nil},
	{"merchant is told no object", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"http://m/n","json":[1]}}`, 422, []string{"body.notify.json"}},
	{"merchant is told null", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"json":null}}`, 422, []string{"body.notify.json"}},
	{"address of a file", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"file:///etc/passwd"}}`, 422, []string{"body.notify.url"}},
	{"address of no host", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"https:///n"}}`, 422, []string{"body.notify.url"}},
	{"relative address", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"/n"}}`, 422, []string{"body.notify.url"}},
	{"address with a password", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"https://a:b@m/n"}}`, 422, []string{"body.notify.url"}},
	{"address with a space", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"https://m/n n"}}`, 422, []string{"body.notify.url"}},
	{"address of no possible host", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"https://m..example/n"}}`, 422, []string{"body.notify.url"}},
	{"address with an impossible port", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"https://m:99999/n"}}`, 422, []string{"body.notify.url"}},
	{"address of a broker", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"amqp://main/orders/paid"}}`, 422, []string{"body.notify.url"}},
	{"long address", `{"queue":"orders","merchant_no":"M1","order_no":"1","notify":{"url":"https://m/` + strings.Repeat("n", 2000) + `"}}`, 422, []string{"body.notify.url"}},
	{"numbers too long for a key", `{"queue":"orders","merchant_no":"` + strings.Repeat("m", 128) + `","order_no":"` + strings.Repeat("n", 128) + `"}`, 422, []string{"body.key"}},
	{"the same with a key", `{"queue":"orders","key":"k2","merchant_no":"` + strings.Repeat("m", 128) + `","order_no":"` + strings.Repeat("n", 128) + `"}`, 201, nil},
	{"event of our own", `{"queue":"orders","merchant_no":"M1","order_no":"1","event":"order.late_watch"}`, 422, []string{"body.event"}},
	{"due and delay of an order", `{"queue":"orders","merchant_no":"M1","order_no":"1","due":"2026-11-20T15:04:05Z","delay":"0s"}`, 422, []string{"body.delay"}},
}

func manyVars(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"v%d":"x"`, i)
	}
	return b.String()[1:]
}

func TestCreateIsStrict(t *testing.T) {
	m := make1(t, withOrders())
	for _, tt := range creates {
		w := m.do("POST", "/v1/tasks", tt.body)
		if w.Code != tt.status {
			t.Errorf("%s: %d %s; want %d", tt.name, w.Code, w.Body, tt.status)
		}
		if tt.status < 400 {
			continue
		}
		_, got := problemOf(t, w)
		slices.Sort(got)
		if !slices.Equal(slices.Compact(got), tt.wrong) {
			t.Errorf("%s: wrong are %q; want %q: %s", tt.name, got, tt.wrong, w.Body)
		}
	}
}

// A task that was created is answered as it is read.
func TestCreateAnswersTheTask(t *testing.T) {
	for _, tt := range creates {
		if tt.status != 201 {
			continue
		}
		m := make1(t, withOrders())
		created := m.do("POST", "/v1/tasks", tt.body)
		var task, read map[string]any
		if err := json.Unmarshal(created.Body.Bytes(), &task); err != nil {
			t.Fatal(err)
		}
		if got, want := created.Header().Get("Location"), "/v1/tasks/"+task["id"].(string); got != want {
			t.Errorf("%s: Location %q; want %q", tt.name, got, want)
		}
		w := m.do("GET", "/v1/tasks/"+task["id"].(string), "")
		if err := json.Unmarshal(w.Body.Bytes(), &read); err != nil {
			t.Fatal(err)
		}
		for name, value := range task {
			if got := fmt.Sprint(read[name]); got != fmt.Sprint(value) {
				t.Errorf("%s: created with %s %v, read with %s", tt.name, name, value, got)
			}
		}
	}
}

func TestBatch(t *testing.T) {
	m := make1(t, Options{})
	w := m.do("POST", "/v1/tasks/batch", `{"tasks":[
		{"queue":"q","url":"http://m/n","key":"a"},
		{"queue":"q","url":"http://m/n","key":"a"},
		{"queue":"q","url":"http://m/other","key":"a"},
		{"queue":"q","url":"http://m/n","queue":"q"},
		7,
		{"queue":"q","schedule":"often"},
		{"queue":"q","url":"http://m/n","body":"`+strings.Repeat("x", maxTask+1)+`"},
		{"queue":"q","url":"http://m/n","delay":"x","colour":1}]}`)
	var out struct {
		Results []struct {
			Status int
			Task   *struct{ ID string }
			Error  *struct {
				Status   int
				Instance string
				Errors   []struct{ Location string }
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := []struct {
		status int
		wrong  string
	}{
		{201, ""}, {200, ""}, {409, ""}, {400, "[{body.tasks[3].queue}]"}, {422, "[{body.tasks[4]}]"},
		{422, "[{body.tasks[5].schedule} {body.tasks[5].url}]"}, {413, ""}, {422, "[{body.tasks[7].colour} {body.tasks[7].delay}]"},
	}
	if len(out.Results) != len(want) {
		t.Fatalf("%d results; want %d: %s", len(out.Results), len(want), w.Body)
	}
	for i, r := range out.Results {
		if r.Status != want[i].status || (r.Task == nil) == (r.Status < 300) {
			t.Errorf("result %d: %+v; want %d", i, r, want[i].status)
		}
		if r.Error == nil {
			continue
		}
		if wrong := strings.TrimPrefix(fmt.Sprint(r.Error.Errors), "[]"); wrong != want[i].wrong || r.Error.Status != r.Status {
			t.Errorf("result %d: wrong are %s; want %s", i, wrong, want[i].wrong)
		}
	}
	first := out.Results[0].Task.ID
	if out.Results[1].Task.ID != first || out.Results[2].Error.Instance != "/v1/tasks/"+first {
		t.Errorf("the task that has the key is not named: %s", w.Body)
	}
}

func TestBatchIsStrict(t *testing.T) {
	one := `{"queue":"q","url":"http://m/n"}`
	m := make1(t, Options{})
	tests := []struct {
		name, body string
		status     int
		wrong      []string
	}{
		{"one", `{"tasks":[` + one + `]}`, 200, nil},
		{"most", `{"tasks":[` + strings.Repeat(one+",", client.MaxBatch-1) + one + `]}`, 200, nil},
		{"none", `{"tasks":[]}`, 422, []string{"body.tasks"}},
		{"too many", `{"tasks":[` + strings.Repeat(one+",", client.MaxBatch) + one + `]}`, 422, []string{"body.tasks"}},
		{"far too many", `{"tasks":[` + strings.Repeat("1,", 3*client.MaxBatch) + `1]}`, 422, []string{"body.tasks"}},
		{"no tasks", `{}`, 422, []string{"body.tasks"}},
		{"null", `{"tasks":null}`, 422, []string{"body.tasks"}},
		{"unknown", `{"tasks":[` + one + `],"x":1}`, 422, []string{"body.x"}},
		{"twice", `{"tasks":[` + one + `],"tasks":[` + one + `]}`, 400, []string{"body.tasks"}},
		{"dry", `{"dry_run": true ,"tasks":[` + one + `]}`, 200, nil},
		{"not dry", `{"tasks":[` + one + `],"dry_run":false}`, 200, nil},
		{"dry of text", `{"tasks":[` + one + `],"dry_run":"true"}`, 422, []string{"body.dry_run"}},
		{"dry twice", `{"dry_run":false,"tasks":[` + one + `],"dry_run":false}`, 400, []string{"body.dry_run"}},
		{"array", `[` + one + `]`, 422, []string{"body"}},
		{"cut off", `{"tasks":[` + one, 400, nil},
		{"trailing", `{"tasks":[` + one + `]}]`, 400, nil},
		{"too large", `{"tasks":[` + one + `]}` + strings.Repeat(" ", maxBatch), 413, nil},
	}
	for _, tt := range tests {
		w := m.do("POST", "/v1/tasks/batch", tt.body)
		if w.Code != tt.status {
			t.Errorf("%s: %d %.300s; want %d", tt.name, w.Code, w.Body, tt.status)
			continue
		}
		if w.Code >= 400 {
			if _, got := problemOf(t, w); !slices.Equal(got, tt.wrong) {
				t.Errorf("%s: wrong are %q; want %q", tt.name, got, tt.wrong)
			}
		}
	}
}

// FuzzCreate: for every body, the answer is 201 or a refusal of the caller's mistake. A body that
// was accepted once is accepted again as the same task.
func FuzzCreate(f *testing.F) {
	for _, tt := range creates {
		f.Add([]byte(tt.body))
	}
	m := make1(f, withOrders())
	f.Fuzz(func(t *testing.T, body []byte) {
		m.fake.Store = memory.New()
		w := m.do("POST", "/v1/tasks", string(body))
		switch w.Code {
		case 400, 409, 413, 422:
			problemOf(t, w)
			return
		case 200, 201:
		default:
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
		if !json.Valid(body) || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("accepted %q with %s", body, w.Body)
		}
		var in, out map[string]any
		if json.Unmarshal(body, &in) != nil || json.Unmarshal(w.Body.Bytes(), &out) != nil {
			t.Fatalf("accepted %q", body)
		}
		for _, name := range []string{"queue", "key", "merchant_no", "order_no", "event", "url"} {
			if want, is := in[name]; is && out[name] != want {
				t.Fatalf("accepted %q as %s %q", body, name, out[name])
			}
		}
		again := m.do("POST", "/v1/tasks", string(body))
		if (in["queue"] == "orders" || in["key"] != nil && in["key"] != "") && again.Code != 200 || again.Code > 201 {
			t.Fatalf("%q: first %d, then %d %s", body, w.Code, again.Code, again.Body)
		}
	})
}

// FuzzScan: the scanner accepts what encoding/json accepts, if the text is UTF-8, is not nested too
// deep, has names of whole characters, and has no duplicate name where that is checked.
func FuzzScan(f *testing.F) {
	for _, tt := range creates {
		f.Add([]byte(tt.body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scan(data)
		if err == nil {
			_, err = s.value()
		}
		if err == nil {
			err = s.end()
		}
		if err == nil && !json.Valid(data) {
			t.Errorf("%q is accepted", data)
		}
		if err != nil && json.Valid(data) && !strings.Contains(err.Error(), "UTF-8") && !strings.Contains(err.Error(), "nested deeper") && !strings.Contains(err.Error(), "surrogate") {
			t.Errorf("%q is refused: %v", data, err)
		}
	})
}
