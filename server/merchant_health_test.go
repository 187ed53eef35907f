package server

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// A list of merchants has their backlogs, as far as there is time to count them.
func TestALongListOfMerchantsIsCountedInPart(t *testing.T) {
	c, err := config.Parse([]byte("store: pebble:" + t.TempDir() + "\nlisten: 127.0.0.1:0\nqueues: {notify: {}}"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	// The third list has no time either, and has what the second one read.
	for n, want := range []bool{false, true, true} {
		most := []time.Duration{-1, time.Hour, -1}[n]
		all := []client.Merchant{{MerchantNo: "M1"}, {MerchantNo: "M2"}}
		if err := (merchants{s.merchants, s}).readAllHealth(t.Context(), all, most); err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if counted := all[i].Backlog != nil; counted != want {
				t.Errorf("list %d, within %v: the backlog of %s is counted: %t; want %t", n+1, most, all[i].MerchantNo, counted, want)
			}
		}
	}
}
