package server

import (
	"testing"

	"github.com/bellmanhq/bellman/internal/config"
)

func TestAdvertised(t *testing.T) {
	tests := []struct{ advertise, listens, store, want string }{
		{"n1.example:2355", "[::]:2355", "postgres://127.0.0.1/db", "n1.example:2355"},
		{"", "10.0.0.1:2355", "postgres://127.0.0.1/db", "10.0.0.1:2355"},
		{"", "127.0.0.1:2355", "postgres://127.0.0.1/db", "127.0.0.1:2355"},
		{"", "[::]:2355", "postgres://127.0.0.1:5432/db", "127.0.0.1:2355"},
		{"", "0.0.0.0:2355", "mysql://u:p@127.0.0.1:3306/db", "127.0.0.1:2355"},
		{"", "[::]:2355", "postgres:///db?host=/run/postgresql", ""},
		{"", "[::]:2355", "pebble:x", ""},
	}
	for _, tt := range tests {
		c := &config.Config{Advertise: tt.advertise, Store: tt.store}
		if got := advertised(c, tt.listens); got != tt.want {
			t.Errorf("advertise %q, listening on %s with %s: %q; want %q", tt.advertise, tt.listens, tt.store, got, tt.want)
		}
	}
}
