package main

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/bench"
)

func TestBenchLine(t *testing.T) {
	got := benchLine([]string{"drain", "batches"}, bench.Options{Quick: true, Store: "postgres://user:secret@db/name?sslmode=disable"})
	if want := "bellman bench --quick --store 'postgres://user:xxxxx@db/name?sslmode=disable' drain batches"; got != want {
		t.Errorf("benchLine = %s; want %s", got, want)
	}
	got = benchLine([]string{"soak"}, bench.Options{For: 10 * time.Minute, Rate: 500})
	if want := "bellman bench --for 10m --rate 500 soak"; got != want {
		t.Errorf("benchLine = %s; want %s", got, want)
	}
}
