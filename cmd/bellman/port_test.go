package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server whose port is in use leaves no store behind.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "data")
	r := run(t, "serve", "--listen", l.Addr().String(), "--store", "pebble:"+dir)
	if r.status != 1 || !strings.Contains(r.errors, "address already in use") {
		t.Errorf("serve: status %d, %q; want 1, and an error that the address is in use", r.status, r.errors)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("serve left %s: %v; want no directory", dir, err)
	}
}
