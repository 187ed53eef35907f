package mask

import (
	"strings"
	"testing"
)

// Secrets are hidden, and all else stays byte for byte what it is.
func TestBody(t *testing.T) {
	deep := strings.Repeat("[", 5000) + `{"token":"t"}` + strings.Repeat("]", 5000)
	for _, tt := range []struct{ body, media, want string }{
		{"", "", ""},
		{"success", "text/plain", "success"},
		{`{"a":1.50, "a":2,"b":[ ]}`, "application/json", `{"a":1.50, "a":2,"b":[ ]}`},
		{`{"token" : {"x":[1,2]}, "b":"é\u0001"}`, "", `{"token" : "***", "b":"é\u0001"}`},
		{`[{"Access_Token":"s"},{"pin":1234,"n":{"password":null}}]`, "", `[{"Access_Token":"***"},{"pin":"***","n":{"password":"***"}}]`},
		{deep, "", strings.Replace(deep, `"t"`, `"***"`, 1)},
		{"a=1&secret=s&b=2", "application/x-www-form-urlencoded; charset=utf-8", "a=1&secret=***&b=2"},
		{`{"secret":"cut of`, "", `{"secret":"***"`},
		{`{"secret":"cut of\`, "", `{"secret":"***"`},
		{`{"token": {"a":"x}","b":["y"]}, "pin":[1,2], "c":"cut of`, "", `{"token": "***", "pin":"***", "c":"cut of`},
		{`{"a":[{"token":{"key":"k","b":"cut of`, "", `{"a":[{"token":"***"`},
		{`{"a":1,"token":`, "", `{"a":1,"token":`},
		{`said "token": no, and "pin": 12`, "text/plain", `said "token": no, and "pin": "***"`},
	} {
		if got := Body(tt.body, tt.media); got != tt.want {
			t.Errorf("Body(%.200q, %q) = %.200q; want %.200q", tt.body, tt.media, got, tt.want)
		}
	}
}

// In an address key is a secret too, as those of WeCom's robots have it. In a body it is the key of
// a task.
func TestKeys(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{URL("https://qyapi.example/send?key=s&order_key=k&Key=s#key=f"), "https://qyapi.example/send?key=***&order_key=k&Key=***#key=f"},
		{URL("https://u:p@h.example/a?token=t"), "https://***@h.example/a?token=***"},
		{Query("a=1&key=s"), "a=1&key=***"},
		{Body("a=1&key=k", "application/x-www-form-urlencoded"), "a=1&key=k"},
		{Body(`{"key":"k"}`, ""), `{"key":"k"}`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s is shown; want %s", tt.got, tt.want)
		}
	}
}

// Of an answer's header, values that may be secret are masked.
func TestHeaders(t *testing.T) {
	got := Headers(map[string]string{"Server": "nginx", "Location": "https://m.example/in?token=t", "X-Shop": "s"})
	if len(got) != 3 || got["Server"] != "nginx" || got["Location"] != "https://m.example/in?token=***" || got["X-Shop"] != "***" {
		t.Errorf("Headers() = %v", got)
	}
	if got := Headers(nil); got != nil {
		t.Errorf("Headers(nil) = %v", got)
	}
}
