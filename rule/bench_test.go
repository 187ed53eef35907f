package rule_test

import (
	"net/http"
	"testing"

	"github.com/bellmanhq/bellman/rule"
)

func BenchmarkAccepts(b *testing.B) {
	paid := `{"code":"SUCCESS","data":{"order_no":"20261120000001","state":"SUCCESS"}}`
	benchmarks := []struct{ name, text, body string }{
		{"success_text", "success_text", "success\n"},
		{"wechat_v2", "wechat_v2", xmlCDATA},
		{"payermax", "payermax", paid},
		{"cel_body", `status == 200 && body.trim() == "success"`, "success\n"},
		{"cel_status", `status == 200`, "success\n"},
		{"cel_json", `status == 200 && json.data.state == "SUCCESS"`, paid},
		{"cel_json_field", `status == 200 && json_field("data.state", "eq", "SUCCESS")`, paid},
		{"cel_headers", `headers["content-type"].startsWith("text/")`, "success"},
		{"cel_matches", `body.matches("^success\\s*$")`, "success\n"},
	}
	for _, bm := range benchmarks {
		b.Run(bm.name, func(b *testing.B) {
			r, err := rule.Compile(bm.text)
			if err != nil {
				b.Fatal(err)
			}
			a := &rule.Answer{Status: 200, Body: []byte(bm.body), Header: http.Header{"Content-Type": {"text/plain"}}, Attempt: 1}
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := r.Accepts(a); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rule.Compile(`status == 200 && body.trim() == "success"`); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCache(b *testing.B) {
	var c rule.Cache
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compile(`status == 200 && body.trim() == "success"`); err != nil {
			b.Fatal(err)
		}
	}
}
