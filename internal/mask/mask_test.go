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
	} {
		if got := Body(tt.body, tt.media); got != tt.want {
			t.Errorf("Body(%.200q, %q) = %.200q; want %.200q", tt.body, tt.media, got, tt.want)
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
