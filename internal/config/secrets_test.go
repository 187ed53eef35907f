package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// A secret that is kept elsewhere and does not exist is reported with its line. A setting that is
// overridden is not looked up.
func TestCheckSecrets(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	write(t, there, "postgres://u:geheim@h/db\n")
	oracle := filepath.Join(t.TempDir(), "oracle")
	write(t, oracle, "oracle://u:geheim@h/db\n")
	t.Setenv("BELLMAN_TEST_THERE", "a key")
	const queues = `queues:
  pay:
    sign: {scheme: md5_params, secrets: ['env:BELLMAN_TEST_THERE', 'env:BELLMAN_TEST_GONE']}
  orders:
    kind: order
    query: {method: GET, url: "http://h/{order_no}", headers: {A: "env:BELLMAN_TEST_THERE", B: "file:/none"}}
    close: {method: POST, url: "http://h/{order_no}"}
    states: wechat_v3
    close_states: wechat_v3
    on_exhausted: close
`
	tests := []struct {
		text string
		env  map[string]string
		want []string // one a line
	}{
		{"", nil, nil},
		{"store: file:" + there, nil, nil},
		{"store: env:BELLMAN_TEST_GONE", nil, []string{"1:8: store: environment variable BELLMAN_TEST_GONE is not set"}},
		{"store: file:" + oracle, nil, []string{"1:8: store: file:" + oracle + `: "oracle" names no store`}},
		{queues, nil, []string{"3:68: queues.pay.sign.secrets[1]: environment variable BELLMAN_TEST_GONE is not set", "6:96: queues.orders.query.headers.B: open /none"}},
		{queues, map[string]string{"BELLMAN_QUEUES": "{a: {}}"}, nil},
		{"", map[string]string{"BELLMAN_STORE": "env:BELLMAN_TEST_GONE"}, []string{"BELLMAN_STORE: environment variable BELLMAN_TEST_GONE is not set"}},
	}
	for _, tt := range tests {
		c, err := Parse([]byte(tt.text))
		if err == nil {
			err = c.Apply(func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok })
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := c.CheckSecrets(); err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		ok := len(got) == len(tt.want)
		for i := range tt.want {
			ok = ok && strings.Contains(got[i], tt.want[i]) && !strings.Contains(got[i], "geheim")
		}
		if !ok {
			t.Errorf("%s with %v:\n%q\nwant\n%q", tt.text, tt.env, got, tt.want)
		}
	}
}
