package gateway

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

const host = "http://gw.internal:8080"

func TestURL(t *testing.T) {
	const asked = host + "/orders/{order_no}/status?shop={vars.shop}&fixed=a%20b"
	tests := []struct {
		name          string
		url, no, shop string
		want          string // after the host; empty: refused
		field         string // that is refused
	}{
		{"plain", asked, "A-1_2.3~", "s1", "/orders/A-1_2.3~/status?shop=s1&fixed=a%20b", ""},
		{"another path", asked, "../x", "s", "", "order_no"},
		{"up", asked, "..", "s", "", "order_no"},
		{"here", asked, ".", "s", "", "order_no"},
		{"up, behind a slash", asked, "a/../../admin", "s", "", "order_no"},
		{"up, behind a backslash", asked, `a\..\admin`, "s", "", "order_no"},
		{"dots that are no step", asked, "..a/b..", "s", "/orders/..a%2Fb../status?shop=s&fixed=a%20b", ""},
		{"nothing", asked, "", "s", "", "order_no"},
		{"slash, query, fragment", asked, "a/b?c=d#e", "s", "/orders/a%2Fb%3Fc%3Dd%23e/status?shop=s&fixed=a%20b", ""},
		{"encoded dots", asked, "%2e%2e", "s", "/orders/%252e%252e/status?shop=s&fixed=a%20b", ""},
		{"path parameter", asked, "..;x", "s", "/orders/..%3Bx/status?shop=s&fixed=a%20b", ""},
		{"CRLF", asked, "a\r\nHost: x", "s", "/orders/a%0D%0AHost%3A%20x/status?shop=s&fixed=a%20b", ""},
		{"not ASCII", asked, "订单", "s", "/orders/%E8%AE%A2%E5%8D%95/status?shop=s&fixed=a%20b", ""},
		{"not UTF-8", asked, "a\xff", "s", "", "order_no"},
		{"another parameter", asked, "a", "s&admin=1", "/orders/a/status?shop=s%26admin%3D1&fixed=a%20b", ""},
		{"plus, semicolon, percent", asked, "a", "+;%41", "/orders/a/status?shop=%2B%3B%2541&fixed=a%20b", ""},
		{"an empty value of a parameter", asked, "a", "", "/orders/a/status?shop=&fixed=a%20b", ""},
		{"two in one segment", host + "/{merchant_no}-{order_no}", "x", "", "/m-x", ""},
		{"dots that come together", host + "/{vars.shop}{order_no}", ".", ".", "", "vars.shop"},
		{"dots of the template", host + "/%2e{order_no}", ".", "", "", "order_no"},
		{"text that is not encoded", host + "/订单 [1]/{order_no}?q=查 询", "a/b", "", "/%E8%AE%A2%E5%8D%95%20%5B1%5D/a%2Fb?q=%E6%9F%A5%20%E8%AF%A2", ""},
		{"no path", host + "?no={order_no}", "a", "", "?no=a", ""},
		{"question mark in the query", host + "/?a=?&no={order_no}", "a", "", "/?a=?&no=a", ""},
		{"several in one value", host + "/?no=x-{order_no}.{merchant_no}&b=1", "a&", "", "/?no=x-a%26.m&b=1", ""},
	}
	for _, tt := range tests {
		r, err := compileOne(Request{URL: tt.url}, "GET")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var bad bellman.Invalid
		f := r.fill(&order.Order{MerchantNo: "m", OrderNo: tt.no, Vars: map[string]string{"shop": tt.shop}}, &bad)
		switch {
		case tt.want == "":
			if len(bad.Fields) == 0 || bad.Fields[0].Field != tt.field {
				t.Errorf("%s: refused %v; want %s", tt.name, bad.Fields, tt.field)
			}
		case len(bad.Fields) > 0:
			t.Errorf("%s: %v", tt.name, &bad)
		default:
			req, err := f.request(t.Context(), r)
			if err != nil || req.URL.String() != host+tt.want {
				t.Errorf("%s: %v, %v; want %s", tt.name, req.URL, err, host+tt.want)
			}
		}
	}
}

func TestBody(t *testing.T) {
	tests := []struct {
		name, mediaType, body, value string
		want, wantType               string // want empty: refused
	}{
		{"JSON", "", `{"no":"{vars.v}","n":[{}]}`, "A1", `{"no":"A1","n":[{}]}`, "application/json"},
		{"quotes", "", `{"no":"{vars.v}"}`, `a","admin":"1`, `{"no":"a\",\"admin\":\"1"}`, "application/json"},
		{"backslash", "", `{"no":"{vars.v}"}`, `a\`, `{"no":"a\\"}`, "application/json"},
		{"CRLF in JSON", "", `{"no":"{vars.v}"}`, "a\r\n\x00", `{"no":"a\r\n\u0000"}`, "application/json"},
		{"JSON within JSON", "", `{"biz":"{\"no\":1,\"a\":\"\\\"\"}","no":"{vars.v}"}`, "1", `{"biz":"{\"no\":1,\"a\":\"\\\"\"}","no":"1"}`, "application/json"},
		{"number", "", `{"n": {vars.v} }`, "-1.5e3", `{"n": -1.5e3 }`, "application/json"},
		{"no number", "", `{"n":{vars.v}}`, `1,"admin":1`, "", ""},
		{"no number either", "", `{"n":{vars.v}}`, "01", "", ""},
		{"a word for a number", "", `{"n":{vars.v}}`, "true", "", ""},
		{"nothing for a number", "", `{"n":{vars.v}}`, "", "", ""},
		{"white space for a number", "", `{"n":{vars.v}}`, "1 ", "", ""},
		{"list", "", `["{vars.v}"]`, "a", `["a"]`, "application/json"},
		{"own type", "application/vnd.shop+json; charset=utf-8", `"{vars.v}"`, `"`, `"\""`, "application/vnd.shop+json; charset=utf-8"},
		{"form", "", "no={vars.v}&fixed=a+b", "a&admin=1+ü", "no=a%26admin%3D1%2B%C3%BC&fixed=a+b", "application/x-www-form-urlencoded"},
		{"form of several lines", "application/x-www-form-urlencoded", "\nno={vars.v}\n", "1", "no=1", "application/x-www-form-urlencoded"},
		{"XML", "", `<xml a="{vars.v}"><no>{vars.v}</no></xml>`, `"><a>&`,
			`<xml a="&#34;&gt;&lt;a&gt;&amp;"><no>&#34;&gt;&lt;a&gt;&amp;</no></xml>`, "application/xml"},
		{"own type of XML", "text/xml; charset=utf-8", `<?xml version="1.0" encoding="UTF-8"?><no>{vars.v}</no>`, "a",
			`<?xml version="1.0" encoding="UTF-8"?><no>a</no>`, "text/xml; charset=utf-8"},
		{"control character in XML", "", `<no>{vars.v}</no>`, "a\x01", "", ""},
		{"new line in XML", "", `<no>{vars.v}</no>`, "a\n", "<no>a&#xA;</no>", "application/xml"},
		{"not UTF-8", "", `{"no":"{vars.v}"}`, "\xff", "", ""},
		{"text without a place", "", "ping {}", "", "ping {}", "text/plain; charset=utf-8"},
	}
	for _, tt := range tests {
		from := Request{URL: host + "/{order_no}", Body: tt.body}
		if tt.mediaType != "" {
			from.Headers = map[string]string{"content-type": tt.mediaType}
		}
		r, err := compileOne(from, "POST")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var bad bellman.Invalid
		f := r.fill(&order.Order{OrderNo: "1", Vars: map[string]string{"v": tt.value}}, &bad)
		if refused := len(bad.Fields) == 1 && bad.Fields[0].Field == "vars.v"; refused != (tt.want == "") {
			t.Errorf("%s: refused: %v; want %t", tt.name, bad.Fields, tt.want == "")
		}
		if tt.want != "" && (string(f.body) != tt.want || f.header.Get("Content-Type") != tt.wantType) {
			t.Errorf("%s: %q, %s; want %q, %s", tt.name, f.body, f.header.Get("Content-Type"), tt.want, tt.wantType)
		}
	}
}

func TestHeader(t *testing.T) {
	r, err := compileOne(Request{URL: host + "/{order_no}", Headers: map[string]string{
		"authorization": "Bearer {vars.token}", "X-Fixed": "ä", "user-agent": "shop"}}, "GET")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		token, want string // want empty: refused
	}{
		{"abc", "Bearer abc"},
		{"", "Bearer"},
		{"ü", "Bearer ü"},
		{"a\r\nX-Admin: 1", ""},
		{"a\nb", ""},
		{"a\x00", ""},
		{"a\x7f", ""},
		{" a", ""},
		{"a\t", ""},
		{"a\xff", ""},
	}
	for _, tt := range tests {
		var bad bellman.Invalid
		f := r.fill(&order.Order{OrderNo: "1", Vars: map[string]string{"token": tt.token}}, &bad)
		if refused := len(bad.Fields) == 1 && bad.Fields[0].Field == "vars.token"; refused != (tt.want == "") {
			t.Errorf("%q: refused: %v; want %t", tt.token, bad.Fields, tt.want == "")
		}
		want := http.Header{"Authorization": {tt.want}, "X-Fixed": {"ä"}, "User-Agent": {"shop"}}
		if tt.want != "" && !reflect.DeepEqual(f.header, want) {
			t.Errorf("%q: %v; want %v", tt.token, f.header, want)
		}
	}
}

// What is wrong with a template is told when it is compiled.
func TestCompile(t *testing.T) {
	header := func(name, value string) Request {
		return Request{URL: host + "/{order_no}", Headers: map[string]string{name: value}}
	}
	body := func(body string) Request { return Request{Method: "POST", URL: host + "/{order_no}", Body: body} }
	of := func(mediaType, text string) Request {
		r := body(text)
		r.Headers = map[string]string{"Content-Type": mediaType}
		return r
	}
	tests := []struct {
		from Request
		want string
	}{
		{Request{}, "url: want http://HOST/"},
		{Request{URL: "gw/{order_no}"}, "url: want http://HOST/"},
		{Request{URL: "{order_no}"}, "url: want http://HOST/"},
		{Request{URL: "ftp://gw/{order_no}"}, "url: want http://HOST/"},
		{Request{URL: "http:///{order_no}"}, "url: want http://HOST/"},
		{Request{URL: "http://gw:port/{order_no}"}, "url: want http://HOST/"},
		{Request{URL: "http://{vars.host}/{order_no}"}, "not in the host"},
		{Request{URL: "http://gw:{vars.port}/{order_no}"}, "not in the host"},
		{Request{URL: "http://gw{order_no}"}, "not in the host"},
		{Request{URL: "http://a:b@gw/{order_no}"}, "want a header Authorization"},
		{Request{URL: host + "/#{order_no}"}, "has a fragment"},
		{Request{URL: host + "/{order_no}#a"}, "has a fragment"},
		{Request{URL: host + "/{orderno}"}, "url: {orderno} is unknown: want {order_no}, {merchant_no} or {vars.NAME}"},
		{Request{URL: host + "/{vars.}"}, "{vars.} is unknown"},
		{Request{URL: host + "/{vars.a b}"}, "{vars.a b} is unknown"},
		{Request{URL: host + "/{order_no"}, "{order_no has no closing brace"},
		{Request{URL: host + "/{}{order_no}"}, "a brace begins or ends no placeholder"},
		{Request{URL: host + "/{order_no}}"}, "a brace begins or ends no placeholder"},
		{Request{URL: host + "/%zz/{order_no}"}, "encodes nothing"},
		{Request{URL: host + "/%{order_no}"}, "encodes nothing"},
		{Request{URL: host + "/%2{order_no}"}, "encodes nothing"},
		{Request{URL: host + "/?%2{order_no}=1"}, "encodes nothing"},
		{Request{URL: host + "/?{order_no}"}, "stands in the name of a parameter"},
		{Request{URL: host + "/?a=1&{order_no}=2"}, "stands in the name of a parameter"},
		{Request{URL: host + "/?a={merchant_no}&b{order_no}=2"}, "stands in the name of a parameter"},
		{Request{URL: host + "/orders"}, "names no order"},
		{Request{URL: host + "/{merchant_no}"}, "names no order"},
		{Request{URL: host + "/{order_no}", Method: "get"}, "method: want one of GET"},
		{Request{URL: host + "/{order_no}", Method: "GET", Body: "a"}, "body: a GET has none"},
		{header("Host", "a"), "headers.Host: is set from the URL: leave it out"},
		{header("content-length", "1"), "set from the body"},
		{header("A B", "1"), "headers.A B: not a header's name"},
		{header("X-{order_no}", "1"), "not a header's name"},
		{header("X-A", "a\r\nb"), "headers.X-A: its value has a control character"},
		{header("X-A", " {order_no}"), "white space at an end"},
		{header("X-A", "{order}"), "headers.X-A: {order} is unknown"},
		{header("X-A", "{"), "a brace begins or ends"},
		{Request{URL: host + "/{order_no}", Headers: map[string]string{"X-A": "1", "x-a": "2"}}, "stands there twice"},
		{body(`{"no":"{orderNo}"}`), "body: {orderNo} is unknown"},
		{body(`{"no":"{vars.x"}`), "{vars. has no closing brace"},
		{body(`{"{order_no}":1}`), "stands in the name of a field"},
		{body(`{"a{order_no}" : 1}`), "stands in the name of a field"},
		{body(`{{order_no}:1}`), "is no JSON"},
		{body(`{"no":"{order_no}"`), "is no JSON"},
		{body(`{"no":"\{order_no}"}`), "is no JSON"},
		{body(`{"no":"\u00{order_no}"}`), "is no JSON"},
		{body(`{"no":1{order_no}}`), "is no JSON"},
		{body(`{"no":-{order_no}}`), "is no JSON"},
		{body(`{"no":{order_no}5}`), "is no JSON"},
		{body(`{"no":{order_no}.5}`), "is no JSON"},
		{body(`{"no":{order_no}e5}`), "is no JSON"},
		{body(`{"no":{order_no}{order_no}}`), "is no JSON"},
		{body(`no={order_no}&{merchant_no}=1`), "stands in the name of a parameter"},
		{body(`no={order_no}&a={`), "a brace begins or ends"},
		{body("{order_no}"), "is no JSON, no form and no XML"},
		{body("order {order_no}"), "is no JSON, no form and no XML"},
		{of("text/plain", `{"no":"{order_no}"}`), "is no JSON, no form and no XML"},
		{of("application/json", "no={order_no}"), "is no JSON:"},
		{of("json", `{"no":"{order_no}"}`), "is no JSON, no form and no XML"},
		{of(";", `{"no":"{order_no}"}`), "its Content-Type is none"},
		{of("application/{vars.kind}", `{}`), "its Content-Type has a placeholder"},
		{body("<a><![CDATA[{order_no}]]></a>"), "has a CDATA section"},
		{body("<a><!-- {order_no} --></a>"), "has a CDATA section, a comment"},
		{body("<a {order_no}='1'/>"), "stands in a tag"},
		{body("<{order_no}/>"), "stands in a tag"},
		{body("<a b={order_no}/>"), "stands in a tag"},
		{body("<a>{order_no}</b>"), "is no XML"},
		{body("<a>{order_no}"), "is no XML"},
		{body("<?a?>{order_no}"), "is no XML"},
	}
	for _, tt := range tests {
		if _, err := compileOne(tt.from, "GET"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("compile(%+v) = %v; want %q", tt.from, err, tt.want)
		}
	}
}

// Values that are not refused arrive unchanged. The template alone decides the rest: the method, the
// host, the number of segments of the path, the names of parameters and headers, and the shape of
// the body.
func FuzzFill(f *testing.F) {
	for _, v := range []string{"A1", "../x", "a/b?c=d#e", "%2e%2e", "a\r\nX-A: 1", "订单", `","x":"`, "<a>&]]>", "..", "", "a&b=c;d+e", "\xff", "1.5", "@evil/", `\`} {
		f.Add(v, "m", "7")
	}
	templates := []Request{
		{Method: "POST", URL: host + "/v1/{order_no}/x{vars.v}y?no={order_no}&v={vars.v}", Headers: map[string]string{"X-V": "{vars.v}"},
			Body: `{"no":"{order_no}","deep":{"v":["{vars.v}",{vars.n}]}}`},
		{Method: "POST", URL: host + "/?no={order_no}", Body: "no={order_no}&v=-{vars.v}-&n={vars.n}"},
		{Method: "POST", URL: host + "/{vars.n}", Body: `<a v="{vars.v}"><no>{order_no}</no></a>`},
	}
	var compiled []*request
	for _, from := range templates {
		r, err := compileOne(from, "GET")
		if err != nil {
			f.Fatal(err)
		}
		compiled = append(compiled, r)
	}
	f.Fuzz(func(t *testing.T, no, v, n string) {
		o := &order.Order{OrderNo: no, Vars: map[string]string{"v": v, "n": n}}
		for _, r := range compiled {
			var bad bellman.Invalid
			filled := r.fill(o, &bad)
			if len(bad.Fields) > 0 {
				continue
			}
			req, err := filled.request(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			sent := overTheWire(t, req)
			sample, err := wellFilled(r).request(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if got := arrived(sent, filled.body); got != no {
				t.Errorf("the order %q arrived as %q", no, got)
			}
			if got, want := shape(t, sent), shape(t, overTheWire(t, sample)); !reflect.DeepEqual(got, want) {
				t.Errorf("the shape is %v; want %v", got, want)
			}
			query := sent.URL.Query()
			if query.Has("no") && query.Get("no") != no || query.Has("v") && query.Get("v") != v || sent.Header.Get("X-V") != "" && sent.Header.Get("X-V") != v {
				t.Errorf("arrived as %v, %q", query, sent.Header.Get("X-V"))
			}
		}
	})
}

func wellFilled(r *request) *filled {
	f := r.fill(r.sample(), new(bellman.Invalid))
	return &f
}

// arrived is the order number that a server reads in a body.
func arrived(r *http.Request, body []byte) string {
	var object struct {
		XMLName xml.Name `json:"-" xml:"a"`
		No      string   `json:"no" xml:"no"`
	}
	switch r.Header.Get("Content-Type") {
	case typeForm:
		form, err := url.ParseQuery(string(body))
		if err == nil {
			return form.Get("no")
		}
	case typeJSON:
		if json.Unmarshal(body, &object) == nil {
			return object.No
		}
	case typeXML:
		if xml.Unmarshal(body, &object) == nil {
			return object.No
		}
	}
	return "nothing that can be read"
}

// shape is what no value may change.
func shape(t *testing.T, r *http.Request) []any {
	names := func(v map[string][]string) []string {
		var names []string
		for name, values := range v {
			names = append(names, strings.Repeat(name+" ", len(values)))
		}
		slices.Sort(names)
		return names
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		t.Errorf("query %q: %v", r.URL.RawQuery, err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	header := r.Header.Clone()
	header.Del("Content-Length")
	s := []any{r.Method, r.Host, strings.Count(r.URL.EscapedPath(), "/"), names(query), names(header)}
	for segment := range strings.SplitSeq(r.URL.EscapedPath(), "/") {
		if plain, err := url.PathUnescape(segment); err != nil || plain == "." || plain == ".." {
			t.Errorf("segment %q", segment)
		}
	}
	switch body[0] {
	case '{':
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			t.Errorf("body %q: %v", body, err)
		}
		return append(s, blank(v))
	case '<':
		d := xml.NewDecoder(bytes.NewReader(body))
		for {
			switch token, err := d.Token(); token := token.(type) {
			case xml.StartElement:
				s = append(s, token.Name, len(token.Attr))
			case nil:
				if !errors.Is(err, io.EOF) {
					t.Errorf("body %q: %v", body, err)
				}
				return s
			}
		}
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		t.Errorf("body %q: %v", body, err)
	}
	return append(s, names(form))
}

// blank takes the values out of JSON.
func blank(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = blank(v[name])
		}
	case []any:
		for i := range v {
			v[i] = blank(v[i])
		}
	case string:
		return "text"
	case float64:
		return "number"
	}
	return v
}

// A token may be kept outside the configuration. It is not searched for placeholders.
func TestHeaderFromElsewhere(t *testing.T) {
	t.Setenv("GATEWAY_TOKEN", "Bearer {order_no}")
	r, err := compileOne(Request{URL: host + "/{order_no}", Headers: map[string]string{"Authorization": "env:GATEWAY_TOKEN"}}, "GET")
	if err != nil {
		t.Fatal(err)
	}
	bad := new(bellman.Invalid)
	if got := r.fill(&order.Order{OrderNo: "7"}, bad).header.Get("Authorization"); got != "Bearer {order_no}" || bad.Err() != nil {
		t.Errorf("Authorization = %q, %v; want the variable's text as it is", got, bad.Err())
	}
	_, err = compileOne(Request{URL: host + "/{order_no}", Headers: map[string]string{"Authorization": "env:GATEWAY_NO_TOKEN"}}, "GET")
	if err == nil || !strings.Contains(err.Error(), "GATEWAY_NO_TOKEN is not set") {
		t.Errorf("with a variable that is not set: %v", err)
	}
}

// compileOne is compile with the first mistake.
func compileOne(from Request, method string) (*request, error) {
	r, wrong := compile(from, method)
	if len(wrong) > 0 {
		return nil, wrong[0]
	}
	return r, nil
}
