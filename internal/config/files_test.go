package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// Files of connections that do not exist, or are no certificates, are reported with their lines.
func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	none, there := filepath.Join(dir, "none.pem"), filepath.Join(dir, "there.pem")
	write(t, there, "no certificate\n")
	tests := []struct {
		text string
		want []string // one a line
	}{
		{"", nil},
		{"connections:\n  main: {url: 'amqps://h/'}\n", nil},
		{"connections:\n  main:\n    url: 'amqps://h/'\n    ca: " + none + "\n", []string{"4:9: connections.main.ca: open " + none}},
		{"connections:\n  main:\n    url: 'tls://h'\n    ca: " + there + "\n    credentials: " + there + "\n", []string{"4:9: connections.main.ca: " + there + " has no certificate: want a file of PEM"}},
		{"connections:\n  main:\n    url: 'nats://h'\n    credentials: " + none + "\n", []string{"4:18: connections.main.credentials: open " + none}},
	}
	for _, tt := range tests {
		c, err := Parse([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := c.CheckFiles(); err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		ok := len(got) == len(tt.want)
		for i := range tt.want {
			ok = ok && strings.Contains(got[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s:\n%q\nwant\n%q", tt.text, got, tt.want)
		}
	}
}
